"""Theorem 3 at the dimension of the figures: transformers and equivalents at their points.

The text gives no degree: it depends on the activation, and a small one suffices. A figure matches
if for each activation the equivalent model of one degree matches the transformer at every point
away from the peak. Two errors match if their log ratio is slight, or no larger than the gap that
the refinement predicts at finite d and that vanishes in the limit. That the gap is the predicted
one, with its sign, is a claim of ours beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from attnlab.lab.study import (
    NO_SCALE,
    UNDECIDED,
    Claim,
    Judgement,
    Resolution,
    Verdict,
    View,
    all_of,
    openness,
)
from attnlab.random.study import grids, results
from attnlab.random.study.claims_samples import SLIGHT
from attnlab.random.study.claims_theorem import SAME
from attnlab.random.study.claims_theory import DEMIR
from attnlab.random.study.comparisons import LOG_RATIO
from attnlab.random.study.evidence import PAPER_D, at_dimension, still_open
from attnlab.random.study.figure_points import Pair, Point, pairs_of
from attnlab.random.study.panels import DEGREES
from attnlab.stats import LEVEL

# Two curves that are this far apart do not match: finite size may explain a log ratio up to `SAME`,
# at which the study no longer calls two errors the same, and chance may hide as much as is slight.
APART = SAME + SLIGHT
FIGURES = ("1a", "1b", "2a", "2b", "2c")
NAMED = 4  # points that a note lists by their names


def allowed(point: Point) -> float:
    """The largest log ratio of a match, on the side of 0 where it is found.

    What is slight is allowed on both sides, and what is predicted on its own side, up to `SAME`.
    """
    same_side = (point.predicted or 0.0) * point.ratio.value > 0
    return max(SLIGHT, min(abs(point.predicted or 0.0), SAME)) if same_side else SLIGHT


def refuted_from(point: Point) -> float:
    """The log ratio from which on two errors do not match; without a prediction it is `SAME`."""
    return SAME if point.predicted is None else allowed(point)


class _Match(NamedTuple):
    """Whether a transformer and its equivalent of one degree match, and what decides that."""

    pair: Pair
    chance: float
    verdict: Verdict
    resolution: Resolution

    @property
    def refuting(self) -> list[Point]:
        """The points at which the two do not match, the clearest first."""
        points = [p for p in self.pair.away if p.size > refuted_from(p) + self.chance]
        return sorted(points, key=lambda p: (refuted_from(p) + self.chance) / p.size)

    @property
    def unpredicted(self) -> list[Point]:
        """The points that would match only if a gap were predicted there, and none is."""
        return [
            point
            for point in self.pair.away
            if allowed(point) + self.chance < point.size <= refuted_from(point) + self.chance
        ]

    def named(self, point: Point) -> str:
        """The degree, where it is compared, and what is found and predicted there."""
        gap = "not predicted" if point.predicted is None else f"predicted {point.predicted:+.3f}"
        return (
            f"{self.pair.activation} with r = {self.pair.degree} at {point.at} (log ratio "
            f"{point.ratio.value:+.3f}, {gap})"
        )


def _match(pair: Pair, comparisons: int, points: int) -> _Match:
    """The verdict on one degree, which must be compared at as many points as any other degree.

    The points of the pair share one standard error; the level is shared by all comparisons of the
    figure.
    """
    if not pair.away:
        return _Match(pair, 0.0, UNDECIDED, Resolution(math.inf, APART, LOG_RATIO))
    error, threshold = results.pooled([point.ratio for point in pair.away], comparisons)
    chance = threshold * error
    seen = Resolution(max(map(allowed, pair.away)) + chance, APART, LOG_RATIO)
    found = _Match(pair, chance, UNDECIDED, seen)
    if found.refuting:
        clearest = found.refuting[0]
        seen = Resolution(refuted_from(clearest) + chance, clearest.size, LOG_RATIO)
        return found._replace(verdict="fails", resolution=seen)
    if seen.suffices and not found.unpredicted and len(pair.away) == points:
        return found._replace(verdict="holds")
    return found


def _by_activation(pairs: Sequence[Pair]) -> dict[str, list[_Match]]:
    """The verdict on every degree."""
    comparisons = sum(len(pair.away) for pair in pairs)
    found: dict[str, list[_Match]] = {}
    for pair in pairs:
        points = max(len(each.away) for each in pairs if each.activation == pair.activation)
        found.setdefault(pair.activation, []).append(_match(pair, comparisons, points))
    return found


def _some_degree(matches: Sequence[_Match]) -> tuple[Verdict, Resolution]:
    """Whether one degree matches: the best known of those that do decides, or, where all are
    refuted, the weakest refutation."""
    settled: tuple[Verdict, ...] = ("holds", UNDECIDED)
    for verdict in settled:
        several = [each.resolution for each in matches if each.verdict == verdict]
        if several:
            return verdict, min(several, key=openness)
    return "fails", max((each.resolution for each in matches), key=openness)


def _figure(view: View, figure: str) -> Judgement:
    """Every point away from the peak; the others are counted and not judged."""
    d = grids.size(view.scale).d
    pairs = pairs_of(view, figure)
    found = _by_activation(pairs)
    every = [each for several in found.values() for each in several]
    verdict, resolution = all_of([_some_degree(several) for several in found.values()])
    if verdict == "fails" and d < PAPER_D:
        verdict = UNDECIDED  # the prediction is one for large d, and the gap falls with d
    number = sum(len(pair.away) for pair in pairs)
    chances = sorted(f"{each.chance:.3f}" for each in every)
    return Judgement(
        verdict,
        f"largest |log ratio|: {'; '.join(map(_shown, found.values()))}; {number} comparisons at "
        f"d = {d}; left out: {sum(len(pair.near) for pair in pairs)} next to the peak, "
        f"{sum(pair.ill_conditioned for pair in pairs)} ill-conditioned",
        f"for each activation a degree with which every log ratio is at most {SLIGHT:g}, which is "
        f"slight, or what finite size predicts, up to {SAME:g}",
        f"{' to '.join(sorted({chances[0], chances[-1]}))} by chance ({number} Student tests, "
        f"familywise level {LEVEL:g})",
        _note(view, verdict, every),
        *at_dimension(view),
        resolution,
    )


def _shown(matches: Sequence[_Match]) -> str:
    """The degrees with which an activation matches, and how far off each of them is."""
    words = {"holds": "matches", "fails": "does not match", UNDECIDED: "is open"}
    shown = [
        f"{word} with "
        + ", ".join(f"r = {each.pair.degree} ({each.pair.largest:.3f})" for each in several)
        for verdict, word in words.items()
        if (several := [each for each in matches if each.verdict == verdict])
    ]
    return f"{matches[0].pair.activation} {', '.join(shown)}"


def _note(view: View, verdict: Verdict, matches: Sequence[_Match]) -> str:
    """Where this d is too small for a match, which degrees lack a prediction, and what decides."""
    refuted = [each.named(each.refuting[0]) for each in matches if each.refuting]
    lacking = [each.named(each.unpredicted[0]) for each in matches if each.unpredicted]
    note = []
    if refuted:
        note += [
            f"These do not match at d = {grids.size(view.scale).d}: {_first(refuted)}. This is "
            "about this d; theorem-3 judges the limit."
        ]
    if verdict == UNDECIDED and lacking:
        note += [f"Where no gap is predicted only a slight one is a match: {_first(lacking)}."]
    if verdict == UNDECIDED:
        compared = {each.pair.activation for each in matches if each.pair.away}
        every = all(each.pair.activation in compared for each in matches)
        note += [_takes(view, bool(lacking), every)]
    return " ".join(note)


def _takes(view: View, unpredicted: bool, compared: bool) -> str:
    """Which scale decides a figure, or what it would take at the largest."""
    if view.scale == "paper" and not compared:
        return f"{NO_SCALE} That takes fits that are not ill-conditioned."
    if view.scale == "paper" and unpredicted:
        return f"{NO_SCALE} That takes a prediction of the gap for these degrees."
    return still_open(view)


def _first(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{'; '.join(names[:NAMED])}{more}"


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
        f"away from a peak, on {number} points at d = {d}; left out: "
        f"{sum(pair.ill_conditioned for pair in pairs)} ill-conditioned",
        "0 up to terms of order 1/d",
        f"1/d and chance: {' or '.join(f'{width:.2f}' for width in widths)} from the predicted "
        f"log ratio of the two models (Student, familywise level {LEVEL:g})",
        "" if decides else still_open(view),
        *at_dimension(view),
        resolution,
    )


def _degrees(figure: str) -> str:
    """The equivalent models that a figure has."""
    if figure == "2c":
        return "the equivalent models of degree 1"
    *others, last = map(str, DEGREES)
    return f"the equivalent models of one of the degrees {', '.join(others)} and {last}"


def _claims(figure: str) -> tuple[Claim, Claim]:
    name = f"{figure[0]}({figure[1]})"
    return (
        Claim(
            f"theorem-3-fig-{figure}",
            f"{DEMIR}, Figure {name}",
            f"For each activation of Figure {name} {_degrees(figure)} match the transformers at "
            "every point away from the peak: the log ratio of their errors is slight, or no larger "
            f"than finite size predicts and at most {SAME:g}.",
            lambda view: _figure(view, figure),
            (f"fig-{figure}",),
        ),
        Claim(
            f"refinement-fig-{figure}",
            "ours",
            f"At the points of Figure {name} the transformers and their equivalent models of "
            "degree 1 differ by the gap that finite size predicts, up to 1/d.",
            lambda view: _predicted(view, figure),
            (f"fig-{figure}",),
            ours=True,
        ),
    )


CLAIMS = tuple(claim for figure in FIGURES for claim in _claims(figure))
