"""The cells that train AXIS: their rows and weights, continuing, bad input, the plan, packing."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scripts.pack_axis_networks import OVERFLOWED, main, pack, recorded

from attnlab.errors import UserError
from attnlab.lab.catalog import load_studies
from attnlab.lab.network_names import find_network
from attnlab.lab.part import decode, decode_weights
from attnlab.lab.provenance import RunLog
from attnlab.lab.store import Store
from attnlab.lab.task import attempt
from attnlab.lab.watch import Watch
from attnlab.linear.models.network import load
from attnlab.linear.models.weights import GDPlusPlus
from attnlab.linear.study import compute_axis, grids_axis, grids_full
from attnlab.linear.study.cells_axis import axis_training, needs_of_training, two_layers
from attnlab.linear.study.compute_axis import effort_of
from attnlab.linear.study.questions_axis import AxisTraining
from attnlab.linear.study.table_1 import LAWS
from attnlab.linear.training.axis_growth import AxisGrowthEffort
from attnlab.linear.weights.diagonal import diagonal_networks
from attnlab.linear.weights.shipped import shipped, write_shipped

COARSE: dict[str, Any] = {
    "coarse_chunk": 32,
    "coarse_pool": 64,
    "coarse_worst": 4,
    "coarse_compared": 64,
}
TINY = AxisTraining(
    noise="uniform:2",
    d=3,
    n=6,
    depth=2,
    draws=1,
    kept=2,
    parents=2,
    screening=1,
    refinement=1,
    final=1,
    final_pools=1,
    evaluations=2,
    evaluated=64,
    **COARSE,
    **{name.replace("coarse", "fine"): size for name, size in COARSE.items()},
)


@pytest.fixture(scope="module")
def trained():
    cell = axis_training(TINY)
    done = attempt(cell)
    assert not done.error
    return cell, done


def test_every_depth_has_a_row_and_its_matrices(trained):
    cell, done = trained
    rows = decode(cell, done.part)[cell.key]
    assert [row.layers for row in rows] == [1, 2]
    assert {row.samples for row in rows} == {128}
    assert all(0 < row.loss <= row.largest and row.error > 0 for row in rows)
    weights = decode_weights(done.weights)
    assert {name: part.shape for name, part in weights.items()} == {
        f"{depth}/{name}": (depth, 1, 4, 4) for depth in (1, 2) for name in "PQ"
    }
    # One direction is treated differently, the two others alike.
    assert all((part[:, 0, 1, 1] == part[:, 0, 2, 2]).all() for part in weights.values())


def test_a_training_that_was_stopped_between_depths_has_the_same_bytes(
    trained, tmp_path, monkeypatch
):
    monkeypatch.setattr("attnlab.lab.sitting.REPORT_EVERY", 0.0)
    cell, whole = trained
    asked, shown = iter([True]), []
    watch = Watch(tmp_path, report=lambda *far: shown.append(far), stop=lambda: next(asked, False))
    stopped, resumed = attempt(cell, watch), attempt(cell, watch)
    assert stopped.error == "stopped at depth 1 of 2, from which it continues"
    assert shown == [(1, 2, "depth"), (2, 2, "depth")]
    assert (resumed.part, resumed.weights) == (whole.part, whole.weights)


def test_depths_do_not_depend_on_how_many_follow(trained):
    cell, done = trained
    shorter = axis_training(replace(TINY, depth=1))
    first = decode(shorter, attempt(shorter).part)[shorter.key]
    assert first == decode(cell, done.part)[cell.key][:1]


def test_a_loss_that_overflowed_is_none():
    assert compute_axis._finite(np.inf) is compute_axis._finite(np.nan) is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"depth": 0}, r"^depth must be an integer of at least 1, got 0\.$"),
        ({"run": -1}, r"^run must be an integer of at least 0, got -1\.$"),
        ({"axes": 0}, r"^axes must be an integer of at least 1, got 0\.$"),
        ({"precision": "float16"}, r"^precision must be one of 'float32', 'float64', got 'float1"),
        ({"fine_worst": 32}, r"^fine_worst must be below fine_chunk and fine_chunk at most fine_p"),
    ],
)
def test_a_configuration_that_makes_no_sense_is_refused(changes, message):
    with pytest.raises(UserError, match=message):
        replace(TINY, **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"noise": "gamma:2"}, r"^noise must be .*, got 'gamma:2'"),
        ({"axes": 3}, r"^d must be at least 4 to treat 3 direction\(s\) differently, got 3\.$"),
        ({"weights": "0"}, r"^d and n must be 10 and 20, those of the shipped networks that are f"),
        ({"weights": "0", "d": 10, "n": 20}, r"^weights must be the digest of the shipped network"),
        (
            {"weights": "0", "d": 10, "n": 20, "noise": "fixed:1"},
            r"^noise must be one of categorical:1,3, .* starting points, got 'fixed:1'\.$",
        ),
    ],
)
def test_what_cannot_be_trained_is_named(changes, message):
    with pytest.raises(UserError, match=message):
        compute_axis.training(replace(TINY, **changes))


@pytest.mark.parametrize(("law", "family"), [("uniform:0", "gd++"), ("uniform:5", "diag")])
def test_shipped_networks_are_further_starting_points(law, family):
    weights = diagonal_networks().digest(family, law)
    idle = {"screening": 0, "refinement": 0, "final": 0}
    config = replace(TINY, noise=law, weights=weights, d=10, n=20, evaluated=512, **idle)
    found = compute_axis.training(config)
    assert found.rows[1].origin == "given"  # all others have losses of one layer
    given = diagonal_networks().weights(family, law, 2)
    wanted = (given.diag() if isinstance(given, GDPlusPlus) else given).full(10)
    np.testing.assert_allclose(found.weights["2/P"], wanted.P, rtol=1e-6)


def test_paper_trains_every_law_in_five_runs_with_the_effort_behind_table_1():
    planned = [cell.config for cell in grids_axis.trained("paper", 0)]
    assert sorted((c.noise, c.run) for c in planned) == sorted(
        (law, run) for law in LAWS for run in range(5)
    )
    assert effort_of(AxisTraining()) == AxisGrowthEffort()
    for config in planned:
        assert (config.depth, config.d, config.n) == (7, 10, 20)
        assert config.weights == grids_axis.DIGESTS[config.noise]
        if config.noise == "uniform:0":
            assert (config.axes, config.precision) == (1, "float64")
        else:
            assert (config.axes, config.precision) == (2 - config.run % 2, "float32")
            assert effort_of(config) == AxisGrowthEffort()


def test_smaller_scales_train_one_small_network_or_none():
    counts = {
        scale: [c.kind.name for c in grids_full.cells(scale, 0)].count("linear_axis_training")
        for scale in ("quick", "standard", "paper")
    }
    assert counts == {"quick": 0, "standard": 1, "paper": 50}
    (small,) = grids_axis.trained("standard", 0)
    assert small.config.depth == 2


def test_the_table_of_starting_points_is_that_of_the_file():
    held = diagonal_networks()
    families = {law: "gd++" if law == "uniform:0" else "diag" for law in LAWS}
    assert {law: held.digest(family, law) for law, family in families.items()} == grids_axis.DIGESTS


def test_the_short_form_is_the_same_question_with_less_effort():
    short = two_layers(grids_axis.trained("paper", 0)[-1].config)
    assert (short.depth, short.weights, short.noise, short.run) == (2, "", "categorical:1,3,5", 4)
    assert two_layers(replace(TINY, depth=1)).depth == 1
    large, small = (needs_of_training(config) for config in (AxisTraining(), short))
    assert large.host_bytes > large.device_bytes > small.device_bytes > 0


@pytest.fixture
def store(trained, tmp_path):
    held = Store(tmp_path / "store")
    held.add(*trained)
    return held


def test_what_a_store_has_is_packed_and_the_rest_of_the_file_stays(trained, store, tmp_path):
    cell, done = trained
    target = tmp_path / "axis.safetensors"
    kept = {f"uniform:2/{run}/1/{part}": np.ones((1, 1, 4, 4)) for run in (0, 5) for part in "PQ"}
    losses = {f"uniform:2/{run}/1": [0.5, 0.1, 9.0, 0.2] for run in (0, 5)}
    write_shipped(target, kept, {"card": "the first card", "losses": losses})
    with pytest.raises(UserError, match=r"^No run log of .* names the device of linear_axis_trai"):
        pack(store, [cell], target)
    log = RunLog(store.root / "runs", "in-process")
    log.finished(cell.key, cell.kind.name, 1.0, "another card")
    log.close()
    assert pack(store, [cell, axis_training(replace(TINY, run=3))], target) == 2
    held = shipped.__wrapped__(target)
    assert (held.runs("uniform:2"), held.depths("uniform:2", 0)) == ([0, 5], [1, 2])
    trained_weights = decode_weights(done.weights)
    for depth, row in enumerate(decode(cell, done.part)[cell.key], 1):
        packed = held.weights("uniform:2", 0, depth)
        assert np.array_equal(packed.P, trained_weights[f"{depth}/P"])
        assert np.array_equal(packed.Q, trained_weights[f"{depth}/Q"])
        assert held.recorded_loss("uniform:2", 0, depth) == [row.loss, row.error, row.largest]
    assert np.array_equal(held.weights("uniform:2", 5, 1).P, kept["uniform:2/5/1/P"])
    assert held.recorded_loss("uniform:2", 5, 1) == losses["uniform:2/5/1"]
    made = {run: held.network("uniform:2", 1, run).about for run in (0, 5)}
    assert (made[0]["card"], made[5]["card"]) == ("another card", "the first card")
    assert "linear_axis_training" in made[0]["command"]
    assert "by_cells" not in made[5]


def test_a_store_without_such_cells_is_refused(tmp_path, capsys):
    Store(tmp_path / "store")
    assert main([str(tmp_path / "store"), "--target", str(tmp_path / "axis")]) == 2
    assert "must hold cells of the kind linear_axis_training, got none." in capsys.readouterr().err


def test_a_loss_that_overflowed_is_recorded_as_very_large(trained):
    cell, done = trained
    row = decode(cell, done.part)[cell.key][0]
    assert recorded(replace(row, loss=None, error=None)) == [OVERFLOWED, OVERFLOWED, row.largest]


def test_the_networks_of_a_store_are_read_by_the_key_of_their_cell(trained, store, tmp_path):
    cell, done = trained
    network = find_network(f"{cell.key}/2", load_studies(["linear"]), store)
    assert network.about == "AXIS, 2 layers, noise uniform:2, d = 3, n = 6"
    network.save(tmp_path / "network.safetensors")
    read = load(tmp_path / "network.safetensors")
    assert (read.family, read.depth) == ("AXIS", 2)
    assert np.array_equal(read.weights.Q, decode_weights(done.weights)["2/Q"])
