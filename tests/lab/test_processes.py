"""Worker processes: the same bytes as in this process, and no cell lost with a worker."""

import os
import signal
import subprocess
import sys
import time

import pytest

from attnlab.lab import worker
from attnlab.lab.frames import write_frame
from attnlab.lab.processes import Processes
from attnlab.lab.task import Task, attempt
from tests.lab.command_line import STUDIES

RUN = ("reproduce", "toy", "--no-report")


@pytest.fixture
def tasks(toy):
    return [Task("toy", cell) for cell in toy.cells("quick", 0)]


def test_two_processes_give_the_bytes_of_this_one(tasks):
    with Processes(2, STUDIES) as engine:
        found = {finished.key: finished for finished in engine.run(tasks)}
    for task in tasks:
        here = attempt(task.cell)
        there = found[task.cell.key]
        assert (there.part, there.weights, there.error) == (here.part, here.weights, "")


def test_a_killed_worker_is_replaced_and_its_cell_tried_again(tasks, monkeypatch):
    monkeypatch.setenv("TOY_DELAY", "0.05")
    with Processes(2, STUDIES) as engine:
        found = []
        for finished in engine.run(tasks):
            found.append(finished)
            if len(found) == 3:
                next(iter(engine._processes)).send_signal(signal.SIGKILL)
    assert sorted(f.key for f in found) == sorted(task.cell.key for task in tasks)
    assert not [finished.error for finished in found if finished.error]


def test_a_cell_that_ends_every_worker_is_an_error_and_the_others_go_on(tasks, monkeypatch):
    monkeypatch.setenv("TOY_KILL", "3")
    with Processes(2, STUDIES) as engine:
        found = {finished.key: finished for finished in engine.run(tasks)}
    (failed,) = [finished for finished in found.values() if finished.error]
    assert failed.error == "its worker process was ended by SIGKILL"
    assert len(found) == len(tasks)


def test_what_a_cell_prints_does_not_disturb_its_answer(tasks, monkeypatch):
    monkeypatch.setenv("TOY_PRINT", "1")
    with Processes(1, STUDIES) as engine:
        found = list(engine.run(tasks[:3]))
    assert not [finished.error for finished in found if finished.error]


def test_a_study_that_the_worker_does_not_find_is_an_error_of_the_cell(tasks, tmp_path):
    with Processes(1, tmp_path) as engine:
        (finished,) = engine.run(tasks[:1])
    assert finished.key == tasks[0].cell.key
    assert "Unknown study 'toy'" in finished.error


def test_an_interrupt_leaves_no_worker_behind(attnlab):
    process = attnlab.start(*RUN, "--scale", "standard", "--workers", "2", TOY_DELAY="0.1")
    deadline = time.monotonic() + 600
    while len(attnlab.contents()) < 4 and time.monotonic() < deadline:
        time.sleep(0.02)
    workers = children(process.pid)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert "interrupted" in errors
    assert 4 <= len(attnlab.contents()) < 122
    assert len(workers) == 2
    assert not [pid for pid in workers if os.path.exists(f"/proc/{pid}")]


def children(process: int) -> list[int]:
    import psutil

    return [child.pid for child in psutil.Process(process).children(recursive=True)]


def test_a_worker_whose_run_was_killed_ends_without_a_word(tasks):
    process = subprocess.Popen(
        [sys.executable, "-m", "attnlab.lab.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdout.close()  # nobody reads its answer
    write_frame(process.stdin, tasks[0].request(STUDIES).encode())
    _, said = process.communicate(timeout=600)
    assert said == b""


def test_a_worker_that_nobody_listens_to_gives_its_cell_up(monkeypatch):
    """What a cell raises is an error of the cell, so the report itself must end the process."""
    reader, writer = os.pipe()
    os.close(reader)

    class Left(BaseException):
        pass

    def leave():
        raise Left

    monkeypatch.setattr(worker, "_leave", leave)
    with os.fdopen(writer, "wb", buffering=0) as answers, pytest.raises(Left):
        worker._reporting(answers)(1, 2, "step")
