"""The cells about FULL: training keeps its weights, what ships is evaluated, bad input is named."""

import time
from dataclasses import replace

import numpy as np
import pytest
from scripts.pack_full_networks import main, pack

from attnlab.errors import UserError
from attnlab.lab.network_names import find_network, stored_weights
from attnlab.lab.part import compute, decode, decode_weights
from attnlab.lab.provenance import RunLog
from attnlab.lab.store import Store
from attnlab.lab.task import attempt
from attnlab.lab.watch import Watch
from attnlab.linear.models.network import load
from attnlab.linear.study import compute_full, compute_full_training, grids, grids_full, study
from attnlab.linear.study.cells_full import full_growth, full_training
from attnlab.linear.study.full_results import rank_two_by_chance
from attnlab.linear.study.questions_full import (
    MODELS,
    FullEvaluation,
    FullGrowth,
    FullMatrices,
    FullStructure,
    FullTraining,
    ManyStarts,
)
from attnlab.linear.weights.diagonal import diagonal_networks
from attnlab.linear.weights.full import FILE, GROWN_FROM, full_networks, write_full

SMALL = {"noise": "uniform:2", "d": 3, "n": 8, "sequences": 1024, "level_sequences": 64}
TRAINED = FullTraining(
    laws="uniform:2 categorical:1,3", d=3, n=8, depth=2, starts=2, steps=8, batch=16, held_out=64,
    chunk=4, fresh=128,
)  # fmt: skip


@pytest.fixture(scope="module")
def trained():
    cell = full_training(TRAINED)
    return cell, compute(cell)


def test_training_is_the_same_bytes_twice_and_keeps_its_weights(trained):
    cell, first = trained
    assert compute(cell).part == first.part
    weights = decode_weights(first.weights)
    laws = ("categorical:1,3", "uniform:2")
    assert sorted(weights) == [
        f"{law}/{start}/{part}" for law in laws for start in "01" for part in "PQ"
    ]
    assert weights["uniform:2/1/Q"].shape == (2, 1, 4, 4)


def test_a_training_that_was_stopped_goes_on_and_has_the_same_bytes(trained, tmp_path):
    cell, whole = trained
    stopped = attempt(cell, Watch(tmp_path / cell.key, until=time.time() - 1))
    assert stopped.stopped
    assert "stopped at step 4 of 8" in stopped.error
    steps = []
    resumed = attempt(cell, Watch(tmp_path / cell.key, report=lambda *said: steps.append(said)))
    assert (resumed.part, resumed.weights) == (whole.part, whole.weights)
    assert steps == [(8, 8, "step")]


def test_many_starts_have_a_row_for_every_matrix_and_one_best_start():
    shared = {**vars(replace(TRAINED, laws="uniform:2"))}
    rows = compute_full.structure_of_many(ManyStarts(**shared)).rows
    assert [(row.start, row.matrix, row.layer) for row in rows] == [
        (start, name, layer) for start in (0, 1) for name in "PQ" for layer in (1, 2)
    ]
    assert sum(row.best for row in rows) == 4
    assert all(0 < row.diagonal < 1 for row in rows)
    with pytest.raises(UserError, match=r"^laws must name one noise law, got 'uniform:1 "):
        ManyStarts(laws="uniform:1 uniform:2")


def test_gd_is_trained_by_the_papers_recipe_and_stays_gd():
    small = replace(TRAINED, laws="uniform:2", recipe="printed-gd++", depth=1)
    cell = full_training(small)
    done = compute(cell)
    assert {row.model for row in decode(cell, done.part)[cell.key]} == {"GD++"}
    assert decode_weights(done.weights)["uniform:2/1/Q"][0, 0, 3, 3] == 0


def test_a_growth_that_is_stopped_at_every_depth_has_the_same_bytes_and_keeps_every_depth(tmp_path):
    config = FullGrowth(**{**vars(TRAINED), "laws": "uniform:2"})
    cell = full_growth(config)
    whole = attempt(cell)
    rows = decode(cell, whole.part)[cell.key]
    assert [(row.layers, row.start) for row in rows] == [(1, 0), (1, 1), (2, 0), (2, 1)]
    assert all(8 * (row.layers - 1) < row.chosen_at_step <= 8 * row.layers for row in rows)
    assert decode_weights(whole.weights)["uniform:2/2/1/Q"].shape == (2, 1, 4, 4)
    sittings = [attempt(cell, Watch(tmp_path, stop=lambda: True)) for _ in range(2)]
    assert ["stopped at step 4 of 16" in sittings[0].error, sittings[1].stopped] == [True, True]
    assert "stopped at step 12 of 16" in sittings[1].error
    resumed = attempt(cell, Watch(tmp_path))
    assert (resumed.part, resumed.weights) == (whole.part, whole.weights)
    assert [row.loss for row in compute_full_training.growth(replace(config, depth=1)).rows] == [
        row.loss for row in rows[:2]
    ]


def test_full_starts_near_the_shipped_diag_network():
    config = replace(TRAINED, laws="uniform:5", recipe="from-diag", d=10, n=20, steps=1, chunk=1)
    done = compute(full_training(config))
    network = diagonal_networks().weights("diag", "uniform:5", 2).full(10)
    found = {name: part[:, 0] for name, part in decode_weights(done.weights).items()}
    S = [
        np.einsum("lij,ljk->lik", found[f"uniform:5/{start}/P"], found[f"uniform:5/{start}/Q"])
        for start in (0, 1)
    ]
    wanted = np.einsum("lij,ljk->lik", np.asarray(network.P)[:, 0], np.asarray(network.Q)[:, 0])
    # Layers are rescaled, which leaves P Q as it is; noise and one step change it a little.
    assert all(np.abs(each - wanted).max() < 0.05 * np.abs(wanted).max() for each in S)
    assert not np.array_equal(*S)
    with pytest.raises(UserError, match=r"^d and n must be 10 and 20, those of the shipped DIAG"):
        compute_full_training.training(replace(config, d=3))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"laws": " "},
            r"^laws must name at least one noise law for the recipe 'clipped', got ' '",
        ),
        (
            {"recipe": "printed-diag"},
            r"^laws must name one noise law for the recipe 'printed-diag', got",
        ),
    ],
)
def test_laws_that_a_recipe_cannot_train_are_named(changes, message):
    with pytest.raises(UserError, match=message):
        replace(TRAINED, **changes)


def test_every_network_has_its_loss(trained):
    cell, done = trained
    rows = decode(cell, done.part)[cell.key]
    assert [(row.noise, row.start) for row in rows] == [
        (law, start) for law in TRAINED.laws.split() for start in (0, 1)
    ]
    assert all(row.loss > row.body > 0 and row.overflowed == 0 for row in rows)
    assert {row.samples for row in rows} == {128}


def test_what_a_store_has_is_packed_and_the_rest_of_the_file_stays(trained, tmp_path):
    cell, done = trained
    store, target = Store(tmp_path / "store"), tmp_path / "full.safetensors"
    assert main([str(tmp_path / "store"), "--target", str(target)]) == 2
    with pytest.raises(UserError, match=r"must hold cells of the kind linear_full, got none"):
        pack(store, [cell], target, "a card")
    before = np.ones((1, 4, 4))
    write_full(
        target,
        {f"printed/uniform:2/1/0/{part}": before for part in "PQ"},
        {"printed/uniform:2/1/0": {}},
        {},
    )
    store.add(cell, done)
    assert pack(store, [cell, replace_steps(cell)], target, "a card") == 4
    held = full_networks.__wrapped__(target)
    assert (held.depths("uniform:2"), held.depths("uniform:2", "printed")) == ([2], [1])
    (row,) = [
        r for r in decode(cell, done.part)[cell.key] if (r.noise, r.start) == ("uniform:2", 1)
    ]
    record = held.record("uniform:2", 2, 1)
    assert (record["loss"], record["standard_error"], record["steps"]) == (row.loss, row.error, 8)
    assert record["device"] == "a card"
    with pytest.raises(UserError, match=r"^No run log of .* names the device of linear_full"):
        pack(store, [cell], tmp_path / "other.safetensors")
    log = RunLog(store.root / "runs", "in-process")
    log.finished(cell.key, cell.kind.name, 1.0, "another card")
    log.close()
    other = tmp_path / "other.safetensors"
    pack(store, [cell], other, "a card")
    packed = full_networks.__wrapped__(other)
    assert packed.record("uniform:2", 2, 1)["device"] == "another card"
    kept = decode_weights(done.weights)["uniform:2/1/P"]
    assert np.array_equal(held.weights("uniform:2", 2, 1).P, kept)


def test_grown_networks_are_packed_after_the_random_starts_and_without_their_first_layer(tmp_path):
    cell = full_growth(FullGrowth(**{**vars(TRAINED), "laws": "uniform:2"}))
    store, target = Store(tmp_path / "store"), tmp_path / "full.safetensors"
    done = compute(cell)
    store.add(cell, done)
    assert pack(store, [cell], target, "a card") == 2
    held = full_networks.__wrapped__(target)
    assert held.depths("uniform:2") == [2]
    assert held.seeds("uniform:2", 2) == [GROWN_FROM, GROWN_FROM + 1]
    assert [held.record("uniform:2", 2, seed)["steps"] for seed in (5, 6)] == [16, 16]
    kept = decode_weights(done.weights)["uniform:2/2/1/Q"]
    assert np.array_equal(held.weights("uniform:2", 2, 6).Q, kept)
    assert held.about["recipes"]["grown"]["learning_rate"] == 1e-3


@pytest.mark.parametrize(
    ("cell", "names", "layers"),
    [
        (full_growth(FullGrowth(**{**vars(TRAINED), "laws": "uniform:2"})),
         ["1/0", "1/1", "2/0", "2/1"], 2),
        (full_training(replace(TRAINED, laws="uniform:2", depth=1)), ["0", "1"], 1),
    ],
    ids=["grown", "random"],
)  # fmt: skip
def test_every_network_of_a_stored_cell_can_be_opened(cell, names, layers, tmp_path):
    store, done = Store(tmp_path / "store"), compute(cell)
    store.add(cell, done)
    (held,) = stored_weights(store, [study])
    assert [each.name for each in held.networks] == [f"uniform-2/{name}" for name in names]
    find_network(cell.key, [study], store).save(tmp_path / "last")
    network = load(tmp_path / "last")
    assert (network.family, network.depth, network.problem.d) == ("FULL", layers, 3)
    place = ("uniform:2/2/1" if layers == 2 else "uniform:2/1") + "/P"
    assert np.array_equal(network.weights.P, decode_weights(done.weights)[place])


def replace_steps(cell):
    """A cell that is planned and not in the store."""
    return full_training(replace(cell.config, steps=9))


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
    assert grids_full.STARTS == GROWN_FROM
    assert {law: held.digest(law) for law in grids_full.DIGESTS} == grids_full.DIGESTS
    assert set(grids_full.DIGESTS) == set(held.laws())
    others = {name.split("/")[0] for name in held.records} - {"clipped"}
    assert all(held.laws(recipe) == [grids.U5] for recipe in others - {"printed"})
    assert {name: held.digest(grids.U5, name) for name in others} == grids_full.RECIPE_DIGESTS
    elsewhere = {
        law: (held.depths(law, "printed"), held.digest(law, "printed"))
        for law in held.laws("printed")
        if law != grids.U5
    }
    planned = grids_full.PRINTED_ELSEWHERE
    assert elsewhere == {law: ([depth], digest) for law, (depth, digest) in planned.items()}


def test_paper_trains_all_laws_and_depths_from_five_starts():
    planned = [c.config for c in grids_full.cells("paper", 0) if c.kind.name == "linear_full"]
    clipped = [config for config in planned if config.recipe == "clipped"]
    networks = [(law, c.depth) for c in clipped for law in c.laws.split()]
    assert sorted(networks) == sorted(
        [
            *((law, depth) for law in grids_full.LAWS for depth in range(1, 8)),
            (grids.U5, 8),  # the eighth layer of Figure 7
        ]
    )
    assert all((" " in c.laws) == (c.depth < grids_full.LAW_BY_LAW) for c in clipped)
    assert {(c.starts, c.batch) for c in planned} == {(5, 2048)}
    assert {c.steps for c in planned if c.recipe != "from-diag"} == {200_000}
    assert {c.recipe for c in planned} == {"clipped", "printed", *MODELS}
    assert not [c for c in grids_full.cells("quick", 0) if c.kind.name == "linear_full"]
