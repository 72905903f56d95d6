"""`attnlab run` where there is no store: interrupted, it keeps what it says, and continues."""

from dataclasses import dataclass

import pytest

from attnlab.errors import UserError
from attnlab.lab import interruption
from attnlab.lab.cell import CellKind, Outcome
from attnlab.lab.sitting import CellCheckpoint
from attnlab.lab.store import Store
from attnlab.lab.study import Study
from attnlab.lab.units import in_units


@dataclass(frozen=True)
class Count:
    count: int


@dataclass(frozen=True)
class Value:
    value: int


computed: list[int] = []
interrupted_at: list[int] = []


def value(number):
    if number in interrupted_at:
        raise KeyboardInterrupt
    computed.append(number)
    return [Value(number)]


def rows(config):
    if config.count > 9:
        raise UserError(f"count must be at most 9, got {config.count}.")
    parts = [lambda number=number: value(number) for number in range(config.count)]
    return Outcome(in_units("value", Value, parts))


KIND = CellKind("counted", Count, Value, rows)
STUDY = Study("counting", "Counting", "sums", "Counts.", (KIND,), lambda *_: [], (), ())


@pytest.fixture
def run(main, monkeypatch):
    """Runs cells in an empty folder and gives the exit code and what was said of the end."""
    computed.clear()
    interrupted_at.clear()
    interruption.end()
    monkeypatch.setattr("attnlab.cli.run.find_kind", lambda name, extra: (STUDY, KIND))

    def call(*counts):
        ended = main("run", "counted", "--count", ",".join(map(str, counts)))
        return ended.code, ended.err

    yield call
    interruption.end()


def test_without_a_checkpoint_nothing_is_left_and_nothing_is_promised(run, tmp_path):
    interrupted_at.append(2)
    code, said = run(4)
    assert code == 130
    assert said == "attnlab: interrupted; counted: nothing is kept yet, it begins again.\n"
    assert not list(tmp_path.iterdir())


def test_a_checkpoint_makes_the_store_and_the_same_command_continues(run, monkeypatch):
    monkeypatch.setattr(CellCheckpoint, "due", lambda self, chunks: True)
    interrupted_at.append(2)
    code, said = run(4)
    assert code == 130
    assert said == (
        "attnlab: interrupted; counted: kept at value 2 of 4; the same command continues.\n"
    )
    interrupted_at.clear()
    assert run(4) == (0, "")
    assert computed == [0, 1, 2, 3]
    store = Store("attnlab-store", create=False)
    assert store.rows(KIND(Count(4))) == [Value(number) for number in range(4)]
    assert not list(store.checkpoints.iterdir())


def test_the_first_of_several_cells_continues_where_there_was_no_store(run, monkeypatch):
    monkeypatch.setattr(CellCheckpoint, "due", lambda self, chunks: True)
    interrupted_at.append(3)
    _, said = run(2, 5)
    assert "finished cells are in the store; counted: kept at value 3 of 5" in said
    interrupted_at.clear()
    assert run(2, 5)[0] == 0
    assert computed == [0, 1, 0, 1, 2, 3, 4]


def test_a_refused_configuration_leaves_no_store(run, tmp_path):
    assert run(10) == (2, "attnlab: count must be at most 9, got 10.\n")
    assert not list(tmp_path.iterdir())
