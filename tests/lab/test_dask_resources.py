"""On a Dask cluster cells go to workers that declare the device they belong on."""

import dataclasses
import math

import pytest

from attnlab.errors import AttnlabError
from attnlab.lab import dask_engine
from attnlab.lab.dask_engine import OnDask
from attnlab.lab.part import Finished
from attnlab.lab.task import NOT_BEGUN, Task, answer
from attnlab.lab.watch import RunLimits
from tests.lab.command_line import STUDIES


class Future:
    def __init__(self, key):
        self.key = key

    def add_done_callback(self, call):
        call(self)

    def result(self, timeout):
        return Finished(self.key, part=b"done")


class Cluster:
    """A client of workers that declare these resources, and what was submitted to it."""

    status = "running"

    def __init__(self, *resources):
        self.resources, self.submitted = resources, []

    def nthreads(self):
        return dict.fromkeys(map(str, range(len(self.resources))), 1)

    def scheduler_info(self, n_workers):
        return {"workers": {i: {"resources": each} for i, each in enumerate(self.resources)}}

    def submit(self, function, request, *given, key, retries, resources):
        self.submitted.append((key, resources))
        return Future(key)


@pytest.fixture
def tasks(toy):
    kind = toy.kind("toy_square")
    kinds = [dataclasses.replace(kind, device=device) for device in ("cpu", "gpu", "any")]
    return [Task("toy", each(each.config(x))) for x, each in enumerate(kinds * 10)]


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (({}, {}), {"cpu": None, "gpu": None, "any": None}),
        (({"GPU": 1}, {}), {"cpu": None, "gpu": {"GPU": 1}, "any": None}),
        (({"GPU": 1}, {"CPU": 1}), {"cpu": {"CPU": 1}, "gpu": {"GPU": 1}, "any": None}),
    ],
)
def test_cells_ask_for_what_some_worker_declares(tasks, declared, expected):
    cluster = Cluster(*declared)
    found = list(OnDask(cluster).run(tasks))
    assert sorted(each.key for each in found) == sorted(task.cell.key for task in tasks)
    device = {task.cell.key: task.cell.kind.device for task in tasks}
    assert len(cluster.submitted) == len(tasks)
    assert all(resources == expected[device[key]] for key, resources in cluster.submitted)


def test_a_cluster_that_lost_its_gpu_is_given_up_with_what_to_do(tasks, monkeypatch):
    monkeypatch.setattr(dask_engine, "PATIENCE", 0.04)
    monkeypatch.setattr(Future, "add_done_callback", lambda self, call: None)
    cluster = Cluster({"GPU": 1}, {})
    run = OnDask(cluster)._next
    run_all = OnDask(cluster).run(tasks)

    def lose(self, *given):
        cluster.resources = ({},)
        return run(*given)

    monkeypatch.setattr(OnDask, "_next", lose)
    with pytest.raises(AttnlabError, match=r"no workers with the resource GPU left.*GPU=1"):
        next(run_all)


def test_a_cell_whose_turn_comes_after_the_limit_is_not_begun(tasks):
    task = tasks[0]
    assert answer(task.request(STUDIES, begin_by=0.0)) == NOT_BEGUN
    assert answer(task.request(STUDIES, begin_by=math.inf)).part


def test_where_the_time_is_up_only_cells_that_have_begun_come_back(tasks, monkeypatch):
    """The first two begin in time; those that wait for their turn on a worker do not."""
    begun = {task.cell.key for task in tasks[:2]}
    result = Future.result
    monkeypatch.setattr(
        Future, "result", lambda self, timeout: result(self, 0) if self.key in begun else NOT_BEGUN
    )
    cluster = Cluster({}, {})
    found = list(OnDask(cluster).run(tasks, RunLimits(until=0.0)))
    assert {each.key for each in found} == begun
    assert len(cluster.submitted) == sum(
        min(8, sum(task.cell.kind.device == device for task in tasks))
        for device in ("cpu", "gpu", "any")
    )
