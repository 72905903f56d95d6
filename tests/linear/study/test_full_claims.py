"""Every claim about FULL can hold, fails on rows that are broken, and stays open on heavy tails."""

import functools
import math

import pytest

from attnlab.lab.ledger import judge
from attnlab.linear.study import claims_full_diag, full_results, grids, grids_full, study
from attnlab.linear.study.table_1 import PAPER, UNIFORM
from attnlab.linear.training.starting_points import ABSENT
from tests.lab.statement_checks import check_evidence
from tests.linear.study import rows as invented_rows
from tests.linear.study.full_rows import GROWN

OWN = (
    "found-algorithm",
    "found-algorithm-together",
    "table-1-full",
    "full-paper-recipe",
    "diag-paper-recipe",
    "gd-paper-recipe",
    "full-from-diag",
    "near-diagonal",
    "diagonal-in-every-matrix",
    "near-diagonal-on-average",
    "low-rank-part",
    "full-diag-uniform",
    "full-diag-sigma",
    "four-layers-beat-adarr-full",
    "figure-7-full",
    "figure-7-full-decline",
    "axis-beats-full",
    "full-grown",
    "printed-recipe-tails",
    "later-layers-not-diagonal",
    "full-is-not-diag",
)


pytestmark = pytest.mark.usefixtures("full_networks")


@functools.cache
def invented(scale):
    return invented_rows.changed(invented_rows.invented(scale), FIGURE_7)


def entry_of(claim_id, *changes, scale="standard"):
    seen = invented_rows.changed(invented(scale), *changes)
    (claim,) = [claim for claim in study.claims if claim.id == claim_id]
    entry = judge(study, claim, seen)
    assert not entry.broken, entry.note
    return entry


def known(loss):
    """A loss without a heavy tail."""
    return {"loss": loss, "error": 0.004 * loss}


def profile(config, row):
    """Figure 7 as the paper describes it: low noise improves first, high noise ends worse."""
    if row.sigma is None or config.noise != grids.U5 or row.layers < 3:
        return {}
    if row.sigma <= 1:
        return known(0.5 / (1 + row.read) ** 2)
    if row.sigma >= 4:
        return known(1.0 if row.read == 0 else 0.5 if row.read < row.layers else 0.6)
    return {}


FIGURE_7 = ("full_evaluation", profile)


def losses(factor, when=lambda config, row: True, kind="full_evaluation"):
    def change(config, row):
        return {"loss": factor * row.loss} if when(config, row) and row.loss is not None else {}

    return kind, change


def whole(config, row):
    return row.sigma is None and row.read == row.layers


def fields(kind, when=lambda config, row: True, **values):
    return kind, lambda config, row: values if when(config, row) else {}


def comparable(claim_id):
    """DIAG has the losses of FULL."""
    full = invented_rows.network_value

    def diag(config, row):
        if row.sigma is None:
            more = 1.6 if config.family in ABSENT else 1.0
            value = more * full("FULL", config.noise, row.layers)
            return {"loss": value * (1 + row.layers - row.read)}
        found = profile(config, row)
        return found or {
            "loss": invented_rows.profile_value("FULL", row.layers, row.read, row.sigma)
        }

    return ("training", diag)


ALIKE = comparable("full-diag-uniform")


@pytest.mark.parametrize("claim_id", OWN)
def test_claims_hold_where_the_paper_is_right(claim_id):
    entry = entry_of(claim_id, ALIKE)
    assert entry.verdict == "holds", (entry.measured, entry.note)
    check_evidence([entry])


def shifted_loss(when):
    """Losses larger than the claim's line by twice its resolution."""
    return lambda by: losses(1 + by, when)


def below_the_line(column, line):
    return lambda by: fields("full_structure", **{column: line - by})


def adarr(by):
    def change(config, row):
        if config.noise not in UNIFORM[4:] or not whole(config, row) or row.layers != 4:
            return {}
        return {"loss": (1 + by) * PAPER["ADARR", 0, config.noise]}

    return "full_evaluation", change


def table(by):
    """The cell of four layers on U(0,5) missed by FULL of every recipe, by DIAG and by AXIS."""

    def hit(config, row):
        return config.noise == grids.U5 and whole(config, row) and row.layers == 4

    def change(config, row):
        return known((1 + by) * PAPER["FULL", 4, grids.U5]) if hit(config, row) else {}

    return [(kind, change) for kind in ("full_evaluation", "training", "reference")]


def recipe(name, model="FULL"):
    """The networks of one recipe above the paper's value, or above the law where that is more."""

    def broken(by):
        def change(config, row):
            hit = config.recipe == name and whole(config, row)
            value = invented_rows.network_value(model, config.noise, 4) if model == "GD++" else 0.0
            paper = PAPER.get((model, row.layers, config.noise), 0.0)
            return {"loss": (1 + by) * max(paper, value)} if hit else {}

        return "full_evaluation", change

    return broken


def figure_7(by):
    def change(config, row):
        hit = row.sigma is not None and row.sigma >= 4 and row.read == row.layers
        return known(0.5 * math.exp(-by)) if hit else {}

    return "full_evaluation", change


def figure_7_falls(by):
    """A loss at high noise that falls with every layer."""

    def change(config, row):
        return known(math.exp(-by * row.read)) if row.sigma is not None and row.sigma >= 4 else {}

    return "full_evaluation", change


def algorithm(by):
    """Training without momentum that ends lower, by some of what it ends higher in `rows`."""

    def change(config, row):
        without = config.family == "no-momentum" and row.loss is not None
        return {"loss": row.loss * 1.6 ** -(1 + by)} if without else {}

    return "training", change


def together(by):
    """A factor of y that grows with the noise."""
    return (
        "ablation",
        lambda c, r: {"value": 1.1 + 0.08 * by * r.sigma} if r.quantity == "factor" else {},
    )


def grown(by):
    """Grown networks above those from random weights of all layers."""

    def change(config, row):
        hit = config.recipe == "clipped" and row.start >= grids_full.STARTS and whole(config, row)
        return {"loss": (1 + by) / GROWN[row.layers] * row.loss} if hit else {}

    return "full_evaluation", change


def tails_swapped(by):
    """Of five printed networks by * 5 have a tail, and of the clipped ones as many have none."""
    return fields(
        "full_evaluation",
        lambda c, r: c.recipe == "printed" and r.start < 5 * by,
        steady=False,
    ), fields(
        "full_evaluation", lambda c, r: c.recipe == "clipped" and r.start < 5 * by, steady=True
    )


BROKEN = {
    "full-grown": grown,
    "printed-recipe-tails": lambda by: list(tails_swapped(by)),
    "found-algorithm": algorithm,
    "found-algorithm-together": together,
    "table-1-full": table,
    "full-paper-recipe": recipe("printed"),
    "diag-paper-recipe": recipe("printed-diag", "DIAG"),
    "gd-paper-recipe": recipe("printed-gd++", "GD++"),
    "full-from-diag": recipe("from-diag"),
    "near-diagonal": below_the_line("diagonal", 0.5),
    "diagonal-in-every-matrix": below_the_line("diagonal", 0.5),
    "near-diagonal-on-average": below_the_line("diagonal", 0.5),
    "low-rank-part": lambda by: fields(
        "full_structure", rank_two=full_results.rank_two_by_chance()[1] - by
    ),
    "full-diag-uniform": lambda by: losses(
        1 / (claims_full_diag.comparable() * (1 + by)),
        lambda c, r: whole(c, r) and c.noise == "uniform:3",
    ),
    "full-diag-sigma": lambda by: losses(
        claims_full_diag.comparable() * (1 + by),
        lambda c, r: r.sigma is not None and c.noise == "uniform:3",
    ),
    "later-layers-not-diagonal": lambda by: fields("full_structure", diagonal=0.5 + by),
    "full-is-not-diag": lambda by: fields("full_structure", diagonal=0.9 + by),
    "four-layers-beat-adarr-full": adarr,
    "figure-7-full": figure_7,
    "figure-7-full-decline": figure_7_falls,
    "axis-beats-full": lambda by: (
        "reference",
        lambda c, r: {"loss": (1 + by) * r.loss} if c.noise == "uniform:3" and whole(c, r) else {},
    ),
}


def broken(claim_id, by):
    """The changes that break a claim."""
    changes = BROKEN[claim_id](by)
    return changes if isinstance(changes, list) else [changes]


@pytest.mark.parametrize("claim_id", OWN)
def test_a_departure_of_twice_the_resolution_is_noticed(claim_id):
    found = entry_of(claim_id, ALIKE)
    assert found.resolution is not None
    entry = entry_of(claim_id, ALIKE, *broken(claim_id, 2 * found.resolution.value))
    assert entry.verdict == "fails", (entry.measured, entry.note)


@pytest.mark.parametrize(
    "claim_id",
    ["table-1-full", "full-paper-recipe", "full-from-diag", "four-layers-beat-adarr-full"],
)
def test_a_heavy_tail_never_counts_as_reached(claim_id):
    """One sequence that carries the mean: its standard error is as large as the mean."""

    def tail(config, row):
        return {"error": row.loss, "worst_share": 1.0} if whole(config, row) else {}

    assert entry_of(claim_id, ("full_evaluation", tail)).verdict != "holds"


def test_a_network_that_diverged_is_not_reached_and_is_named():
    lost = fields(
        "full_evaluation",
        lambda c, r: c.noise == "uniform:3" and r.layers == 7,
        loss=None,
        error=None,
        steady_starts=0,
    )
    entry = entry_of("table-1-full", lost)
    assert entry.verdict == "undecided at this scale"
    assert "1 diverged" in str(entry.measured)
    assert "U(0,3) L = 7" in entry.note


@pytest.mark.parametrize(
    "claim_id",
    ["table-1-full", "full-diag-uniform", "full-diag-sigma", "four-layers-beat-adarr-full"],
)
def test_networks_of_fewer_steps_refute_nothing(claim_id):
    """Too little training must not look like a refutation."""
    few = fields("full_evaluation", steps_trained=1000)
    found = entry_of(claim_id, ALIKE)
    assert found.resolution is not None
    entry = entry_of(claim_id, ALIKE, few, *broken(claim_id, 2 * found.resolution.value))
    assert entry.verdict == "undecided at this scale"
    assert entry.grade == "smaller setting"
    check_evidence([entry])


def test_full_far_above_the_papers_loss_does_not_show_that_it_differs_from_diag():
    far = losses(1.6, lambda c, r: whole(c, r) and c.noise == "uniform:3")
    assert entry_of("full-diag-uniform", ALIKE, far).verdict == "undecided at this scale"


def test_a_ratio_that_the_papers_own_digits_allow_says_nothing():
    """.002 and .004 are printed on U(0,1) with five layers: a ratio from 1.4 to 3."""

    def at(factor, law="uniform:1"):
        return losses(1 / factor, lambda c, r: whole(c, r) and c.noise == law and r.layers == 5)

    assert claims_full_diag.printed_ratio("uniform:1", 5) == pytest.approx(3)
    allowed = entry_of("full-diag-uniform", ALIKE, at(1.6))
    assert allowed.verdict == "holds"
    assert "the paper's digits allow U(0,1) L = 5 0.62" in allowed.note
    assert entry_of("full-diag-uniform", ALIKE, at(4.0)).verdict == "fails"
    assert claims_full_diag.printed_ratio("uniform:5", 5) < claims_full_diag.comparable()
    assert entry_of("full-diag-uniform", ALIKE, at(1.6, "uniform:5")).verdict == "fails"


@pytest.mark.parametrize("claim_id", [each for each in OWN if each != "found-algorithm"])
@pytest.mark.parametrize("scale", ["quick", "standard"])
def test_without_networks_nothing_is_decided(claim_id, scale, monkeypatch):
    monkeypatch.setattr(grids_full, "DIGESTS", {})
    monkeypatch.setattr(grids_full, "RECIPE_DIGESTS", {})
    entry = entry_of(claim_id, scale=scale)
    assert entry.verdict == "undecided at this scale"
    check_evidence([entry])
