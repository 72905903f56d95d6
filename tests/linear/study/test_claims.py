"""Every claim of `linear` can hold and can fail: on invented rows, and on the same rows changed."""

from functools import cache

import pytest

from attnlab.lab.ledger import judge
from attnlab.linear.study import claims_full, claims_full_weights, study
from attnlab.linear.study.table_1 import LAWS, PAPER
from tests.linear.study.rows import changed, invented

CORRECTED = {"theorem-4.1", "lemma-4.3", "lemma-4.4", "section-5.3"}
WAITS = {  # for networks of FULL
    "two-levels-full-better",
    "two-levels-diag-extrapolates",
    "three-levels-rough",
    "three-levels-not-better",
    *(claim.id for claim in (*claims_full.CLAIMS, *claims_full_weights.CLAIMS)),
}
TUNED = [
    claim.id for claim in study.claims if claim.id.startswith("tuned-") and "prof" not in claim.id
]


@cache
def view():
    return invented("standard")


def entry_of(claim_id, seen):
    (claim,) = [claim for claim in study.claims if claim.id == claim_id]
    entry = judge(study, claim, seen)
    assert not entry.broken, entry.note
    return entry


def verdict(claim_id, *changes):
    return entry_of(claim_id, changed(view(), *changes) if changes else view()).verdict


def to(kind, **fields):
    return kind, lambda config, row: fields


def times(factor, kind, when, field="loss"):
    def change(config, row):
        value = getattr(row, field)
        return {field: factor * value} if value is not None and when(config, row) else {}

    return kind, change


def law_of(*laws):
    return lambda config, row: config.noise in laws and row.sigma is None


def at_depth(low, high=9):
    return lambda config, row: row.sigma is None and low <= row.layers <= high


def family(name, low=1, high=9):
    return lambda c, r: c.family == name and r.sigma is None and low <= r.layers <= high


def level(model, sigma, factor):
    def change(config, row):
        return {"loss": factor * row.loss} if (row.model, row.sigma) == (model, sigma) else {}

    return change


def flat(config, row):
    return {} if row.sigma is None else {"loss": 0.1}


BROKEN = {
    "theorem-4.1": [to("state", tokens=1e-3)],
    "lemma-4.3": [to("state", recursion=1e-3)],
    "lemma-4.4": [
        ("state", lambda c, r: {} if r.alpha is None else {"alpha": 1e-3}),
        ("state", lambda c, r: {} if r.alpha is None else {"momentum": 1e-3}),
    ],
    "theorem-4.2": [
        ("cosine", lambda c, r: {"mean_square": 2 * r.mean_square}),
        ("cosine", lambda c, r: {"beyond": c.contexts // 2}),
    ],
    "theorem-5.1": [
        ("least_squares", lambda c, r: {"error": 2 * c.precision}),
        ("least_squares", lambda c, r: {"network_error": 0.1}),
        ("least_squares", lambda c, r: {"layers": r.layers + 1}),
        ("least_squares", lambda c, r: {"error_before": c.precision / 2}),
        to("rates", log_slope=2.0),
        to("rates", log_log_slope=2.0),
    ],
    "lemma-a.2": [to("rates", step_error=1e-3), to("rates", step_beyond=1.5)],
    "lemma-a.3": [
        to("rates", contraction_largest=1.01),
        to("rates", excess_largest=2.5),
        to("rates", contraction_far=0.5),
    ],
    "theorem-5.2": [
        ("rescaling", lambda c, r: {"distance": 1 / c.n, "distance_error": 0.01 / c.n}),
        ("rescaling", lambda c, r: {"distance": 0.1 + r.distance}),
    ],
    "theorem-5.2-third-level": [
        ("rescaling", lambda c, r: {"distance": 0.01}),
        to("rescaling", limit=0.0),
    ],
    "section-5.3": [
        to("step_size", corrected=1e-3),
        ("step_size", lambda c, r: {"printed": 90 * c.omega_xy**2}),
    ],
    "section-5.3-adapts": [to("step_size", shrinkage=0.9)],
    "table-1-gd": [times(1.5, "training", family("gd++", 3))],
    "table-1-diag": [times(1.5, "training", family("diag", 7)), to("training", loss=None)],
    "table-1-axis": [times(3, "reference", at_depth(7)), to("reference", loss=None)],
    "table-1-ridges": [times(1.5, "baselines", lambda c, r: r.model == "TUNEDRR")],
    "one-layer-law": [
        times(1.05, "training", family("diag", 1, 1)),
        times(0.9, "reference", at_depth(1, 1)),
    ],
    "gd-floor": [times(0.9, "training", family("gd++", 7))],
    "gd-is-constrr": [times(1.1, "training", family("gd++", 7))],
    "four-layers-beat-adarr": [
        times(2, "training", family("diag", 4)),
    ],
    "more-heads": [
        times(0.7, "training", family("omegas", 3)),
        times(1.3, "training", family("omegas", 3)),
    ],
    "bayes-uniform-5": [times(1.2, "reference", at_depth(7))],
    "bayes-categorical-1-3": [times(2, "reference", at_depth(7))],
    "bayes-floor": [
        times(0.5, "reference", at_depth(7)),
        times(9, "baselines", lambda c, r: r.model == "BAYES"),
    ],
    "iterative-adarr": [
        ("iterations", lambda c, r: {"loss": 0.068}),
        ("iterations", lambda c, r: {"loss": 0.068 if r.steps in (0, 200) else 0.2}),
    ],
    "adarr-profile": [
        ("baselines", level("ADARR", 0.0, 1e30)),
        ("baselines", level("ADARR", 4.0, 0.1)),
    ],
    "tuned-profile": [("baselines", lambda c, r: {"loss": r.sigma} if r.sigma else {})],
    "two-layers-one-variance": [("training", flat)],
}
HELD = {
    "theorem-4.1": [to("state", shifted=1e-15)],
    "lemma-4.3": [to("state", recursion_printed=1e-15)],
    "lemma-4.4": [("state", lambda c, r: {} if r.alpha is None else {"alpha_printed": 1e-15})],
    "section-5.3": [to("step_size", printed=1e-15)],
}


@pytest.mark.parametrize("claim", [claim.id for claim in study.claims])
def test_a_world_where_the_table_is_true_has_these_verdicts(claim):
    expected = "undecided at this scale" if claim in WAITS else "holds"
    assert verdict(claim) == ("holds as corrected" if claim in CORRECTED else expected)


@pytest.mark.parametrize(
    ("claim", "change"),
    [(claim, change) for claim, several in BROKEN.items() for change in several],
)
def test_broken_evidence_makes_the_claim_fail(claim, change):
    assert verdict(claim, change) == "fails"


@pytest.mark.parametrize("claim", TUNED)
def test_each_noise_law_has_its_own_verdict_against_tuned_ridge(claim):
    (law,) = [law for law in LAWS if claim == f"tuned-{law.replace(':', '-').replace(',', '-')}"]

    def deep(low, name=None):
        return lambda c, r: (
            c.noise == law and r.sigma is None and r.layers >= low and name in (None, r.model)
        )

    assert verdict(claim, times(9, "training", deep(5))) == "fails"
    late = times(9, "training", lambda c, r: deep(5)(c, r) and r.layers < 7)
    assert verdict(claim, late) == "holds as corrected"


@pytest.mark.parametrize("claim", sorted(HELD))
def test_a_claim_that_fails_or_needs_correction_could_have_held(claim):
    assert verdict(claim, *HELD[claim]) == "holds"


def test_every_claim_has_a_broken_input_or_one_on_which_it_holds():
    assert set(BROKEN) | set(TUNED) | WAITS == {claim.id for claim in study.claims}
    assert set(HELD) == CORRECTED


def test_every_judgement_carries_its_numbers():
    for claim in study.claims:
        entry = entry_of(claim.id, view())
        assert str(entry.measured)
        assert str(entry.reference)
        assert entry.tolerance


def test_what_quick_trained_with_little_effort_never_refutes():
    quick = changed(invented("quick"), times(9, "training", at_depth(2)))
    for claim in ("table-1-diag", "more-heads", "gd-is-constrr"):
        entry = entry_of(claim, quick)
        assert entry.verdict in ("holds", "undecided at this scale")
    assert entry_of("table-1-diag", quick).verdict == "undecided at this scale"
    assert entry_of("tuned-uniform-2", quick).verdict == "undecided at this scale"
    assert "--scale standard" in entry_of("table-1-diag", quick).note


def test_the_best_run_is_chosen_by_what_the_evaluation_does_not_see():
    """Run 1 says that it is worse; made better in the evaluation, it is still not taken."""
    better = times(0.01, "training", lambda c, r: c.run == 1)
    assert verdict("bayes-floor", better) == "holds"
    chosen = ("training", lambda c, r: {"selection": 0.5} if c.run == 1 else {})
    assert verdict("bayes-floor", better, chosen) == "fails"


def test_the_table_has_every_cell_of_the_paper():
    assert len(PAPER) == 24 * 10


@pytest.mark.parametrize("figure", study.figures, ids=lambda figure: figure.id)
def test_every_figure_draws_its_table(figure):
    rows = figure.data(invented("quick"))
    spec = figure.draw(rows).to_dict()
    assert rows
    assert len(rows[0]) >= 2
    assert spec["$schema"].endswith(".json")


def test_bands_span_the_runs_and_axis_is_named():
    (figure,) = [figure for figure in study.figures if figure.id == "fig-1"]
    rows = figure.data(view())
    diag = [row for row in rows if row["model"] == "DIAG"]
    assert all(row["low"] < row["high"] == pytest.approx(1.2 * row["low"]) for row in diag)
    models = {row["model"] for row in rows}
    assert "AXIS" in models
