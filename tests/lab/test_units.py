"""Units of a cell: saved, shown and stopped between two of them, with the same rows in the end."""

import functools
import json
from dataclasses import dataclass

import numpy as np
import pytest

from attnlab.errors import Stopped
from attnlab.lab.cell import CellKind, Outcome
from attnlab.lab.sitting import Sitting, under_way
from attnlab.lab.task import attempt
from attnlab.lab.units import Units, in_units
from attnlab.lab.watch import Watch


@dataclass(frozen=True)
class Size:
    count: int


@dataclass(frozen=True)
class Draw:
    value: float
    name: str | None


computed: list[int] = []


def draws(number):
    computed.append(number)
    values = np.random.default_rng(number).normal(size=3) * 10.0 ** (-100 * number)
    return [Draw(float(value), None if number else "first") for value in values]


def rows(config):
    parts = [functools.partial(draws, number) for number in range(config.count)]
    return Outcome(in_units("draw", Draw, parts))


KIND = CellKind("drawn_in_units", Size, Draw, rows)
CELL = KIND(Size(4))


@pytest.fixture(autouse=True)
def nothing_computed():
    computed.clear()


def test_a_cell_that_is_stopped_after_every_unit_has_the_same_bytes(tmp_path):
    whole, shown = attempt(CELL), []
    computed.clear()
    watch = Watch(tmp_path / "cell", stop=lambda: True, report=lambda *far: shown.append(far))
    for done in (1, 2, 3):
        found = attempt(CELL, watch)
        assert found.stopped
        assert found.error == f"stopped at draw {done} of 4, from which it continues"
        assert str(under_way(tmp_path / "cell")) == f"draw {done} of 4"
    last = attempt(CELL, watch)
    assert (last.part, last.error) == (whole.part, "")
    assert computed == [0, 1, 2, 3]
    assert shown == [(done, 4, "draw") for done in (1, 2, 3, 4)]


def test_a_cell_that_was_killed_continues_at_what_was_saved(tmp_path):
    """Saved after every unit: the third one dies."""
    watch = Watch(tmp_path, save_every=0.0)

    def dying(config):
        parts = [functools.partial(draws, 0), functools.partial(draws, 1), lambda: 1 / 0, list]
        return Outcome(in_units("draw", Draw, parts))

    assert attempt(CellKind("dying", Size, Draw, dying)(Size(4)), watch).error
    computed.clear()
    assert attempt(CELL, watch).part == attempt(CELL).part
    assert computed[:2] == [2, 3]


def test_a_cell_that_keeps_nothing_stops_and_says_so(tmp_path):
    def parts(config):
        units = Units("part", config.count, kept=False)
        for _ in range(config.count):
            units.finish()
        return Draw(1.0, None)

    cell = CellKind("keeps_nothing", Size, Draw, parts)(Size(3))
    found = attempt(cell, Watch(tmp_path / "cell", stop=lambda: True))
    assert found.error == "stopped at part 1 of 3, and begins again: it keeps no checkpoints"
    assert not (tmp_path / "cell").exists()
    assert not attempt(cell).error


def test_the_points_of_a_sweep_share_no_checkpoint(tmp_path):
    sweep = KIND.sweep([Size(2), Size(3), Size(4)])
    found = attempt(sweep, Watch(tmp_path / "cell", save_every=0.0))
    assert (found.part, found.error) == (attempt(sweep).part, "")
    assert not (tmp_path / "cell").exists()


def test_outside_of_a_run_nothing_is_kept_or_stopped():
    assert len(rows(Size(2)).rows) == 6


def test_units_of_another_number_are_not_used(tmp_path):
    with pytest.raises(Stopped):
        sit(tmp_path, lambda: rows(Size(3)), stop=True)
    computed.clear()
    sit(tmp_path, lambda: rows(Size(2)))
    assert computed == [0, 1]


def sit(folder, work, stop=False):
    from attnlab.lab.watch import watching

    with watching(Watch(folder, stop=lambda: stop)):
        return work()


def test_the_seconds_of_all_sittings_that_were_used_are_added_up(tmp_path):
    """7 s until the checkpoint, 3 s that are lost with a kill, and 5 s to the end."""
    clock = [100.0]

    def now():
        return clock[0]

    first = Sitting(Watch(tmp_path, save_every=6.0), now)
    kept = first.checkpoint("units")
    assert kept is not None
    assert not kept.due(1)
    clock[0] += 7.0
    assert kept.due(1)
    first.reached(2, 5, "network")
    kept.save(snapshot())
    assert not kept.due(2)
    clock[0] += 3.0

    second = Sitting(Watch(tmp_path), now)
    assert second.seconds == 0.0
    again = second.checkpoint("units")
    assert again is not None
    assert again.load() is not None
    clock[0] += 5.0
    assert second.seconds == 12.0
    note = under_way(tmp_path)
    assert note is not None
    assert (str(note), note.seconds) == ("network 2 of 5", 7.0)


def test_the_seconds_of_a_resumed_cell_are_those_of_all_sittings(tmp_path):
    attempt(CELL, Watch(tmp_path, stop=lambda: True))
    file = tmp_path / "under-way.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "seconds": 1000.0}))
    assert 1000 < attempt(CELL, Watch(tmp_path)).seconds < 2000
    assert attempt(CELL).seconds < 1000


def test_a_note_that_cannot_be_read_is_none(tmp_path):
    assert under_way(tmp_path) is None
    for text in ("", "{}", "[1]", '{"unit": "step"}'):
        (tmp_path / "under-way.json").write_text(text)
        assert under_way(tmp_path) is None


def test_the_store_is_made_before_the_first_checkpoint_and_not_before(tmp_path):
    made = []
    watch = Watch(tmp_path / "cell", stop=lambda: bool(computed), prepare=lambda: made.append(1))
    assert attempt(KIND(Size(1)), watch).part
    assert not made
    attempt(CELL, watch)
    assert made == [1]


def snapshot():
    from attnlab.training.checkpoint import Snapshot

    return Snapshot.of({}, {}, None)
