"""Results are in the store when a run has ended, and what cannot be written ends the run."""

import dataclasses
import threading

import pytest

from attnlab.errors import AttnlabError
from attnlab.lab.keeper import AT_ONCE, WAITING, Keeper
from attnlab.lab.part import compute
from attnlab.lab.provenance import RunLog, read_runs
from attnlab.lab.store import Store


@pytest.fixture
def cells(toy):
    kind = toy.kind("toy_square")
    return [kind(kind.config(x=x)) for x in range(40)]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def keep_all(store, cells, then=lambda: None, seconds=1.0):
    log = RunLog(store.root / "runs", "in-process")
    try:
        with Keeper(store, log) as keeper:
            for cell in cells:
                keeper.keep(cell, dataclasses.replace(compute(cell), seconds=seconds))
                then()
    finally:
        log.close()


@pytest.mark.parametrize("seconds", [0.0, 1.0])
def test_everything_is_stored_and_logged_at_the_end(store, cells, seconds):
    keep_all(store, cells, seconds=seconds)
    assert set(store.holding(cells)) == {cell.key for cell in cells}
    ((_, logged),) = read_runs(store.root / "runs")
    assert sorted(line["key"] for line in logged) == sorted(cell.key for cell in cells)


def test_an_interrupt_waits_for_what_is_being_written(store, cells):
    def interrupted():
        yield from cells[:5]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        keep_all(store, interrupted())
    assert len(store.holding(cells)) == 5


@pytest.mark.parametrize("number", [1, 40])
def test_a_result_that_cannot_be_written_ends_the_run(store, cells, monkeypatch, number):
    whole = store.add

    def add(cell, finished):
        if cell is cells[-1]:
            raise AttnlabError("Cannot write to the store.")
        whole(cell, finished)

    monkeypatch.setattr(store, "add", add)
    with pytest.raises(AttnlabError, match="Cannot write"):
        keep_all(store, cells[-number:])
    assert len(store.holding(cells)) == number - 1
    runs = list(read_runs(store.root / "runs"))
    assert sum(len(logged) for _, logged in runs) == number - 1


def test_few_results_wait_for_the_disk(store, cells, monkeypatch):
    go, whole = threading.Event(), store.add
    monkeypatch.setattr(store, "add", lambda *given: (go.wait(), whole(*given)))
    full, handed = threading.Event(), []

    def count():
        handed.append(None)
        if len(handed) == AT_ONCE + WAITING:
            full.set()

    thread = threading.Thread(target=keep_all, args=(store, cells, count))
    thread.start()
    assert full.wait(60)
    thread.join(0.05)
    assert len(handed) == AT_ONCE + WAITING
    go.set()
    thread.join()
    assert len(store.holding(cells)) == len(cells)
