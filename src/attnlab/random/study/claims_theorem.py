"""Theorem 3 in the limit: the transformers against their equivalent models of degrees 1, 2 and 4.

Every degree is simulated at several dimensions, and log(transformer / equivalent) is extrapolated
by a + b/d + c/d². The text does not give the degree, which depends on the activation: Theorem 3
asks for some finite degree for each activation. What is found of each degree is a claim of ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attnlab.lab.study import (
    UNDECIDED,
    Claim,
    Judgement,
    Missing,
    Resolution,
    Verdict,
    View,
    all_of,
    openness,
)
from attnlab.random.study import results
from attnlab.random.study.claims_theory import DEMIR
from attnlab.random.study.evidence import at_dimensions, lacks, listed, still_open
from attnlab.random.study.limits_by_degree import (
    SAME,
    DegreeLimits,
    dimensions,
    limits_of,
    logs_of,
    mean_of,
    runs_that_decide,
)
from attnlab.random.study.panels import ACTIVATIONS, DEGREES
from attnlab.stats import LEVEL

Several = Sequence[DegreeLimits]  # of one activation, by degree, or of one degree, by activation


def _missing(view: View, degree: int, activations: Sequence[str]) -> list[int]:
    """The dimensions at which a degree has no runs; `Missing` where it has none at all."""
    planned = dimensions(view, degree)
    found = results.stored(
        planned, lambda d: [logs_of(view, name, degree, d) for name in activations]
    )
    if not found:
        raise Missing(listed(planned))
    return [d for d in planned if d not in found]


def _tolerance(several: Several) -> str:
    """The tests of a claim, and what each of them would have noticed."""
    points = len(several[0].single)
    names = len({each.activation for each in several})
    known = sorted(each.quadratic.allowed for each in several)
    single = sorted(each.at_one_point for each in several)
    return (
        f"{names * (points + 1)} tests at familywise level {LEVEL:g} on a in a + b/d + c/d²: for "
        f"each activation the quadratic mean over its {points} points, in which nothing cancels "
        f"and which would be noticed from {_range(known)} on, and every point alone; a departure "
        f"at one point alone would be noticed from {_range(single)} on"
    )


def _range(values: Sequence[float]) -> str:
    return " to ".join(dict.fromkeys(f"{value:.3f}" for value in (values[0], values[-1])))


def _degree(view: View, degree: int) -> Judgement:
    """Both activations with the models of one degree."""
    missing = _missing(view, degree, ACTIVATIONS)
    if missing:
        return _without_limit(view, degree, missing)
    found = [limits_of(view, name, degree, len(ACTIVATIONS)) for name in ACTIVATIONS]
    verdict, resolution = all_of([(each.verdict, each.resolution) for each in found])
    sizes = list(found[0].averages)
    weakest = max(found, key=lambda each: openness(each.resolution))
    return Judgement(
        verdict,
        f"log(transformer / equivalent) at d = {', '.join(map(str, sizes))}: "
        f"{'; '.join(map(str, found))}",
        "0 in the limit",
        f"{_tolerance(found)}; the mean over points and the line a + b/d are shown beside it",
        "" if resolution.suffices else runs_that_decide(view, weakest),
        *at_dimensions(sizes),
        resolution,
    )


def _without_limit(view: View, degree: int, missing: Sequence[int]) -> Judgement:
    """What is known where a dimension is missing: too little for an extrapolation."""
    kept = [d for d in dimensions(view, degree) if d not in missing]
    points = {
        (name, d): mean_of(logs_of(view, name, degree, d)) for d in kept for name in ACTIVATIONS
    }
    shown = [
        f"{name} {point.value:+.3f} ± {point.standard_error:.3f} at d = {d}"
        for (name, d), point in points.items()
    ]
    return Judgement(
        UNDECIDED,
        f"log(transformer / equivalent): {', '.join(shown)}",
        "0 in the limit",
        "a in a + b/d + c/d², from three dimensions",
        lacks(view, missing),
    )


def _by_degree(view: View, activations: Sequence[str]) -> Mapping[str, list[DegreeLimits]]:
    """The limits of every degree whose dimensions are all stored, by activation."""
    found: dict[str, list[DegreeLimits]] = {}
    for degree in DEGREES:
        try:
            complete = not _missing(view, degree, activations)
        except Missing:
            complete = False
        if complete:
            for name in activations:
                several = found.setdefault(name, [])
                several.append(limits_of(view, name, degree, len(activations)))
    return found


def _some_degree(several: Several) -> tuple[Verdict, Resolution]:
    """Whether one degree agrees: the best known of those that do decides, or, where all are
    refuted, the weakest refutation."""
    agree = [each.resolution for each in several if each.agrees]
    if agree:
        return "holds", min(agree, key=openness)
    if len(several) == len(DEGREES) and all(each.refuted for each in several):
        return "fails", max((each.resolution for each in several), key=openness)
    return UNDECIDED, min((each.resolution for each in several if not each.refuted), key=openness)


def _theorem(view: View, activations: Sequence[str]) -> Judgement:
    """Some degree for each activation; a degree that does not agree refutes nothing by itself."""
    found = _by_degree(view, activations)
    if not found:
        return _nothing_stored(view, activations)
    parts = {name: _some_degree(several) for name, several in found.items()}
    verdict, resolution = all_of(list(parts.values()))
    every = [each for several in found.values() for each in several]
    shown = "; ".join(f"{name}: {_shown(several)}" for name, several in found.items())
    return Judgement(
        verdict,
        f"quadratic mean over the points of the limits of log(transformer / equivalent): {shown}",
        "0 in the limit for some degree of each activation",
        _tolerance(every),
        "" if verdict != UNDECIDED else _what_decides(view, parts, found),
        *at_dimensions(dimensions(view, every[0].degree)),
        resolution,
    )


def _nothing_stored(view: View, activations: Sequence[str]) -> Judgement:
    """No degree has all its dimensions: the one that lacks fewest says which."""
    lacking = []
    for degree in DEGREES:
        try:
            lacking.append(_missing(view, degree, activations))
        except Missing:
            lacking.append(list(dimensions(view, degree)))
    return Judgement(
        UNDECIDED,
        "no degree with runs at every dimension",
        "0 in the limit for some degree of each activation",
        "a in a + b/d + c/d², from three dimensions",
        lacks(view, min(lacking, key=len)),
    )


def _shown(several: Several) -> str:
    return ", ".join(
        f"r = {each.degree} {_word(each)} ({each.quadratic.value:.3f}; from "
        f"{each.quadratic.allowed:.3f} on it would be noticed)"
        for each in several
    )


def _word(found: DegreeLimits) -> str:
    return "agrees" if found.agrees else "does not agree" if found.refuted else "is open"


def _what_decides(
    view: View,
    parts: Mapping[str, tuple[Verdict, Resolution]],
    found: Mapping[str, list[DegreeLimits]],
) -> str:
    """The runs that are missing for an activation that is open, by its best known degree."""
    for name, (verdict, _) in parts.items():
        several = [each for each in found[name] if not each.refuted]
        if verdict == UNDECIDED and several:
            return runs_that_decide(view, min(several, key=lambda e: openness(e.resolution)))
    return still_open(view)


def _small_degree(view: View) -> Judgement:
    """Which of the degrees agree in the limit for both activations."""
    found = {degree: _degree(view, degree) for degree in DEGREES}
    agree = [each.resolution for each in found.values() if _is_seen(each, "holds")]
    refuted = [each.resolution for each in found.values() if _is_seen(each, "fails")]
    verdict: Verdict = "holds" if agree else "fails" if len(refuted) == len(found) else UNDECIDED
    # One degree that agrees is enough; a refutation takes all of them.
    among = agree or refuted if verdict != UNDECIDED else [e.resolution for e in found.values()]
    known = [each for each in among if each is not None]
    pick = max if verdict == "fails" else min
    words = {"holds": "agrees", "fails": "does not agree", UNDECIDED: "is open"}
    shown = ", ".join(
        f"r = {degree} {words[each.verdict] if _is_seen(each, each.verdict) else 'is open'}"
        for degree, each in found.items()
    )
    return Judgement(
        verdict,
        shown,
        "some small degree agrees in the limit, the same for both activations",
        "as for theorem-3-degree-1, -2 and -4",
        "For tanh the coefficient of degree 2 is 0: its models of degrees 1 and 2 are the same."
        if verdict != UNDECIDED
        else next((each.note for each in found.values() if each.note), still_open(view)),
        *at_dimensions(dimensions(view, 1)),
        pick(known, key=openness, default=None),
    )


def _is_seen(found: Judgement, verdict: Verdict) -> bool:
    """Whether a verdict was reached by a check that looked closely enough."""
    return found.verdict == verdict and found.resolution is not None and found.resolution.suffices


POINTS = "m = n/2 and 1.5 n, λ = 1e-8 and 0.1"
WIDTHS = "m = n/4 to 3 n, λ = 1e-8"
SETTING = f"(ReLU target, n = 1.5 d²; r = 1: {POINTS}; r = 2 and 4: {WIDTHS})"
MEANT = f"a quadratic mean of {SAME:g} of the log ratios over these points would be noticed"


def _degree_claim(degree: int) -> Claim:
    return Claim(
        f"theorem-3-degree-{degree}",
        "ours",
        f"The ReLU and tanh transformers and their equivalent models of degree {degree} have the "
        f"same in-context error in the limit (ReLU target, n = 1.5 d², "
        f"{POINTS if degree == 1 else WIDTHS}): {MEANT}.",
        lambda view: _degree(view, degree),
        ("degrees", "fig-2b") if degree > 1 else ("ratio",),
        ours=True,
    )


CLAIMS = (
    Claim(
        "theorem-3",
        f"{DEMIR}, Theorem 3",
        "For ReLU and for tanh the transformer and its equivalent model of some finite degree, one "
        f"of 1, 2 and 4, have the same in-context error in the limit {SETTING}: {MEANT}.",
        lambda view: _theorem(view, ACTIVATIONS),
        ("ratio", "degrees"),
    ),
    Claim(
        "theorem-3-relu",
        f"{DEMIR}, Theorem 3",
        "The ReLU transformer and its equivalent model of one of the degrees 1, 2 and 4 have the "
        f"same in-context error in the limit {SETTING}: {MEANT}.",
        lambda view: _theorem(view, ("relu",)),
        ("ratio", "degrees"),
    ),
    Claim(
        "theorem-3-tanh",
        f"{DEMIR}, Theorem 3",
        "The tanh transformer and its equivalent model of one of the degrees 1, 2 and 4 have the "
        f"same in-context error in the limit {SETTING}: {MEANT}.",
        lambda view: _theorem(view, ("tanh",)),
        ("ratio", "degrees"),
    ),
    *map(_degree_claim, DEGREES),
    Claim(
        "small-degree-suffices",
        f"{DEMIR}, after Theorem 3",
        "A small finite degree suffices: one of r = 1, 2 and 4 has the error of both transformers "
        "in the limit.",
        _small_degree,
        ("ratio", "degrees"),
    ),
)
