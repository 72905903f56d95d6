from dataclasses import dataclass, replace

import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.lab.cell import CellKind


@dataclass(frozen=True)
class Config:
    n: int
    a: float = 1.0
    name: str | None = None


@dataclass(frozen=True)
class Row:
    value: float


kind = CellKind("kind", Config, Row, lambda config: Row(config.a))


def test_the_same_question_has_the_same_key_however_its_numbers_are_typed():
    assert kind(Config(3, 1)).key == kind(Config(np.int64(3), np.float64(1.0))).key


def test_every_part_of_the_question_changes_the_key():
    base = kind(Config(3))
    others = [
        kind(Config(4)),
        kind(Config(3, 2.0)),
        kind(Config(3, 1.0, "x")),
        replace(kind, version=2)(Config(3)),
        replace(kind, name="other")(Config(3)),
    ]
    assert len({base.key, *(cell.key for cell in others)}) == 6


def test_the_key_is_the_same_in_every_process_and_release():
    # Pinned: a change here orphans every store in the world.
    assert kind(Config(3)).document == (
        '{"config":{"a":1.0,"n":3,"name":null},"kind":"kind","version":1}'
    )
    assert kind(Config(3)).key == "2ab53bab647631a00ad87672aecafe16"


def test_cost_is_no_part_of_the_question():
    assert kind(Config(3), cost=5.0) == kind(Config(3))
    assert kind(Config(3), cost=5.0).key == kind(Config(3)).key


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), "1", None, True])
def test_a_value_of_the_wrong_type_or_not_finite_is_refused(bad):
    with pytest.raises(UserError, match=r"^a must be"):
        _ = kind(Config(3, bad)).key


def test_configuration_and_result_may_not_share_a_column():
    with pytest.raises(UserError, match="both as configuration and as result"):
        CellKind("clash", Config, Config, lambda config: config)


def test_a_column_that_is_no_scalar_is_refused():
    @dataclass(frozen=True)
    class Bad:
        values: list

    with pytest.raises(UserError, match="'values'"):
        CellKind("bad", Config, Bad, lambda config: Bad([]))


def test_a_kind_needs_a_name_that_sql_can_say():
    with pytest.raises(UserError, match="identifier"):
        replace(kind, name="not a table")
