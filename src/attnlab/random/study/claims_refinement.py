"""At the dimension of the figures: the gap to the equivalent models is the predicted one.

The refinement predicts how far transformer and equivalent are apart at finite d. The prediction
vanishes in the limit, and what it leaves of the gap may be of order 1/d. These claims are ours.
"""

from __future__ import annotations

import math
import statistics

from attnlab.lab.study import UNDECIDED, Claim, Judgement, Resolution, Verdict, View
from attnlab.random.study import grids, results
from attnlab.random.study.claims_equivalence import FIGURES
from attnlab.random.study.comparisons import LOG_RATIO
from attnlab.random.study.evidence import PAPER_D, at_dimension, still_open
from attnlab.random.study.figure_points import left_out, pairs_of
from attnlab.random.study.limits_by_degree import SAME, runs_of_degree
from attnlab.random.study.panels import ACTIVATIONS, DEGREE_PSIS, DEGREES
from attnlab.stats import LEVEL, Estimate, student_threshold


def _left_of_gaps(view: View, degree: int) -> list[list[float]]:
    """log(transformer / equivalent) less its prediction: over runs, for each width."""
    runs = runs_of_degree(view, degree, grids.size(view.scale).d)
    refined = results.laws(view, grids.degree_laws(view.scale, view.seed), "refined")
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


def _refined_degree(view: View, degree: int) -> Judgement:
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
    decides = verdict != UNDECIDED and resolution.suffices
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


def _predicted(view: View, figure: str) -> Judgement:
    """log(transformer / degree-1 model) at every point, less the gap that is predicted there.

    Points near a peak scatter more; they are tested with their own spread, and the resolution is
    that of the others.
    """
    d = grids.size(view.scale).d
    pairs = [pair for pair in pairs_of(view, figure) if pair.degree == 1]
    away, near = (
        [point.left for pair in pairs for point in getattr(pair, where)]
        for where in ("away", "near")
    )
    number = len(away) + len(near)
    excess, widths = -math.inf, []
    for several in (away, near):
        if several:
            error, threshold = results.pooled(several, number)
            widths.append(1 / d + threshold * error)
            worst = max(abs(point.value) for point in several)
            excess = max(excess, worst - widths[-1])
    resolution = Resolution(widths[0], SAME, LOG_RATIO)
    verdict: Verdict = "holds" if excess <= 0 else UNDECIDED if d < PAPER_D else "fails"
    decides = verdict != UNDECIDED and resolution.suffices
    return Judgement(
        verdict,
        f"log ratio less its prediction: at most {max(abs(point.value) for point in away):.3f} "
        f"away from a peak, on {number} points at d = {d}; {left_out(pairs)}",
        "0 up to terms of order 1/d",
        f"1/d and chance: {' or '.join(f'{width:.2f}' for width in widths)} from the predicted "
        f"log ratio of the two models (Student, familywise level {LEVEL:g})",
        "" if decides else still_open(view),
        *at_dimension(view),
        resolution,
    )


def _claim(degree: int) -> Claim:
    return Claim(
        f"refinement-degree-{degree}",
        "ours",
        f"With r = {degree} the transformers and their equivalent models differ by the gap that "
        "finite size predicts, up to 1/d (ReLU target, n = 1.5 d²).",
        lambda view: _refined_degree(view, degree),
        ("degrees", "fig-2b"),
        ours=True,
    )


def _figure_claim(figure: str) -> Claim:
    return Claim(
        f"refinement-fig-{figure}",
        "ours",
        f"At the points of Figure {figure[0]}({figure[1]}) the transformers and their equivalent "
        "models of degree 1 differ by the gap that finite size predicts, up to 1/d.",
        lambda view: _predicted(view, figure),
        (f"fig-{figure}",),
        ours=True,
    )


CLAIMS = (*map(_claim, DEGREES), *map(_figure_claim, FIGURES))
