"""The cells about FULL: training keeps its weights, what ships is evaluated, bad input is named."""

import time
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.lab.part import compute, decode, decode_weights
from attnlab.lab.task import attempt
from attnlab.lab.watch import Watch
from attnlab.linear.study import compute_full, grids, grids_full
from attnlab.linear.study.cells_full import full_training
from attnlab.linear.study.full_results import rank_two_by_chance
from attnlab.linear.study.questions_full import (
    FullEvaluation,
    FullMatrices,
    FullStructure,
    FullTraining,
)
from attnlab.linear.weights.full import FILE, full_networks, write_full

SMALL = {"noise": "uniform:2", "d": 3, "n": 8, "sequences": 1024, "level_sequences": 64}
TRAINED = FullTraining(
    **SMALL, depth=2, starts=2, steps=8, batch=16, held_out=64, chunk=4, sigma_max=2.0
)


@pytest.fixture(scope="module")
def trained():
    cell = full_training(TRAINED)
    return cell, compute(cell)


def test_training_is_the_same_bytes_twice_and_keeps_its_weights(trained):
    cell, first = trained
    assert compute(cell).part == first.part
    weights = decode_weights(first.weights)
    assert sorted(weights) == ["0/P", "0/Q", "1/P", "1/Q"]
    assert weights["1/Q"].shape == (2, 1, 4, 4)


def test_a_training_that_was_stopped_goes_on_and_has_the_same_bytes(trained, tmp_path):
    cell, whole = trained
    stopped = attempt(cell, Watch(tmp_path / cell.key, until=time.time() - 1))
    assert stopped.stopped
    assert "stopped at step 4 of 8" in stopped.error
    steps = []
    resumed = attempt(cell, Watch(tmp_path / cell.key, report=lambda *said: steps.append(said)))
    assert (resumed.part, resumed.weights) == (whole.part, whole.weights)
    assert steps == [(8, 8)]


def test_gd_is_trained_by_the_papers_recipe_and_stays_gd():
    small = replace(TRAINED, recipe="paper-gd++", depth=1, sigma_max=0.0)
    cell = full_training(small)
    done = compute(cell)
    assert {row.model for row in decode(cell, done.part)[cell.key]} == {"GD++"}
    assert decode_weights(done.weights)["1/Q"][0, 0, 3, 3] == 0


def test_every_start_has_its_losses_and_what_it_was_chosen_by(trained):
    cell, done = trained
    rows = decode(cell, done.part)[cell.key]
    ends = [row for row in rows if row.sigma is None and row.read == row.layers]
    assert [row.start for row in ends] == [0, 1]
    assert all(row.selection is not None and row.steps_trained == 8 for row in ends)
    assert {row.trained_starts for row in rows} == {2}
    assert {row.sigma for row in rows if row.sigma is not None}


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """Three networks of one law: an ordinary one, a good one with a tail, and one that diverged."""
    path, draws = tmp_path / "full.safetensors", np.random.default_rng(3)
    matrices, records = {}, {}
    recorded = [(0.5, 0.01, False), (0.4, 0.2, False), (None, None, True)]
    for seed, (loss, error, diverged) in enumerate(recorded):
        name = f"clipped/uniform:2/2/{seed}"
        for part in "PQ":
            matrices[f"{name}/{part}"] = 0.05 * draws.standard_normal((2, 4, 4))
        records[name] = {
            "loss": loss,
            "standard_error": error,
            "body": 0.3,
            "diverged": diverged,
            "steps": 100,
        }
    write_full(path, matrices, records, {})
    held = full_networks(path)
    monkeypatch.setattr(compute_full, "full_networks", lambda: held)
    return held


def test_the_best_start_is_chosen_by_recorded_loss_and_its_standard_error(shipped):
    assert shipped.best("uniform:2", 2) == 0
    digest = shipped.digest("uniform:2")
    config = FullEvaluation(**SMALL, weights=digest)
    (row,) = [r for r in compute_full.evaluation(config).rows if r.read == 2 and r.sigma is None]
    assert (row.start, row.steady_starts, row.trained_starts) == (0, 1, 3)
    every = compute_full.evaluation(FullEvaluation(**SMALL, networks="every", weights=digest)).rows
    assert {r.start: r.selection for r in every} == {0: 0.53, 1: 1.0, 2: None}


def test_networks_of_another_file_are_refused(shipped):
    with pytest.raises(UserError, match=r"^weights must be the digest of the FULL networks, '"):
        compute_full.evaluation(FullEvaluation(**SMALL, weights="0" * 16))
    with pytest.raises(UserError, match=r"^noise must be one of uniform:2 for the FULL networks"):
        compute_full.matrices(FullMatrices("uniform:9", 2))


def test_the_structure_of_known_matrices():
    diagonal = compute_full.shares(np.diag([2.0, 2.0, 2.0, 1.0]))
    assert diagonal["diagonal"] == diagonal["x_identity"] == 1.0
    assert diagonal["rank_one"] == 0.0
    one = np.ones(11) / np.sqrt(11)
    spread = compute_full.shares(np.outer(one, one))
    assert spread["diagonal"] == pytest.approx(1 / 11)
    # Off the diagonal this is (J - I) / 11, with the eigenvalues 10/11 and ten times -1/11.
    assert spread["rank_one"] == pytest.approx(100 / 110)
    mean, quantile = rank_two_by_chance()
    assert 2 / 11 < mean < quantile < 1


def test_structure_has_one_row_per_matrix(shipped):
    rows = compute_full.structure(FullStructure("uniform:2", shipped.digest("uniform:2"))).rows
    assert len(rows) == 3 * 2 * 2
    assert {row.start for row in rows if row.best} == {0}
    assert {row.start for row in rows if row.steady} == {0}


@pytest.mark.skipif(not FILE.exists(), reason="no FULL networks ship")
def test_the_table_of_digests_is_that_of_the_shipped_file():
    held = full_networks()
    assert {law: held.digest(law) for law in grids_full.DIGESTS} == grids_full.DIGESTS
    assert set(grids_full.DIGESTS) == set(held.laws())
    others = {name.split("/")[0] for name in held.records} - {"clipped"}
    assert all(held.laws(recipe) == [grids.U5] for recipe in others)
    assert {name: held.digest(grids.U5, name) for name in others} == grids_full.RECIPE_DIGESTS


def test_paper_trains_all_laws_and_depths_from_five_starts():
    planned = [c for c in grids_full.cells("paper", 0) if c.kind.name == "linear_full"]
    by_recipe = Counter(c.config.recipe for c in planned)
    assert by_recipe == {"clipped": 71}  # with the eighth layer of Figure 7
    assert {(c.config.starts, c.config.steps, c.config.batch) for c in planned} == {
        (5, 200_000, 2048)
    }
    assert not [c for c in grids_full.cells("quick", 0) if c.kind.name == "linear_full"]
