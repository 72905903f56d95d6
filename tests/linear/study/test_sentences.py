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


def test_a_tuned_ridge_that_gains_more_than_half_is_not_slightly_better():
    def much(config, row):
        hit = (row.model, row.sigma) == ("TUNEDRR", None) and config.noise == UNIFORM[4]
        return {"loss": 0.2 * PAPER["ADARR", 0, UNIFORM[4]]} if hit else {}

    found = entry("tuned-improves", changed(invented("standard"), ("baselines", much)))
    assert found.verdict == "fails"
    assert "by half or more: U(0,4)" in found.note


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


def test_a_quick_run_has_too_few_laws_to_say_that_the_gain_grows():
    found = entry("gain-grows", invented("quick"))
    assert found.verdict == UNDECIDED
    assert "--scale standard" in found.note


def test_one_network_in_which_a_layer_adds_to_the_loss_leaves_the_caption_open():
    def one(config, row):
        hit = config.recipe == "paper" and row.start == 0 and row.sigma is None and row.read == 3
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
