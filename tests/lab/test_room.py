"""A cell that does not fit is refused before it starts, and the others go on."""

import dataclasses
import threading

import pytest
from rich.console import Console

from attnlab import memory
from attnlab.errors import UserError
from attnlab.lab import room
from attnlab.lab.engine import InProcess
from attnlab.lab.needs import Needs
from attnlab.lab.room import Room, needs_of, require_room
from attnlab.lab.runner import run_plans
from attnlab.lab.store import Store
from attnlab.lab.study import Plan

GB = 1e9


def squares(toy, declared):
    kind = dataclasses.replace(toy.kind("toy_square"), needs=declared)
    return [kind(kind.config(x)) for x in range(4)]


def test_a_cell_that_does_not_fit_has_failed_and_the_others_go_on(toy, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 4 * GB)
    cells = squares(toy, lambda config: Needs(2.5 * GB * config.x, reduce="x"))
    monkeypatch.setenv("TOY_FAIL", "2")  # would raise if it began
    plan = Plan(toy, "quick", 0, {cell.key: cell for cell in cells})
    store = Store(tmp_path / "store")
    (summary,) = run_plans([plan], store, InProcess(), Console(quiet=True))
    assert summary.computed == 2
    assert [(cell.config.x, type(error), str(error)) for cell, error in summary.failed] == [
        (x, UserError, f"The numbers of toy_square need {amount} GB of memory, and 4 GB are "
         "available: x must be smaller.")
        for x, amount in ((2, "5"), (3, "7.5"))
    ]  # fmt: skip


def test_a_gpu_has_memory_of_its_own(toy, monkeypatch):
    (cell, *_) = squares(toy, lambda config: Needs(1e15, 30 * GB, reduce="x"))
    monkeypatch.setattr(room, "_without_gpu", lambda: False)
    monkeypatch.setattr(room, "device_name", lambda: "NVIDIA H200")
    monkeypatch.setattr(room, "available_device_memory", lambda: 100 * GB)
    require_room(cell)
    monkeypatch.setattr(room, "available_device_memory", lambda: 20 * GB)
    with pytest.raises(UserError, match=r"toy_square on NVIDIA H200 need 30 GB of memory, and 20"):
        require_room(cell)


def test_a_sweep_needs_what_its_largest_point_needs(toy):
    cells = squares(toy, lambda config: Needs(GB * config.x))
    assert needs_of(cells[0].kind.sweep([cell.config for cell in cells])) == Needs(3 * GB)
    assert needs_of(toy.cells("quick", 0)[0]) == Needs()


def test_a_configuration_that_makes_no_sense_is_left_to_the_cell(toy):
    def refuse(config):
        raise UserError("x must be something else.")

    assert needs_of(squares(toy, refuse)[0]) == Needs()


def test_cells_that_do_not_fit_beside_each_other_wait_for_each_other():
    shared, inside, go = Room(10.0), [], threading.Event()

    def run(name, size):
        with shared.taken(size):
            inside.append(name)
            go.wait()

    first = threading.Thread(target=run, args=("six", 6.0))
    first.start()
    while not inside:
        pass
    with shared.taken(4.0):
        pass  # fits beside it
    with shared.taken(0.0):
        pass
    second = threading.Thread(target=run, args=("twelve", 12.0))  # fits nowhere, and gets its turn
    second.start()
    second.join(0.05)
    assert inside == ["six"]
    go.set()
    first.join()
    second.join()
    assert inside == ["six", "twelve"]
