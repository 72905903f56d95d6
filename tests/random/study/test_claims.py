"""Every claim of `random` has its verdict on recorded evidence, and another if that is changed.

The evidence is a recorded run of the quick scale: no test here simulates anything. `test_smoke`
runs the whole study at a very small scale.
"""

import functools
import re
from dataclasses import replace
from pathlib import Path

import pytest

from attnlab.lab.ledger import judge
from attnlab.random.study import grids, study

PAGE = Path(__file__).parents[3] / "docs" / "random.md"

FAILS = {
    "fig-2a-falls-with-length",
    "fig-2b-falls-with-width",
    "fig-2b-moderate-overparameterisation",
}
CORRECTED = {
    "fig-1a-relu-beats-linear",
    "matching-activation",
    "fig-2a-mlp-needs-length",
    "double-descent-regularised",
}
UNDECIDED = {
    "theorem-3-relu",
    "theorem-3-tanh",
    "theorem-3-fig-1a",
    "theorem-3-fig-2a",
    "theorem-3-fig-2b",
    "theorem-3-fig-2c",
    "refinement-idg",
}


@functools.cache
def every_cell(scale, seed):
    return grids.cells(scale, seed)


@pytest.fixture(scope="module")
def view(quick):
    return quick


def verdict(claim_id, view):
    (claim,) = [claim for claim in study.claims if claim.id == claim_id]
    entry = judge(study, claim, view)
    assert not entry.broken, entry.note
    return entry.verdict


def changed(view, *changes):
    """The same results with fields replaced; a change is (kind, f(config, row) -> new fields)."""
    results = dict(view.results)
    for kind, change in changes:
        for cell in every_cell(view.scale, view.seed):
            if cell.kind.name == f"random_{kind}":
                results[cell.key] = [
                    replace(row, **change(cell.config, row)) for row in results[cell.key]
                ]
    return replace(view, results=results)


def times(factor, kind, when, field="icl"):
    """A change that multiplies one field of the rows where `when(config, row)` is true."""

    def change(config, row):
        value = getattr(row, field)
        return {field: factor * value} if value is not None and when(config, row) else {}

    return kind, change


def to(kind, when=lambda config, row: True, **fields):
    """A change that sets fields, to values or functions of the row."""

    def change(config, row):
        if not when(config, row):
            return {}
        return {name: f(row) if callable(f) else f for name, f in fields.items()}

    return kind, change


def fitted(panel, model, target="relu"):
    return lambda config, row: (
        config.panel == panel and config.target == target and row.model in model.split("|")
    )


def table(name, model=None):
    return lambda config, row: row.table == name and model in (None, row.model)


def rescaled(config, row):
    return config.rescale and row.model == "relu"


BROKEN = {
    "lemma-1": [to("gaussianity", kurtosis=1.0)],
    "lemma-1-norms": [to("gaussianity", norm_variance=2.0)],
    "corollary-2": [to("gaussianity", kurtosis=1.0)],
    "attention-reduction": [
        to("attention", reduction_error=1e-3),
        to("attention", unreduced_error=0.0),
    ],
    "hermite-coefficients": [to("attention", hermite_error=1e-3)],
    "lu-icl": [times(3, "run", fitted("linear", "linear", "linear"))],
    "lu-idg": [times(3, "run", fitted("linear", "linear", "linear"), "idg")],
    "lu-nonlinear-target": [
        times(3, "run", fitted("size", "linear")),
        times(3, "run", fitted("size", "linear+intercept")),
    ],
    "theorem-3-relu": [times(5, "run", fitted("size", "relu"))],
    "theorem-3-tanh": [times(5, "run", fitted("size", "tanh"))],
    "theorem-3-rescaled": [times(2, "run", rescaled)],
    "sign-beyond-theorem-3": [times(2, "run", fitted("sign", "sign"))],
    "theorem-3-fig-1a": [times(20, "run", fitted("n", "relu"))],
    "theorem-3-fig-1b": [times(20, "run", fitted("n", "tanh", "tanh"))],
    "theorem-3-fig-2a": [times(20, "run", fitted("length", "tanh"))],
    "theorem-3-fig-2b": [times(20, "run", fitted("width", "relu"))],
    "theorem-3-fig-2c": [times(20, "run", fitted("ridge", "relu"))],
    "fig-1a-relu-beats-linear": [
        times(9, "run", fitted("n", "relu")),
        times(9, "law_numbers", table("relu target", "relu"), "value"),
    ],
    "fig-1a-tanh-hardly": [
        times(0.5, "law_numbers", table("relu target", "tanh"), "value"),
        times(0.2, "run", fitted("n", "tanh")),
    ],
    "fig-1b-little-gained": [
        times(0.1, "run", fitted("n", "relu|tanh", "tanh")),
        times(0.5, "law_numbers", table("tanh target", "relu"), "value"),
    ],
    "matching-activation": [
        times(9, "run", fitted("n", "tanh", "tanh")),
        times(9, "law_numbers", table("relu target", "relu"), "value"),
    ],
    "fig-2a-mlp-needs-length": [
        times(50, "run", fitted("length", "relu")),
        times(9, "law_numbers", table("length", "tanh"), "value"),
    ],
    "double-descent": [to("run", fitted("width", "relu"), icl=1.0)],
    "double-descent-regularised": [
        times(20, "run", lambda c, r: c.panel == "ridge" and r.ridge >= 1 and r.width == r.n)
    ],
    "peak-rate": [times(1.5, "law_numbers", table("peak"), "value")],
    "best-lambda": [
        times(90, "run", lambda config, row: config.panel == "ridge" and row.ridge == 10),
        times(2, "law_numbers", table("best error"), "value"),
        times(0.01, "law_numbers", table("best delta"), "value"),
    ],
    "intercept-control": [
        times(0.1, "run", fitted("n", "relu")),
        times(2, "law_numbers", table("relu target", "linear+intercept"), "value"),
    ],
    "constant-predictor": [
        times(0.1, "run", fitted("n", "relu")),
        times(0.1, "law_numbers", table("relu target"), "value"),
    ],
    "refinement-agrees": [times(3, "law", lambda config, row: row.law == "refined")],
    "refinement-idg": [times(3, "law", lambda config, row: row.law == "refined", "idg")],
    "law-in-rescaled-prompts": [times(2, "run", rescaled)],
    "implicit-ridge": [times(1.01, "law_numbers", table("implicit ridge"), "value")],
    "law-reduces-to-lu": [times(1.01, "law_numbers", table("reduces to Lu"), "value")],
    "never-beats-linear": [times(0.9, "law_numbers", table("against linear"), "value")],
    "context-length-minimum": [
        times(2, "law_numbers", lambda c, row: row.table == "length" and row.at == 8, "value")
    ],
}

SAME = (to("run", icl=1.0, idg=1.0), to("law", icl=1.0, idg=1.0, standard_error=0.0))
INVERSE = to("law_numbers", table("width"), value=lambda row: 1 / row.at)
HELD = {
    **dict.fromkeys(UNDECIDED, SAME),
    "fig-2a-falls-with-length": [to("law_numbers", table("length"), value=lambda r: 1 / r.at)],
    "fig-2b-falls-with-width": [
        INVERSE,
        to("run", fitted("width", "relu"), icl=lambda row: 1 / row.width),
    ],
    "fig-2b-moderate-overparameterisation": [
        to("law_numbers", table("width"), value=lambda row: abs(row.at - 2) + 0.1),
        to("run", fitted("width", "relu"), icl=lambda row: abs(row.width / row.n - 2) + 0.1),
    ],
    "fig-1a-relu-beats-linear": [
        times(10, "law_numbers", table("relu target", "linear+intercept"), "value")
    ],
    "matching-activation": [times(0.1, "law_numbers", table("tanh target", "tanh"), "value")],
    # ReLU no better than linear on short contexts, and both MLPs better on long ones.
    "fig-2a-mlp-needs-length": [
        to("law_numbers", table("length"), value=1.0),
        to("law_numbers", table("length", "relu"), value=lambda row: 2.0 if row.at < 1 else 0.5),
        to("law_numbers", table("length", "tanh"), value=lambda row: 2.0 if row.at < 1 else 0.5),
    ],
    "double-descent-regularised": [times(2, "law_numbers", table("peak"), "value")],
}


def expected(claim):
    if claim in FAILS:
        return "fails"
    if claim in CORRECTED:
        return "holds as corrected"
    return "undecided at this scale" if claim in UNDECIDED else "holds"


@pytest.mark.parametrize("claim", [claim.id for claim in study.claims])
def test_the_verdict_is_what_the_mathematics_says(view, claim):
    assert verdict(claim, view) == expected(claim)


def test_the_page_has_every_claim_with_its_verdict():
    text = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+)` \| ([a-z ]+) \|", text, re.MULTILINE)
    assert dict(rows) == {claim.id: expected(claim.id) for claim in study.claims}
    assert len(rows) == len(study.claims)


def test_the_page_shows_only_numbers_of_the_laws(view):
    """Numbers in the tables are in the ledger too, and no sampled number is among them."""
    text = PAGE.read_text(encoding="utf-8")
    tables = re.findall(r"^\| `([^`]+)` \| [a-z ]+ \| (.*) \|$", text, re.MULTILINE)
    assert len(tables) == len(study.claims)
    noisy = changed(view, *(times(1.37, kind, lambda c, r: True) for kind in ("run", "law")))
    for claim_id, shown in tables:
        (claim,) = [claim for claim in study.claims if claim.id == claim_id]
        for found in (judge(study, claim, view), judge(study, claim, noisy)):
            known = " ".join(
                str(part) for part in (found.statement, found.measured, found.reference, found.note)
            )
            numbers = set(re.findall(r"\d+(?:\.\d+)?(?:e-\d+)?", known))
            for number in re.findall(r"\d+(?:\.\d+)?(?:e-\d+)?", shown):
                assert number in numbers, f"{claim_id}: {number} is not in {known!r}"


@pytest.mark.parametrize(
    ("claim", "change"),
    [(claim, change) for claim, several in BROKEN.items() for change in several],
)
def test_broken_evidence_makes_the_claim_fail(view, claim, change):
    assert verdict(claim, changed(view, change)) == "fails"


@pytest.mark.parametrize("claim", sorted(HELD))
def test_a_claim_that_does_not_hold_as_stated_could_have_held(view, claim):
    assert verdict(claim, changed(view, *HELD[claim])) == "holds"


def test_every_claim_has_a_broken_input_or_one_on_which_it_holds():
    claims = {claim.id for claim in study.claims}
    assert set(BROKEN) == claims - FAILS
    assert set(HELD) == FAILS | CORRECTED | UNDECIDED


def test_an_undecided_claim_names_the_scale_that_decides(view):
    for claim in study.claims:
        if claim.id in UNDECIDED:
            assert "--scale paper" in judge(study, claim, view).note


def test_every_judgement_carries_its_numbers(view):
    for claim in study.claims:
        entry = judge(study, claim, view)
        assert str(entry.measured)
        assert str(entry.reference)
        assert entry.tolerance


def test_the_laws_tables_have_the_specifications_values(view):
    rows = view.rows(grids.law_numbers())
    found = {(row.table, row.model, row.at): row.value for row in rows}
    lengths = [round(found["length", "linear", at], 3) for at in (1, 2, 4, 8)]
    assert lengths == [1.351, 1.398, 1.595, 2.072]
    relu = [round(found["length", "relu", at], 3) for at in (0.1, 1, 2, 4, 8, 16, 100)]
    assert relu == [1.022, 0.889, 0.842, 0.815, 0.81, 0.82, 0.852]
    implicit = [(row.at, row.value) for row in rows if row.table == "implicit ridge"]
    assert implicit[0] == pytest.approx((0.18411, 0.42181), abs=6e-6)
    assert implicit[1] == pytest.approx((0.03786, 0.93100), abs=6e-6)
    assert round(found["width", "relu", 100.0], 3) == 0.424


@pytest.mark.parametrize("figure", study.figures, ids=lambda figure: figure.id)
def test_every_figure_draws_its_table(view, figure):
    rows = figure.data(view)
    spec = figure.draw(rows).to_dict()
    assert rows
    assert len(rows[0]) >= 2
    assert spec["$schema"].endswith(".json")
