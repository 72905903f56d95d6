"""Networks of seven to ten layers: the cell, the claim, and the script that packs them."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scripts.pack_diagonal_networks import DEEP, pack, runs_of

from attnlab.errors import UserError
from attnlab.lab.store import Store
from attnlab.linear.models.weights import DiagWeights
from attnlab.linear.study import claims_baselines, compute_layers, grids
from attnlab.linear.study.claims_layers import CONVERGED
from attnlab.linear.study.questions_layers import LastLayers
from attnlab.linear.study.questions_networks import TrainedLossRow
from attnlab.linear.study.shipped_table import DEEP_DIGESTS
from attnlab.linear.weights.diagonal import DEEP_FILE, PARTS, diagonal_networks
from tests.linear.study.rows import changed, invented
from tests.linear.study.test_claims import entry_of

SMALL = LastLayers(weights=DEEP_DIGESTS["uniform:5"], sequences=512)


def test_the_table_names_the_networks_of_the_file():
    held = diagonal_networks(DEEP_FILE)
    assert sorted(DEEP_DIGESTS) == held.laws("diag")
    assert {law: held.digest("diag", law) for law in DEEP_DIGESTS} == DEEP_DIGESTS
    assert {tuple(held.depths("diag", law)) for law in DEEP_DIGESTS} == {(7, 8, 9, 10)}


def test_depths_are_compared_on_the_same_sequences():
    rows = compute_layers.last_layers(SMALL).rows
    assert [row.layers for row in rows] == [7, 8, 9, 10]
    last = rows[-1]
    assert (last.above, last.above_error) == (0.0, 0.0)
    for row in rows[:-1]:
        assert row.above == pytest.approx(row.loss - last.loss, rel=1e-9, abs=1e-15)
        # Independent sequences would give hypot(row.error, last.error).
        assert 0 < row.above_error < row.error / 2


def test_a_network_that_overflows_has_no_loss(monkeypatch):
    held = diagonal_networks(DEEP_FILE)

    def weights(family, law, depth):
        own = held.weights(family, law, depth)
        worse = 1e40 if depth == 9 else 1.0
        return DiagWeights(*(worse * getattr(own, part) for part in PARTS))

    class Changed:
        laws, depths, digest = held.laws, held.depths, held.digest

    Changed.weights = staticmethod(weights)
    monkeypatch.setattr(compute_layers, "diagonal_networks", lambda path: Changed)
    found = {row.layers: row for row in compute_layers.last_layers(SMALL).rows}
    assert (found[9].loss, found[9].above_error) == (None, None)
    assert found[8].above is not None


@pytest.mark.parametrize(
    ("change", "words"),
    [({"noise": "uniform:0"}, "noise must be one of"), ({"weights": "old"}, "weights must be the")],
)
def test_networks_that_do_not_ship_are_refused(change, words):
    with pytest.raises(UserError, match=words):
        compute_layers.last_layers(replace(SMALL, **change))


def _row(layers: int, selection: float | None, loss: float) -> TrainedLossRow:
    at = {"model": "DIAG", "layers": layers, "read": layers, "sigma": None}
    found = {"loss": loss, "error": 0.01, "samples": 100, "diagnosis": "", "training": loss}
    ended = {"iterations": 9, "stopped": "converged", "rounds_used": 0, "tail_holds": True}
    return TrainedLossRow(**at, **found, **ended, selection=selection)


class FiveRuns:
    """A store with every run on U(0, 2): run 7 is the best by the choice, the worst by the loss."""

    root = "five runs"
    depths = range(1, grids.TEN + 1)

    def rows(self, cell):
        run = cell.config.run
        choice = {5: None, 7: 0.1}.get(run, 0.2)
        held = cell.config.noise == "uniform:2"
        return [_row(each, choice, 0.4 if run == 7 else 0.3) for each in self.depths if held]

    def weights(self, cell):
        own = float(cell.config.run)
        return {f"{each}/{part}": np.full((each, 1), own) for each in self.depths for part in PARTS}


def test_of_several_runs_the_one_chosen_outside_the_evaluation_is_packed(tmp_path):
    target = tmp_path / "deep.safetensors"
    assert pack(FiveRuns(), target, runs_of(0, deep=True), DEEP) == ["diag/uniform:2"]
    held = diagonal_networks(target)
    assert held.depths("diag", "uniform:2") == [7, 8, 9, 10]
    assert held.weights("diag", "uniform:2", 8).p_x.shape == (8, 1)
    assert (held.weights("diag", "uniform:2", 8).p_x == 7.0).all()
    assert held.losses["diag/uniform:2/10"] == [0.4, 0.01, 100]
    assert set(held.about["runs"].values()) == {7}


def test_a_store_without_these_runs_is_refused(tmp_path):
    with pytest.raises(UserError, match="must hold all runs of 10 layers"):
        pack(Store(tmp_path / "store"), tmp_path / "deep.safetensors", runs_of(0, deep=True), DEEP)


def alike(config, row):
    """Runs of DIAG that all end at the same loss."""
    whole = config.family == "diag" and row.sigma is None
    return {"loss": row.loss / (1 + 0.2 * config.run)} if whole else {}


def deeper(shares, layers=(8, 9, 10)):
    """Networks of ten layers on some laws, in which these layers leave a share of the loss."""

    def change(config, row):
        share = shares.get(config.noise, 1.0) if config.family == "diag" else 1.0
        steps = sum(depth <= row.layers for depth in layers)
        return {"loss": share**steps * row.loss} if row.sigma is None and steps else {}

    return "training", change


def judged(*changes, scale="paper"):
    seen = changed(invented(scale), ("training", alike), *changes)
    return entry_of("fewer-than-ten-layers", seen)


@pytest.mark.parametrize(
    ("laws", "share", "layers", "verdict"),
    [
        ((), 1.0, (), "holds"),
        (range(1, 3), 0.8, (10,), "holds"),
        (range(1, 8), 0.8, (10,), "fails"),
        (range(1, 8), 1.2, (10,), "fails"),
        (range(1, 8), 0.8, (8, 9), "holds"),
    ],
    ids=["none gains", "on two laws", "on seven laws", "it loses on seven", "others gain"],
)
def test_the_tenth_layer_decides_whether_a_network_has_converged(laws, share, layers, verdict):
    shares = {f"uniform:{high}": share for high in laws}
    found = judged(deeper(shares, layers))
    assert found.verdict == verdict
    ended = 1 - (len(laws) if 10 in layers else 0) / 9
    assert f"{ended:.0%} to {ended:.0%} of the runs" in str(found.measured)


def some_runs(count, gain=0.1):
    """In this many of ten runs on every law the tenth layer gains."""

    def change(config, row):
        hit = row.sigma is None and row.layers == grids.TEN and config.run % 10 < count
        return {"loss": (1 - gain) * row.loss} if hit else {}

    return "training", change


def test_a_departure_of_twice_the_resolution_is_noticed():
    before = judged(some_runs(1))
    assert before.verdict == "holds"
    assert before.resolution.suffices
    converged = 0.5 - 2 * before.resolution.value
    assert judged(some_runs(10 - math.floor(10 * converged))).verdict == "fails"


def test_rare_runs_that_a_tenth_layer_improves_much_do_not_rule():
    assert judged(some_runs(2, gain=0.9)).verdict == "holds"


def test_half_of_the_runs_leave_it_open():
    found = judged(some_runs(5))
    assert found.verdict == "undecided at this scale"
    assert "more runs of ten layers" in found.note


def test_runs_within_the_sampling_error_of_the_line_leave_it_open():
    found = judged(some_runs(10, gain=0.98 * CONVERGED))
    assert found.verdict == "undecided at this scale"
    assert "0% to 100% of the runs" in str(found.measured)


def test_both_halves_of_the_contrast_have_one_line():
    assert CONVERGED == claims_baselines.CLOSE


def test_runs_that_end_elsewhere_are_compared_with_themselves():
    """Half of the runs a tenth higher at every depth: no layer of any of them gains."""

    def apart(config, row):
        return {"loss": 1.1 * row.loss} if row.sigma is None and config.run % 2 else {}

    assert judged(("training", apart)).verdict == "holds"


def test_fewer_than_five_runs_decide_nothing():
    view = changed(invented("paper"), ("training", alike))
    lost = {
        cell.key for law in DEEP_DIGESTS for cell in grids.ten_layers(law, "paper", view.seed)[4:]
    }
    few = replace(view, results={key: view.results[key] for key in view.results if key not in lost})
    assert entry_of("fewer-than-ten-layers", few).verdict == "undecided at this scale"


@pytest.mark.parametrize("scale", ["quick", "standard"])
def test_without_runs_of_ten_layers_nothing_is_decided(scale):
    found = judged(scale=scale)
    assert found.verdict == "undecided at this scale"
    assert "--scale paper" in found.note


def test_a_heavy_tail_of_nine_layers_leaves_a_law_open():
    tail = ("last_layers", lambda c, r: {"error": r.loss} if r.layers == grids.TEN - 1 else {})
    assert judged(tail).verdict == "undecided at this scale"


def test_runs_that_overflow_or_have_a_heavy_tail_are_open():
    def over(config, row):
        lost = row.layers == grids.TEN and config.noise != grids.U5
        return {"loss": None} if lost and row.sigma is None else {}

    found = judged(("training", over))
    assert found.verdict == "undecided at this scale"
    assert "11% to 100% of the runs" in str(found.measured)
    assert "U(0,5) 100% of 10" in str(found.measured)

    def tail(config, row):
        hit = row.sigma is None and row.layers == grids.TEN and config.run == 10
        return {"error": row.loss} if hit else {}

    found = judged(("training", tail))
    assert found.verdict == "holds"
    assert "90% to 100% of the runs" in str(found.measured)
