"""What is said after an interrupt is true: what is stored, what is kept, what begins again."""

import json

import pytest

from attnlab.lab import interruption
from attnlab.lab.interruption import NO_RUN, RunningCells


@pytest.fixture
def running(tmp_path):
    found = RunningCells(tmp_path)
    interruption.begin(found)
    yield found
    interruption.end()


def keep(folder, key, unit, done, total):
    (folder / key).mkdir()
    note = {"unit": unit, "done": done, "total": total, "seconds": 1.0}
    (folder / key / "under-way.json").write_text(json.dumps(note))


def test_a_cell_that_keeps_nothing_is_not_told_to_continue(running):
    running.began("a", "random_run")
    assert interruption.sentence() == (
        "interrupted; random_run: nothing is kept yet, it begins again."
    )


def test_what_is_kept_is_named_with_how_far_it_is(running, tmp_path):
    for key, kind in (("a", "rank_encoder"), ("b", "random_run"), ("c", "rank_pair")):
        running.began(key, kind)
    running.ended("c", stored=True)
    keep(tmp_path, "a", "step", 45000, 50000)
    assert interruption.sentence() == (
        "interrupted; finished cells are in the store; rank_encoder: kept at step 45000 of 50000; "
        "random_run: nothing is kept yet, it begins again; the same command continues."
    )


def test_many_cells_under_way_are_counted(running, tmp_path):
    for number in range(10):
        running.began(str(number), "kind")
        if number < 5:
            keep(tmp_path, str(number), "depth", number, 7)
    said = interruption.sentence()
    assert said.count("kept at depth") == 3
    assert "2 more kept" in said
    assert "2 more begin again" in said


def test_a_cell_that_failed_is_not_in_the_store(running):
    running.began("a", "kind")
    running.ended("a", stored=False)
    assert interruption.sentence() == NO_RUN


def test_without_a_run_nothing_is_promised():
    interruption.end()
    assert interruption.sentence() == NO_RUN
