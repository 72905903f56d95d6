"""A sweep: many questions computed and stored as one cell, asked for one by one."""

from dataclasses import dataclass

import pytest
from rich.console import Console

from attnlab.errors import UserError
from attnlab.lab.cell import CellKind, Outcome
from attnlab.lab.engine import InProcess
from attnlab.lab.part import Damaged, compute, decode
from attnlab.lab.query import query
from attnlab.lab.runner import look_up, run_plans
from attnlab.lab.store import Store
from attnlab.lab.study import Study
from attnlab.lab.task import Task, answer


@dataclass(frozen=True)
class Config:
    x: int
    scale: float = 1.0


@dataclass(frozen=True)
class Row:
    y: float


def run(config: Config) -> Outcome[Row]:
    return Outcome([Row(config.scale * config.x * i) for i in range(config.x)])


kind = CellKind("multiples", Config, Row, run)
points = [Config(3), Config(0), Config(2, 0.5)]
sweep = kind.sweep(points)
study = Study("swept", "", "", "", (kind,), lambda scale, seed: [sweep], (), ())


@pytest.fixture
def store(tmp_path):
    found = Store(tmp_path / "store")
    run_plans([study.plan("quick", 0)], found, InProcess(), Console(quiet=True))
    return found


def test_a_sweep_is_one_part_and_its_points_are_asked_for_like_cells(store):
    assert len(store.parts("multiples")) == 1
    summary = look_up(study.plan("quick", 0), store)
    assert (summary.total, summary.from_store) == (1, 1)
    for config in points:
        assert summary.view.rows(kind(config)) == run(config).rows


def test_the_table_has_the_columns_of_single_cells(store):
    found = query(store, "SELECT x, scale, y FROM multiples ORDER BY x, y")
    assert found.columns == ["x", "scale", "y"]
    assert list(found.rows) == [(2, 0.5, 0.0), (2, 0.5, 1.0), (3, 1, 0.0), (3, 1, 3.0), (3, 1, 6.0)]


def test_a_question_asked_twice_is_in_a_sweep_once():
    assert kind.sweep([Config(3), Config(3, 1), Config(1)]).configs == (Config(3), Config(1))
    assert kind.sweep(points).key == sweep.key != kind.sweep(points[:2]).key
    assert kind.sweep([Config(3)]).key != kind(Config(3)).key
    assert kind.sweep(points, cost=2.0).cost == 6.0


def test_a_part_of_other_points_is_not_taken_for_this_one():
    other = compute(kind.sweep(points[:2])).part
    with pytest.raises(Damaged, match="another question"):
        decode(sweep, other)


def test_a_worker_computes_the_same_bytes(monkeypatch):
    monkeypatch.setattr("attnlab.lab.task.load_study", lambda name, extra: study)
    finished = answer(Task("swept", sweep).request(None))
    assert finished.key == sweep.key
    assert finished.part == compute(sweep).part


def test_cells_with_weights_cannot_be_swept(toy):
    vectors = toy.kind("toy_vector")
    with pytest.raises(UserError, match="'toy_vector' have weights and cannot be swept"):
        compute(vectors.sweep([vectors.config(3, 0)]))
