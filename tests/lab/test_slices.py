"""`--cells`: some cells of a plan now, the others later."""

from dataclasses import dataclass

import pytest
from rich.console import Console

from attnlab.errors import UserError
from attnlab.lab.cell import CellKind
from attnlab.lab.engine import InProcess
from attnlab.lab.runner import run_plans
from attnlab.lab.slices import read_slices
from attnlab.lab.store import Store
from attnlab.lab.study import Study


@dataclass(frozen=True)
class Config:
    x: int
    scale: float = 1.0
    law: str = "flat"
    deep: bool = False
    limit: int | None = None


@dataclass(frozen=True)
class Row:
    y: float


kind = CellKind("product", Config, Row, lambda config: Row(config.x * config.scale))
swept = CellKind("swept_product", Config, Row, lambda config: Row(config.x))
SWEEP = swept.sweep([Config(7), Config(8)])
CONFIGS = [
    Config(1),
    Config(2),
    Config(2, 0.5, "steep"),
    Config(3, law="levels:1,3", deep=True, limit=4),
]
study = Study(
    "sliced", "", "", "", (kind, swept), lambda s, seed: [*map(kind, CONFIGS), SWEEP], (), ()
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("product", CONFIGS),
        ("product:x=2", CONFIGS[1:3]),
        ("product:x=2,scale=1", [CONFIGS[1]]),
        ("product:law=steep", [CONFIGS[2]]),
        ("product:deep=true", [CONFIGS[3]]),
        ("product:law=levels:1,3,x=3", [CONFIGS[3]]),
        ("product:limit=none, x=1", [CONFIGS[0]]),
        ("product:x=9", []),
    ],
)
def test_a_slice_has_the_cells_with_these_values(text, found):
    (chosen,) = read_slices([text], [study])
    assert [config for config in CONFIGS if kind(config) in chosen] == found
    assert SWEEP not in chosen


def test_a_sweep_belongs_where_one_of_its_points_does():
    inside, outside = read_slices(["swept_product:x=8", "swept_product:x=9"], [study])
    assert SWEEP in inside
    assert SWEEP not in outside


def test_what_is_left_out_is_counted_and_computed_later(tmp_path):
    store, plan, quiet = Store(tmp_path), study.plan("quick", 0), Console(quiet=True)
    slices = read_slices(["product:x=2", "swept_product"], [study])
    (first,) = run_plans([plan], store, InProcess(), quiet, slices=slices)
    assert (first.computed, first.left_out, first.not_begun) == (3, 2, 0)
    (second,) = run_plans([plan], store, InProcess(), quiet)
    assert (second.from_store, second.computed, second.left_out) == (3, 2, 0)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("produkt", "--cells needs a kind of cell, got 'produkt'; did you mean product"),
        ("product:", "needs NAME=VALUE after the colon, got ''; the names are x, scale"),
        ("product:y=1", "needs NAME=VALUE after the colon, got 'y=1'"),
        ("product:x=two", "x of product must be int, got 'two'"),
        ("product:scale=nan", "scale of product must be float, got 'nan'"),
        ("product:deep=maybe", "deep of product must be bool, got 'maybe'"),
    ],
)
def test_what_no_study_has_is_named(text, sentence):
    with pytest.raises(UserError, match=sentence):
        read_slices([text], [study])
