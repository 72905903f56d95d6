"""Claims about the laws: the refinement against simulation, and what the laws imply.

The laws of the random transformer are derived in this project; the documentation of the study says
which parts are established and which are conjectured.
"""

from __future__ import annotations

import math
import statistics

from attnlab.lab.study import UNDECIDED, Claim, Judgement, Resolution, Verdict, View
from attnlab.random.study import grids, results
from attnlab.random.study.comparisons import LOG_RATIO
from attnlab.random.study.evidence import (
    BY_OUR_LAW,
    EXACT,
    Evidence,
    at_dimension,
    at_dimensions,
    still_open,
)
from attnlab.stats import LEVEL, Estimate, below, student_threshold

AGREES = 0.05
APART = 2 * AGREES  # a departure from 0 that a check of 5% has to notice
SEARCHED = 1e-5  # relative, of an error at its best ridge
MATTERS = 0.01  # a relative difference of two errors that a statement about the laws is about


def _at_one_dimension(view: View, name: str, d: int) -> tuple[list[Estimate], Estimate]:
    """log(simulation / refinement) at every point of a dimension, and their mean.

    All points of a run share its draw, and all points the refinement's prompts: the standard error
    of the mean comes from how much the means of the runs differ.
    """
    found = results.by_place(view, grids.size_runs(view.scale, view.seed, d))
    refined = results.laws(view, grids.size_laws(view.scale, view.seed, d), "refined")
    places = [place for place in found if place.model in ("relu", "tanh")]
    means = {place: results.mean(found[place], name) for place in places}
    own = {place: refined[place].standard_error / refined[place].icl for place in places}
    points = [
        Estimate(
            math.log(mean.value / getattr(refined[place], name)),
            math.hypot(mean.standard_error / mean.value, own[place]),
            mean.samples,
        )
        for place, mean in means.items()
    ]
    shared = Estimate.of(
        statistics.fmean(getattr(found[p][run], name) / means[p].value for p in places)
        for run in range(len(found[places[0]]))
    )
    error = math.hypot(shared.standard_error, max(own.values()))
    middle = statistics.fmean(point.value for point in points)
    return points, Estimate(middle, error, shared.samples)


def _refinement(view: View, name: str) -> Judgement:
    """Mean over points of log(simulation / refinement), and every point of it.

    The means of the dimensions are weighted by their standard errors: larger ones fluctuate less.
    The average holds where it is known to be within 5%, and fails where it is beyond 5% by more
    than chance; the resolution is the departure from 0 at which it would have failed.
    """
    sizes = [d for d in grids.size(view.scale).dimensions if d >= 20]
    found = [_at_one_dimension(view, name, d) for d in sizes]
    points, overall = (
        [each for several, _ in found for each in several],
        [mean for _, mean in found],
    )
    error, allowed = results.pooled(points)
    worst = max(abs(point.value) for point in points)
    weights = [mean.standard_error**-2 for mean in overall]
    total = sum(weights) ** -0.5
    middle = sum(w * mean.value for w, mean in zip(weights, overall, strict=True)) * total**2
    wide = student_threshold(results.freedom(overall))
    noticed = AGREES + wide * total
    refuted = worst > AGREES + allowed * error or abs(middle) > noticed
    agreed = abs(middle) + wide * total <= AGREES  # the average is known to be within 5%
    verdict: Verdict = "fails" if refuted else "holds" if agreed else UNDECIDED
    resolution = Resolution(noticed, APART, f"{LOG_RATIO}, common to all points")
    decides = verdict != UNDECIDED and resolution.suffices
    return Judgement(
        verdict,
        f"simulation over refinement {math.exp(middle):.3f} ± {total:.3f} on average, at most "
        f"{worst:.1%} off on {len(points)} points at d = {', '.join(map(str, sizes))}",
        1.0,
        f"{AGREES:.0%} plus {allowed:.1f} standard errors of {error:.3f} for each point; for the "
        f"average {AGREES:.0%} less {wide:.1f} of {total:.3f} to hold, and plus as much to fail "
        f"(Student, level {LEVEL:g} each)",
        "" if decides else still_open(view),
        *at_dimensions(sizes),
        resolution,
    )


def _rescaled(view: View) -> Judgement:
    """The log gap to the limit law at equal norms, against half of that as drawn."""
    d = grids.size(view.scale).dimensions[1]
    at = (view.scale, view.seed, d)
    rescaled = grids.size_runs(*at, rescale=True)
    plain = results.by_place(view, grids.size_runs(*at)[: len(rescaled)])
    fixed = results.by_place(view, rescaled)
    limit = results.laws(view, grids.size_laws(view.scale, view.seed, d), "limit")
    places = [place for place in plain if place.model == "relu"]

    def gaps(found: dict) -> list[float]:
        runs = len(found[places[0]])
        return [
            statistics.fmean(math.log(found[p][run].icl / limit[p].icl) for p in places)
            for run in range(runs)
        ]

    before, after = gaps(plain), gaps(fixed)
    gained = Estimate.of(b / 2 - a for b, a in zip(before, after, strict=True))
    allowed = student_threshold(results.freedom([gained]))
    first, second = Estimate.of(before), Estimate.of(after)
    within = allowed * second.standard_error + 1 / d
    resolution = Resolution(within, first.value, f"{LOG_RATIO}, common to all points")
    verdict: Verdict = "holds" if abs(second.value) <= within and gained.value > 0 else "fails"
    return Judgement(
        verdict,
        f"log(simulation / limit law) {first.value:+.3f} ± {first.standard_error:.3f} as drawn, "
        f"{second.value:+.3f} ± {second.standard_error:.3f} at equal norms (ReLU, d = {d})",
        "0 at equal norms",
        f"{allowed:.1f} standard errors (Student, level {LEVEL:g}) plus 1/d, and less than half of "
        "the gap left",
        "Both use the same draws: the fluctuation of the norms is most of the finite-size gap. "
        + ("" if resolution.suffices else still_open(view)),
        *at_dimension(view, d, grids.size(view.scale).size_runs),
        resolution,
    )


def _table(
    view: View, name: str, tolerance: float, reference: str, by: Evidence = EXACT
) -> Judgement:
    rows = results.table(view, grids.law_numbers(), name)
    worst = max(abs(row.value / row.reference - 1) for row in rows)
    values = ", ".join(f"{row.value:.5f}" for row in rows)
    return Judgement(
        "holds" if worst <= tolerance else "fails",
        f"{values}; relative difference {below(worst, tolerance)}",
        reference,
        f"{tolerance:g}: formulas evaluated to rounding, and a limit replaced by a finite width",
        "",
        *by,
        None if by is EXACT else Resolution(tolerance, MATTERS, "of the error"),
    )


def _never(view: View) -> Judgement:
    rows = results.table(view, grids.law_numbers(), "against linear")
    least = min(row.value / row.reference for row in rows)
    return Judgement(
        "holds" if least >= 1 - SEARCHED else "fails",
        f"smallest ratio {least:.6f} on {len(rows)} points",
        "1 or more",
        f"{SEARCHED:g}, the resolution of the search for the best ridge",
        "Observed on a grid of n/d², l/d, k/d and m/n; not proved.",
        "smaller setting",
        f"by our limit law, which is conjectured, on {len(rows)} points",
        Resolution(SEARCHED, MATTERS, "of the error"),
    )


CLAIMS = (
    Claim(
        "refinement-agrees",
        "ours",
        "The finite-size refinement gives the transformers' in-context error to 5%.",
        lambda view: _refinement(view, "icl"),
        ("extrapolation", "fig-2b"),
        ours=True,
    ),
    Claim(
        "refinement-idg",
        "ours",
        "The refinement gives the error on the pool's tasks to 5%.",
        lambda view: _refinement(view, "idg"),
        ours=True,
    ),
    Claim(
        "law-in-rescaled-prompts",
        "ours",
        "Prompts of equal norm follow the limit law already at small d.",
        _rescaled,
        ("extrapolation",),
        ours=True,
    ),
    Claim(
        "implicit-ridge",
        "ours",
        "By our limit law, as m/n grows, the random transformer is linear attention with the ridge "
        "b₁²(1 + q)(c*/c₁)² d²/n, and an intercept if E σ is not 0.",
        lambda view: _table(
            view, "implicit ridge", 1e-6, "linear attention at that ridge", BY_OUR_LAW
        ),
        ours=True,
    ),
    Claim(
        "law-reduces-to-lu",
        "ours",
        "For an activation without a non-linear part (c* = 0) our limit law is that of Lu et al.",
        lambda view: _table(view, "reduces to Lu", 1e-6, "1.66351, 0.91434; 1.01923, 0.45717"),
        ours=True,
    ),
    Claim(
        "never-beats-linear",
        "ours",
        "By our limit law no random transformer at its best ridge has a smaller error than linear "
        "attention with an intercept at its best ridge, on a grid of sizes.",
        _never,
        ("best-ridge",),
        ours=True,
    ),
)
