"""Sentences about ridges, noise levels and layers, and the paper's values in the figures."""

import json

import pytest

from attnlab.lab.ledger import judge
from attnlab.lab.study import UNDECIDED
from attnlab.linear.study import grids, study
from attnlab.linear.study.table_1 import PAPER, UNIFORM
from tests.linear.study.rows import changed, invented

pytestmark = pytest.mark.usefixtures("full_networks")


def entry(claim_id, seen):
    (claim,) = [claim for claim in study.claims if claim.id == claim_id]
    found = judge(study, claim, seen)
    assert not found.broken, found.note
    return found


def figure(id):
    (found,) = [figure for figure in study.figures if figure.id == id]
    rows = found.data(invented("quick"))
    return rows, json.dumps(found.draw(rows).to_dict())


def whole(row):
    return row.sigma is None and row.read == row.layers


def test_a_network_with_a_heavy_tail_is_below_no_ridge():
    tail = lambda c, r: {"error": r.loss} if whole(r) else {}  # noqa: E731
    heavy = changed(invented("standard"), ("training", tail), ("full_evaluation", tail))
    found = entry("baselines-upper-bound", heavy)
    assert found.verdict == UNDECIDED
    assert "0 of 0 networks" in str(found.measured)


def test_the_networks_below_the_ridges_are_named():
    assert "FULL {1,3} L = 7" in entry("baselines-upper-bound", invented("quick")).note


@pytest.mark.parametrize(("ratio", "verdict"), [(0.2, "holds"), (1.0, UNDECIDED), (1.05, "fails")])
def test_of_slightly_better_the_direction_is_judged_and_the_size_is_shown(ratio, verdict):
    def other(config, row):
        hit = (row.model, row.sigma) == ("TUNEDRR", None) and config.noise == UNIFORM[4]
        return {"loss": ratio * PAPER["ADARR", 0, UNIFORM[4]]} if hit else {}

    found = entry("tuned-improves", changed(invented("standard"), ("baselines", other)))
    assert found.verdict == verdict
    assert f"U(0,4) {1 - ratio:.0%}" in str(found.measured)
    assert "'slightly' of" in found.note


@pytest.mark.parametrize("ridge", ["CONSTRR", "ADARR", "TUNEDRR"])
def test_the_gain_is_judged_against_every_ridge(ridge):
    def better(config, row):
        hit = (row.model, row.sigma) == (ridge, None) and config.noise == UNIFORM[7]
        return {"loss": 0.01, "error": 4e-5} if hit else {}

    assert entry("gain-grows", invented("standard")).verdict == "holds"
    found = entry("gain-grows", changed(invented("standard"), ("baselines", better)))
    assert found.verdict == "fails"


def test_full_networks_of_few_steps_and_a_large_loss_do_not_refute_the_gain():
    def short(config, row):
        return {"loss": 9 * row.loss, "steps_trained": 9} if config.noise == UNIFORM[7] else {}

    found = entry("gain-grows", changed(invented("standard"), ("full_evaluation", short)))
    assert found.verdict == UNDECIDED
    assert "--scale paper" in found.note


def test_a_full_network_that_was_trained_badly_on_the_smallest_law_does_not_make_the_gain_grow():
    def short(config, row):
        return {"loss": 3 * row.loss, "steps_trained": 9} if config.noise == UNIFORM[1] else {}

    found = entry("gain-grows", changed(invented("standard"), ("full_evaluation", short)))
    assert found.verdict == UNDECIDED
    assert "not trained enough on U(0,1)" in str(found.measured)
    assert "linear_full" in found.note


def test_an_advantage_below_our_line_is_not_clear():
    def close(config, row):
        hit = row.model == "DIAG" and row.sigma is None and config.noise == UNIFORM[7]
        loss = 0.96 * PAPER["TUNEDRR", 0, UNIFORM[7]]
        return {"loss": loss, "error": 0.002 * loss} if hit and whole(row) else {}

    assert entry("gain-grows", invented("standard")).verdict == "holds"
    found = entry("gain-grows", changed(invented("standard"), ("training", close)))
    assert found.verdict == "fails"


@pytest.mark.parametrize("close", [{10, 30, 60, 100, 200}, {30, 60, 100, 200}, {200}, set()])
def test_a_hundred_iterations_lie_between_too_few_and_enough(close):
    """Sixty steps for the noise and sixty for ridge are 120 iterations."""

    def loss(config, row):
        return {"loss": 0.068 if row.steps in close | {0} else 0.08}

    assert entry("iterative-adarr", invented("standard")).verdict == "holds"
    found = entry("iterative-adarr", changed(invented("standard"), ("iterations", loss)))
    assert found.verdict == "fails"
    assert found.differs == "a step of 0.01, which is ours"


def test_runs_of_ten_layers_are_candidates_for_the_best_network_of_a_depth():
    """A run of ten layers whose seven layers are better than those of the runs of seven."""

    def better(config, row):
        deep = config.family == "diag" and config.depth == grids.TEN and config.noise == grids.TWO
        hit = deep and whole(row) and row.layers == 7
        return {"loss": 0.25 * row.loss, "selection": 0.1} if hit else {}

    def layer(*changes):
        found = entry("more-heads", changed(invented("paper"), *changes))
        return str(found.measured).partition("{1,3} L = 6 ")[2]

    assert "(a layer +5" in layer(("training", better))
    assert "(a layer +5" not in layer()


def test_a_quick_run_has_too_few_laws_to_say_that_the_gain_grows():
    found = entry("gain-grows", invented("quick"))
    assert found.verdict == UNDECIDED
    assert "--scale standard" in found.note


def test_one_network_in_which_a_layer_adds_to_the_loss_leaves_the_caption_open():
    def one(config, row):
        hit = config.recipe == "printed" and row.start == 0 and row.sigma is None and row.read == 3
        return {"loss": 2 * row.loss} if hit else {}

    found = entry("figure-5", changed(invented("standard"), ("full_evaluation", one)))
    assert found.verdict == UNDECIDED
    assert "FULL 1 of 5" in str(found.measured)


def test_a_level_with_a_heavy_tail_does_not_make_gd_better_than_a_network():
    def low(config, row):
        own = row.model == "GD++" and row.sigma is not None
        return {"loss": 0.01 * row.loss, "error": 1e-6} if own else {}

    def tail(config, row):
        own = row.model == "DIAG" and row.sigma is not None
        return {"loss": 1e-9, "error": 1e-9} if own else {}

    seen = changed(invented("standard"), ("training", low), ("training", tail))
    assert entry("gd-best-at-its-constant", seen).verdict == "holds"


@pytest.mark.parametrize("id", ["fig-1", "fig-3-layers"])
def test_the_ridges_of_the_paper_are_drawn_beside_ours(id):
    rows, spec = figure(id)
    ridges = [row for row in rows if row["model"] in ("CONSTRR", "ADARR", "TUNEDRR")]
    assert ridges
    assert all(row["paper"] is not None for row in ridges)
    layers = json.loads(spec)["concat"][-1]["layer"]
    dashed = [layer for layer in layers if layer["mark"].get("strokeDash")]
    assert [layer["encoding"]["y"]["field"] for layer in dashed] == ["paper"]


@pytest.mark.parametrize("id", ["table-1", "full-table"])
def test_the_cells_of_a_table_show_the_printed_value(id):
    rows, spec = figure(id)
    texts = [row["printed"] for row in rows if row["noise"] == "U(0,5)"]
    assert f"{PAPER['FULL', 7, grids.U5]:.3g}" in texts
    assert '"field": "printed"' in spec
