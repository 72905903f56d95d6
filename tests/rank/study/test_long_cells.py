"""Long cells: stopped and continued any number of times, a trained cell has the same bytes."""

import functools
import threading
import time

import pytest
from rich.console import Console

from attnlab.lab.engine import InProcess
from attnlab.lab.part import decode
from attnlab.lab.processes import Processes
from attnlab.lab.runner import run_plans
from attnlab.lab.store import Store
from attnlab.lab.study import Plan
from attnlab.lab.task import Task, attempt
from attnlab.lab.watch import RunLimits, Watch
from attnlab.rank.study import study
from attnlab.rank.study.cells import encoder, pair
from attnlab.rank.study.questions_encoder import EncoderRun
from attnlab.rank.study.questions_pair import PairRun

QUIET = Console(quiet=True)
TASK = functools.partial(Task, "rank")
CELLS = (
    encoder(EncoderRun(d=4, N=3, rank=2, mlp=8, steps=250, batch=8)),
    pair(PairRun(d=4, N=3, heads=2, rank=1, steps=250, batch=8)),
)


@pytest.mark.parametrize("cell", CELLS, ids=["encoder", "pair"])
def test_a_cell_that_was_stopped_twice_has_the_same_bytes(cell, tmp_path):
    late = Watch(tmp_path / cell.key, until=time.time() - 1)
    for step in (8, 16):  # pieces of a chunk
        found = attempt(cell, late)
        assert found.stopped
        assert f"stopped at step {step} of 250" in found.error
    resumed, whole = attempt(cell, Watch(tmp_path / cell.key)), attempt(cell)
    assert resumed.part == whole.part
    assert resumed.weights == whole.weights


def test_a_killed_worker_loses_nothing_that_was_saved(tmp_path):
    cell = encoder(EncoderRun(d=4, N=3, rank=2, mlp=8, steps=5_000, batch=8))
    steps, saved = [], tmp_path / "some" / cell.key / "training.safetensors"
    limits = RunLimits(tmp_path / "some", report=lambda *said: steps.append(said), save_every=0)
    found = []
    with Processes(1) as engine:
        run = threading.Thread(target=lambda: found.extend(engine.run([TASK(cell)], limits)))
        run.start()
        while not saved.exists() and run.is_alive():
            time.sleep(0.002)
        for worker in list(engine._processes):
            worker.kill()
        run.join()
    assert steps
    assert {(key, of, unit) for key, _, of, unit in steps} == {(cell.key, 5_000, "step")}
    with Processes(1) as engine:
        (whole,) = engine.run([TASK(cell)], RunLimits(tmp_path / "whole"))
    assert (found[0].part, found[0].error) == (whole.part, "")


def test_a_run_that_is_out_of_time_goes_on_in_the_next_one(tmp_path):
    store = Store(tmp_path / "store")
    plan = Plan(study, "quick", 0, {cell.key: cell for cell in CELLS})
    (summary,) = run_plans([plan], store, InProcess(), QUIET, stop_after=1e-9)
    assert (summary.computed, summary.stopped, summary.not_begun) == (0, [], 2)
    (summary,) = run_plans([plan], store, InProcess(), QUIET)
    assert (summary.computed, summary.stopped, summary.not_begun) == (2, [], 0)
    assert not list(store.checkpoints.iterdir())


def test_a_cell_under_way_when_the_time_is_up_is_not_a_failed_one(tmp_path, monkeypatch):
    store, cell = Store(tmp_path / "store"), CELLS[0]
    plan = Plan(study, "quick", 0, {cell.key: cell})
    monkeypatch.setattr(RunLimits, "over", False)  # the time is up while the cell runs
    (summary,) = run_plans([plan], store, InProcess(), QUIET, stop_after=1e-9)
    assert (summary.computed, summary.failed, summary.not_begun) == (0, [], 0)
    ((stopped, reason),) = summary.stopped
    assert stopped == cell
    assert "step 8 of 250" in str(reason)
    monkeypatch.undo()
    (summary,) = run_plans([plan], store, InProcess(), QUIET)
    assert summary.computed == 1
    assert store.rows(cell) == decode(cell, attempt(cell).part)[cell.key]
