"""Theorem 3 in the limit: the transformers against their equivalent models of degrees 1, 2 and 4.

Every degree is simulated at several dimensions, and log(transformer / equivalent) is extrapolated
by a + b/d + c/d². Claims of ours stand beside this: at the dimension of the figures the refinement
predicts how far transformer and equivalent are apart; that prediction vanishes in the limit, and
what it leaves of the gap may be of order 1/d. The text does not give the degree; all that are 1 or
more have the same limit law.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from attnlab.lab.study import (
    UNDECIDED,
    Claim,
    Judgement,
    Missing,
    Resolution,
    Verdict,
    View,
    openness,
)
from attnlab.random.study import grids, results
from attnlab.random.study.claims_theory import DEMIR
from attnlab.random.study.comparisons import LOG_RATIO
from attnlab.random.study.evidence import (
    PAPER_D,
    at_dimension,
    at_dimensions,
    lacks,
    listed,
    still_open,
)
from attnlab.random.study.extrapolation import all_vanish, known_to, limit_of
from attnlab.random.study.panels import ACTIVATIONS, DEGREE_PSIS, DEGREES, width_at
from attnlab.stats import LEVEL, Estimate, student_threshold

SAME = 0.1  # a log ratio that must be told from 0 before two limits are called the same


Logs = Sequence[Sequence[float]]  # log(transformer / equivalent): over runs, for each point
ByActivation = Mapping[str, Logs]


def _ratios(view: View, activation: str, d: int) -> Logs:
    """log(transformer / degree-1 model): a list over runs for each width and ridge."""
    found = results.by_place(view, grids.size_runs(view.scale, view.seed, d))
    return _logs(results.pairs(found, activation, f"{activation} r=1"))


def _degree_ratios(view: View, activation: str, degree: int, d: int) -> Logs:
    """log(transformer / model of a degree): a list over runs for each width of `DEGREE_PSIS`."""
    found = _runs_of_degree(view, degree, d)
    pairs = results.pairs(found, activation, f"{activation} r={degree}")
    widths = {width_at(place.n, psi) for place, _, _ in pairs for psi in DEGREE_PSIS}
    return _logs([each for each in pairs if each[0].width in widths])


def _runs_of_degree(view: View, degree: int, d: int) -> dict[results.Place, list[Any]]:
    """The runs at one dimension, which must have the models of a degree."""
    found = results.by_place(view, grids.degree_runs(view.scale, view.seed, d))
    if not any(place.model.endswith(f" r={degree}") for place in found):
        raise Missing(f"equivalent models of degree {degree}")
    return found


def _logs(pairs: Sequence[tuple[results.Place, Sequence[Any], Sequence[Any]]]) -> Logs:
    return [
        [math.log(row.icl / other.icl) for row, other in zip(rows, others, strict=True)]
        for _, rows, others in pairs
    ]


def _mean(logs: Logs) -> Estimate:
    """The mean over points, with the standard error over runs."""
    return Estimate.of(map(statistics.fmean, zip(*logs, strict=True)))


def _judged(
    view: View, planned: Sequence[int], found: Mapping[int, ByActivation], what: str
) -> Judgement:
    """The dimensions that are stored; a limit takes all that are planned.

    Parameters
    ----------
    view
        The results that are judged.
    planned
        The dimensions of the scale.
    found
        By dimension and activation, the log ratios of those that are stored.
    what
        What the points differ in.
    """
    missing = [d for d in planned if d not in found]
    if not found:
        raise Missing(listed(missing))
    return _without_limit(view, found, missing) if missing else _in_the_limit(view, found, what)


def _in_the_limit(view: View, found: Mapping[int, ByActivation], what: str) -> Judgement:
    """Every point by itself, and their average, which is known best, extrapolated in 1/d."""
    sizes, names = list(found), list(next(iter(found.values())))
    by_name = {name: [each[name] for each in found.values()] for name in names}
    averages = [[_mean(each) for each in logs] for logs in by_name.values()]
    several = [
        [Estimate.of(each) for each in point]
        for logs in by_name.values()
        for point in zip(*logs, strict=True)
    ]
    tests = len(several) + len(averages)
    limits = [limit_of(sizes, points, tests) for points in (*averages, *several)]
    common, single = limits[: len(averages)], limits[len(averages) :]
    known = known_to(limits, common)
    resolution = Resolution(known, SAME, f"{LOG_RATIO}, common to all {what}")
    shown = [
        f"{name} {', '.join(f'{p.value:+.3f}' for p in points)}, in the limit {limit}"
        for name, points, limit in zip(names, averages, common, strict=True)
    ]
    return Judgement(
        all_vanish(limits),
        f"log(transformer / equivalent) at d = {', '.join(map(str, sizes))}: {'; '.join(shown)}",
        "0 in the limit",
        f"{tests} Student tests at familywise level {LEVEL:g} on a in a + b/d + c/d²: the "
        f"averages, known to {known_to(common):.2f}, and {len(several)} {what}, known to "
        f"{known_to(single):.2f}; the line a + b/d is shown beside it",
        "" if resolution.suffices else still_open(view),
        *at_dimensions(sizes),
        resolution,
    )


def _theorem(view: View, activations: Sequence[str]) -> Judgement:
    """The models of degree 1, at two widths and two ridges."""
    planned = grids.size(view.scale).dimensions
    found = results.stored(
        planned, lambda d: {name: _ratios(view, name, d) for name in activations}
    )
    return _judged(view, planned, found, "widths and ridges")


def _degree(view: View, degree: int) -> Judgement:
    """The models of one degree."""
    if degree == 1:
        return _theorem(view, ACTIVATIONS)
    planned = grids.degree_dimensions(view.scale)
    found = results.stored(
        planned, lambda d: {name: _degree_ratios(view, name, degree, d) for name in ACTIVATIONS}
    )
    return _judged(view, planned, found, "widths")


def _without_limit(
    view: View, found: Mapping[int, ByActivation], missing: Sequence[int]
) -> Judgement:
    """What is known where a dimension is missing: too little for an extrapolation."""
    shown = [
        f"{activation} {point.value:+.3f} ± {point.standard_error:.3f} at d = {d}"
        for d, by_activation in found.items()
        for activation, point in ((name, _mean(logs)) for name, logs in by_activation.items())
    ]
    return Judgement(
        UNDECIDED,
        f"log(transformer / equivalent): {', '.join(shown)}",
        "0 in the limit",
        "a in a + b/d + c/d², from three dimensions",
        lacks(view, missing),
    )


def _left_of_gaps(view: View, degree: int) -> list[list[float]]:
    """log(transformer / equivalent) less its prediction: over runs, for each width."""
    runs = _runs_of_degree(view, degree, grids.size(view.scale).d)
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


def _small_degree(view: View) -> Judgement:
    """Which of the degrees agree in the limit, judged as the claims about each of them are."""
    found = {degree: _degree(view, degree) for degree in DEGREES}
    agree = {degree: each for degree, each in found.items() if _is_seen(each, "holds")}
    refuted = all(_is_seen(each, "fails") for each in found.values())
    verdict: Verdict = "holds" if agree else "fails" if refuted else UNDECIDED
    # One degree that agrees is enough; a refutation takes all of them.
    known = [each.resolution for each in found.values() if each.resolution]
    least, most = (pick(known, key=openness, default=None) for pick in (min, max))
    words = {"holds": "agrees", "fails": "does not agree", UNDECIDED: "is open"}
    shown = ", ".join(
        f"r = {degree} {words[each.verdict] if _is_seen(each, each.verdict) else 'is open'}"
        for degree, each in found.items()
    )
    return Judgement(
        verdict,
        shown,
        "some small degree agrees in the limit",
        "as for theorem-3-degree-1, -2 and -4",
        "For tanh the coefficient of degree 2 is 0: its models of degrees 1 and 2 are the same."
        if verdict != UNDECIDED
        else next((each.note for each in found.values() if each.note), still_open(view)),
        *at_dimensions(grids.size(view.scale).dimensions),
        most if refuted else least,
    )


def _is_seen(found: Judgement, verdict: Verdict) -> bool:
    """Whether a verdict was reached by a check that looked closely enough."""
    return found.verdict == verdict and found.resolution is not None and found.resolution.suffices


def _degree_claims(degree: int) -> tuple[Claim, Claim]:
    sizes = POINTS if degree == 1 else WIDTHS
    return (
        Claim(
            f"theorem-3-degree-{degree}",
            f"{DEMIR}, Theorem 3",
            f"The ReLU and tanh transformers and their equivalent models of degree {degree} have "
            f"the same in-context error in the limit {sizes}.",
            lambda view: _degree(view, degree),
            ("degrees", "fig-2b") if degree > 1 else ("ratio",),
        ),
        Claim(
            f"refinement-degree-{degree}",
            "ours",
            f"With r = {degree} the transformers and their equivalent models differ by the gap "
            "that finite size predicts, up to 1/d (ReLU target, n = 1.5 d²).",
            lambda view: _refined_degree(view, degree),
            ("degrees", "fig-2b"),
            ours=True,
        ),
    )


POINTS = "(ReLU target, n = 1.5 d², m = n/2 and 1.5 n, λ = 1e-8 and 0.1)"
WIDTHS = "(ReLU target, n = 1.5 d², m = n/4 to 3 n, λ = 1e-8)"

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
    *(claim for degree in DEGREES for claim in _degree_claims(degree)),
    Claim(
        "small-degree-suffices",
        f"{DEMIR}, after Theorem 3",
        "A small finite degree suffices: one of r = 1, 2 and 4 has the transformers' error in the "
        "limit.",
        _small_degree,
        ("ratio", "degrees"),
    ),
)
