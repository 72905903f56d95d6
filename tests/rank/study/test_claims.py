"""Every claim of `rank` holds on evidence that follows it, and fails on evidence that does not."""

from dataclasses import replace

import pytest

from attnlab.lab.ledger import judge
from attnlab.rank.study import grids, study
from tests.rank.study import evidence

CORRECTED = {"fact-3", "theorem-4-decay", "heads-times-rank"}
NOT_QUICK = {
    "figure-1-depth",
    "figure-1-five-layers",
    "figure-2-several-heads",
    "figure-3-additive",
    "figure-3-concatenated",
}


def entry(claim_id, view):
    (claim,) = [claim for claim in study.claims if claim.id == claim_id]
    found = judge(study, claim, view)
    assert not found.broken, found.note
    return found


def changed(view, kind, when=lambda config: True, **fields):
    """The same results with fields of some rows replaced, by a value or a function of it."""
    results = dict(view.results)
    for cell in grids.cells(view.scale, view.seed):
        if cell.kind.name == f"rank_{kind}" and when(cell.config):
            results[cell.key] = [
                replace(
                    row,
                    **{
                        name: value(getattr(row, name)) if callable(value) else value
                        for name, value in fields.items()
                    },
                )
                for row in view.results[cell.key]
            ]
    return replace(view, results=results)


@pytest.mark.parametrize("scale", ["quick", "standard"])
@pytest.mark.parametrize("claim", [claim.id for claim in study.claims])
def test_evidence_that_follows_the_claim_is_believed(claim, scale):
    expected = "holds as corrected" if claim in CORRECTED else "holds"
    if scale == "quick" and claim in NOT_QUICK:
        expected = "undecided at this scale"
    assert entry(claim, evidence.view(scale)).verdict == expected


@pytest.mark.parametrize("claim", sorted(NOT_QUICK))
def test_an_undecided_claim_names_the_scale_that_decides_it(claim):
    note = entry(claim, evidence.view("quick")).note
    assert "attnlab reproduce rank --scale" in note


def low(config):
    return config.rank < config.d


def full(config):
    return config.rank == config.d


def is_built(name):
    return lambda config: config.construction == name


BROKEN = {
    "fact-1": [
        ("built", is_built("full rank"), {"error": 0.1}),
        ("built", lambda c: c.construction == "full rank" and c.scale is None, {"error": 1e-3}),
    ],
    "fact-3": [
        ("built", is_built("biased"), {"agreement": 0.99}),
        ("built", is_built("concatenated"), {"agreement": 0.99}),
    ],
    "theorem-4-decay": [
        ("decay", None, {"correlation": 0.5}),
        ("decay", None, {"correlation": lambda value: value**0.25}),
        ("decay", lambda c: c.checked, {"by_thresholds": lambda v: None if v is None else v + 0.1}),
    ],
    "theorem-7": [("built", is_built("vote"), {"error": 0.5})],
    "theorem-7-rate": [
        ("bounds", None, {"vote": lambda v: v and v**2}),
        ("bounds", None, {"vote": 0.1}),
    ],
    "theorem-7-single-head": [("bounds", None, {"single_head": 0.51})],
    "theorem-34": [("built", is_built("vote by MLP"), {"error": 0.5})],
    "heads-times-rank": [("sizes", None, {"share": 2.0}), ("sizes", None, {"share": 0.5})],
    "bound-one-layer": [
        ("pair", None, {"test": 0.01}),
        ("adversary", None, {"error": 0.01}),
        ("one_heads", lambda c: c.optimise > 0, {"exact": 0.0}),
        ("one_heads", lambda c: not c.samples and not c.optimise, {"exact": 0.0}),
    ],
    "bound-two-layers": [("bounds", None, {"vote": 0.4})],
    "bound-full-rank": [
        ("bounds", full, {"lower_a": 0.1}),
        ("bounds", lambda c: c.rank == 63, {"lower_b": 0.1}),
        ("bounds", lambda c: c.rank == 1, {"lower_c": 0.0}),
    ],
    "rank-one-exact": [
        ("one_heads", None, {"fitted": lambda v: v and v + 0.1}),
        ("one_heads", None, {"fresh": lambda v: v and v - 0.1}),
        ("one_heads", None, {"fresh": lambda v: v and v + 0.2}),
    ],
    "rank-one-plateau": [("one_heads", None, {"exact": 0.4})],
    "expressivity": [
        ("pair", lambda c: c.start == "construction", {"test": 0.01}),
        ("pair", lambda c: c.start == "random", {"test": 0.9}),
    ],
    "figure-1-full-rank": [
        ("encoder", full, {"test": 0.5}),
        ("encoder", low, {"test": 0.015}),
        ("encoder", full, {"test": None, "test_error": None}),
    ],
    "figure-1-half-rank": [
        ("encoder", lambda c: low(c) and c.width_multiplier > 1, {"test": 0.01})
    ],
    "figure-1-parameters": [("encoder", low, {"test": 0.009})],
    "figure-1-depth": [("encoder", lambda c: c.layers == 3, {"test": 0.9})],
    "figure-1-five-layers": [("encoder", lambda c: c.layers == 5, {"test": 0.001})],
    "figure-2-identity": [("encoder", None, {"angle": 90.0}), ("encoder", None, {"angle": 170.0})],
    "figure-2-several-heads": [
        ("encoder", lambda c: c.layers == 3, {"angle": 179.0}),
        ("encoder", lambda c: c.layers == 3, {"angle": 100.0}),
    ],
    "figure-3-additive": [("encoder", lambda c: c.encoding == "additive", {"test": 0.001})],
    "figure-3-concatenated": [
        ("encoder", lambda c: c.encoding == "concatenated", {"test": 0.4}),
        ("encoder", lambda c: c.encoding == "concatenated" and c.layers == 1, {"test": 0.001}),
    ],
    "figure-4-length": [
        ("encoder", low, {"test": 0.5}),
        ("encoder", lambda c: full(c) and c.N > 4, {"test": 0.9}),
    ],
    "without-perceptron": [("encoder", lambda c: c.mlp == 0, {"test": 0.3})],
    "replayed-stream": [("encoder", lambda c: c.replay > 0, {"least_training": 0.9})],
}


@pytest.mark.parametrize(
    ("claim", "kind", "when", "fields"),
    [(claim, *broken) for claim, breaks in BROKEN.items() for broken in breaks],
)
def test_broken_evidence_makes_the_claim_fail(claim, kind, when, fields):
    view = evidence.view("standard" if claim in NOT_QUICK else "quick")
    assert entry(claim, changed(view, kind, when or (lambda _: True), **fields)).verdict == "fails"


def test_every_claim_has_a_broken_input():
    assert set(BROKEN) == {claim.id for claim in study.claims}


@pytest.mark.parametrize(
    ("claim", "kind", "when", "fields"),
    [
        ("fact-3", "built", is_built("biased as printed"), {"agreement": 1.0}),
        ("heads-times-rank", "sizes", lambda _: True, {"share": 1.0}),
    ],
)
def test_a_claim_that_needs_correction_could_have_held(claim, kind, when, fields):
    view = changed(evidence.view("quick"), kind, when, **fields)
    assert entry(claim, view).verdict == "holds"


@pytest.mark.parametrize(
    ("claim", "when"),
    [
        ("figure-1-depth", lambda c: c.layers in (1, 3)),
        ("replayed-stream", lambda c: c.rank < c.d),
    ],
)
def test_seeds_that_overlap_decide_nothing(claim, when):
    view = changed(evidence.view("standard"), "encoder", when, test=0.6, least_training=0.6)
    assert entry(claim, view).verdict == "undecided at this scale"


@pytest.mark.parametrize("scale", ["quick", "standard"])
@pytest.mark.parametrize("figure", study.figures, ids=lambda figure: figure.id)
def test_every_figure_draws_its_table(figure, scale):
    rows = figure.data(evidence.view(scale))
    spec = figure.draw(rows).to_dict()
    assert len(rows[0]) >= 2
    assert spec["$schema"].endswith(".json")
