"""Theorem 3 in the limit: the transformers against their equivalent models of degrees 1, 2 and 4.

Degree 1 is simulated at several dimensions, and log(transformer / equivalent) is extrapolated in
1/d. Degrees 2 and 4 are simulated at the dimension of the figures, where the refinement predicts
how far transformer and equivalent are apart; that prediction vanishes in the limit, and what it
leaves of the gap may be of order 1/d. The text does not give the degree; all that are 1 or more
have the same limit law.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from attnlab.lab.study import Claim, Judgement, Missing, Resolution, Verdict, View
from attnlab.random.study import grids, results
from attnlab.random.study.claims_theory import DEMIR
from attnlab.random.study.comparisons import LOG_RATIO
from attnlab.random.study.evidence import (
    PAPER_D,
    UNDECIDED,
    at_dimension,
    at_dimensions,
    still_open,
)
from attnlab.random.study.extrapolation import extrapolated, verdict_of
from attnlab.random.study.panels import ACTIVATIONS, DEGREE_PSIS, DEGREES
from attnlab.stats import LEVEL, Estimate, student_threshold

SAME = 0.1  # a log ratio that must be told from 0 before two limits are called the same


def _ratios(view: View, activation: str, d: int) -> list[list[float]]:
    """log(transformer / degree-1 model): a list over runs for each width and ridge."""
    found = results.by_place(view, grids.size_runs(view.scale, view.seed, d))
    return [
        [math.log(row.icl / other.icl) for row, other in zip(rows, others, strict=True)]
        for _, rows, others in results.pairs(found, activation, f"{activation} r=1")
    ]


def _theorem(view: View, activations: Sequence[str]) -> Judgement:
    """Every width and ridge by itself, and their average, which is known best."""
    sizes = grids.size(view.scale).dimensions
    several, averages = [], []
    for activation in activations:
        logs = [_ratios(view, activation, d) for d in sizes]
        several += [[Estimate.of(each) for each in point] for point in zip(*logs, strict=True)]
        averages.append(
            [Estimate.of(map(statistics.fmean, zip(*each, strict=True))) for each in logs]
        )
    tests = len(several) + len(averages)
    series = [*averages, *several]
    lines = [extrapolated(sizes, points, 1, tests) for points in series]
    curves = [extrapolated(sizes, points, 2, tests) for points in series]
    verdict = verdict_of(lines, curves)
    known = max(fit.allowed for fit in lines[: len(averages)])
    single = max(fit.allowed for fit in lines[len(averages) :])
    resolution = Resolution(known, SAME, f"{LOG_RATIO}, common to all widths and ridges")
    shown = [
        f"{activation} {', '.join(f'{p.value:+.3f}' for p in points)}, in the limit "
        f"{fit.limit.value:+.3f} ± {fit.limit.standard_error:.3f}"
        for activation, points, fit in zip(activations, averages, lines, strict=False)
    ]
    return Judgement(
        verdict,
        f"log(transformer / equivalent) at d = {', '.join(map(str, sizes))}: {'; '.join(shown)}",
        "0 in the limit",
        f"{tests} Student tests at familywise level {LEVEL:g} on a in a + b/d: the averages, known "
        f"to {known:.2f}, and {len(several)} widths and ridges, known to {single:.2f}; refuted if "
        "a + b/d + c/d² has no limit 0 either",
        "" if resolution.suffices and verdict != UNDECIDED else still_open(view),
        *at_dimensions(sizes),
        resolution,
    )


def _left_of_gaps(view: View, degree: int) -> list[list[float]]:
    """log(transformer / equivalent) less its prediction: over runs, for each width."""
    runs = results.by_place(view, grids.panel_runs("width", view.scale, view.seed))
    refined = results.laws(view, grids.degree_laws(view.scale, view.seed), "refined")
    if not any(place.model.endswith(f" r={degree}") for place in runs):
        raise Missing(f"equivalent models of degree {degree}")
    left = []
    for activation in ACTIVATIONS:
        for place, rows, others in results.pairs(runs, activation, f"{activation} r={degree}"):
            other = place._replace(model=f"{activation} r={degree}")
            if place not in refined:
                continue
            expected = math.log(refined[place].icl / refined[other].icl)
            pairs = zip(rows, others, strict=True)
            left.append([math.log(row.icl / own.icl) - expected for row, own in pairs])
    return left


def _degree(view: View, degree: int) -> Judgement:
    left = _left_of_gaps(view, degree)
    d = grids.size(view.scale).d
    points = [Estimate.of(each) for each in left]
    average = Estimate.of(map(statistics.fmean, zip(*left, strict=True)))
    error, threshold = results.pooled(points)
    allowed = 1 / d + threshold * error
    known = 1 / d + student_threshold(results.freedom([average])) * average.standard_error
    worst = max(abs(point.value) for point in points)
    resolution = Resolution(known, SAME, f"{LOG_RATIO}, common to all widths")
    verdict: Verdict = "holds" if worst <= allowed and abs(average.value) <= known else "fails"
    if verdict == "fails" and d < PAPER_D:
        verdict = UNDECIDED  # the prediction is one for large d
    decides = verdict == "fails" or (verdict == "holds" and resolution.suffices)
    return Judgement(
        verdict,
        f"log(transformer / equivalent of degree {degree}) less its prediction: on average "
        f"{average.value:+.3f} ± {average.standard_error:.3f}, at most {worst:.3f} on "
        f"{len(points)} points at m/n = {', '.join(f'{psi:g}' for psi in DEGREE_PSIS)}",
        "0 up to terms of order 1/d; the predicted gap is 0 in the limit",
        f"1/d = {1 / d:.4f} and chance: {allowed:.2f} for each point, {known:.2f} for the average "
        f"(Student, level {LEVEL:g} each)",
        "" if decides else still_open(view),
        *at_dimension(view),
        resolution,
    )


def _small_degree(view: View) -> Judgement:
    """Which of the degrees agree, judged as the claims about each of them are."""
    found = {degree: _degree(view, degree) for degree in DEGREES}
    seen = {
        degree: each.resolution
        for degree, each in found.items()
        if each.verdict == "holds" and each.resolution is not None
    }
    refuted = all(each.verdict == "fails" for each in found.values())
    verdict: Verdict = "holds" if seen else "fails" if refuted else UNDECIDED
    resolution = min(seen.values(), key=lambda each: each.value) if seen else None
    decides = refuted or (resolution is not None and resolution.suffices)
    shown = ", ".join(
        f"r = {degree} {'agrees' if degree in seen else 'does not agree'}" for degree in DEGREES
    )
    return Judgement(
        verdict,
        shown,
        "some small degree agrees",
        "as for theorem-3-degree-1, -2 and -4",
        "For tanh the coefficient of degree 2 is 0: its models of degrees 1 and 2 are the same."
        if decides
        else still_open(view),
        *at_dimension(view),
        resolution,
    )


def _degree_claim(degree: int) -> Claim:
    return Claim(
        f"theorem-3-degree-{degree}",
        f"{DEMIR}, Theorem 3",
        f"With r = {degree} the transformers and their equivalent models differ by the gap that "
        "finite size predicts, up to 1/d (ReLU target, n = 1.5 d²).",
        lambda view: _degree(view, degree),
        ("degrees", "fig-2b"),
    )


POINTS = "(ReLU target, n = 1.5 d², m = n/2 and 1.5 n, λ = 1e-8 and 0.1)"

CLAIMS = (
    Claim(
        "theorem-3",
        f"{DEMIR}, Theorem 3",
        "For ReLU and tanh the transformer and its equivalent model of some finite degree have the "
        f"same in-context error in the limit; degree 1 does {POINTS}.",
        lambda view: _theorem(view, ACTIVATIONS),
        ("ratio",),
    ),
    Claim(
        "theorem-3-relu",
        f"{DEMIR}, Theorem 3",
        "The ReLU transformer and its equivalent model of degree 1 have the same error in the "
        f"limit {POINTS}.",
        lambda view: _theorem(view, ("relu",)),
        ("ratio",),
    ),
    Claim(
        "theorem-3-tanh",
        f"{DEMIR}, Theorem 3",
        "The tanh transformer and its equivalent model of degree 1 have the same error in the "
        f"limit {POINTS}.",
        lambda view: _theorem(view, ("tanh",)),
        ("ratio",),
    ),
    *(_degree_claim(degree) for degree in DEGREES),
    Claim(
        "small-degree-suffices",
        f"{DEMIR}, after Theorem 3",
        "A small finite degree suffices: one of r = 1, 2 and 4 agrees with the transformers.",
        _small_degree,
        ("degrees", "fig-2b"),
    ),
)
