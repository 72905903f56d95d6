"""Theorem 3 at the dimension of the figures: transformers and equivalents at their points.

The text gives no degree: it depends on the activation, and a small one suffices. A figure matches
if for each activation the equivalent model of one degree matches the transformer at every point.
Two errors match if their log ratio is slight, or no larger than the gap that the refinement
predicts at finite d and that vanishes in the limit; a log ratio of `SAME` must be told from that.
Points next to the peak scatter more than the others: they are tested with their own spread, and the
resolution is that of the others. That the gap is the predicted one, with its sign, is a claim of
ours beside it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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
from attnlab.random.study.claims_theory import DEMIR
from attnlab.random.study.comparisons import LOG_RATIO
from attnlab.random.study.evidence import PAPER_D, at_dimension, still_open
from attnlab.random.study.figure_points import Pair, Point, left_out, pairs_of
from attnlab.random.study.limits_by_degree import SAME
from attnlab.random.study.panels import DEGREES
from attnlab.stats import LEVEL

PANEL_OF = {"1a": "n", "1b": "n", "2a": "length", "2b": "width", "2c": "ridge"}
FIGURES = tuple(PANEL_OF)
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
    chance: float  # away from the peak
    near_chance: float  # next to it
    verdict: Verdict
    resolution: Resolution

    @property
    def points(self) -> list[tuple[Point, float]]:
        """Every point, and how far it may be off by chance."""
        away, near = ((each, self.chance) for each in self.pair.away), self.pair.near
        return [*away, *((each, self.near_chance) for each in near)]

    @property
    def refuting(self) -> list[tuple[Point, float]]:
        """The points at which the two do not match with their resolution, the clearest first."""
        found = [(p, refuted_from(p) + chance) for p, chance in self.points]
        return sorted((e for e in found if e[0].size > e[1]), key=lambda e: e[1] / e[0].size)

    @property
    def unpredicted(self) -> list[Point]:
        """The points that would match only if a gap were predicted there, and none is."""
        return [
            point
            for point, chance in self.points
            if allowed(point) + chance < point.size <= refuted_from(point) + chance
        ]

    def named(self, point: Point) -> str:
        """The degree, where it is compared, and what is found and predicted there."""
        gap = "not predicted" if point.predicted is None else f"predicted {point.predicted:+.3f}"
        return (
            f"{self.pair.activation} with r = {self.pair.degree} at {point.at} (log ratio "
            f"{point.ratio.value:+.3f}, {gap})"
        )


def _match(pair: Pair, comparisons: int, points: int) -> _Match:
    """The verdict on one degree, which must be compared at as many points away from the peak as any
    other degree.

    Points away from the peak share one standard error, and so do those next to it; the level is
    shared by all comparisons of the figure. What may be hidden is what is slight, or what is found
    where that is more, and what chance allows.
    """
    if not pair.away:
        return _Match(pair, 0.0, 0.0, UNDECIDED, Resolution(math.inf, SAME, LOG_RATIO))
    chance, near_chance = (_chance(each, comparisons) for each in (pair.away, pair.near))
    seen = Resolution(max(SLIGHT, pair.largest) + chance, SAME, LOG_RATIO)
    found = _Match(pair, chance, near_chance, UNDECIDED, seen)
    if found.refuting:
        point, noticed = found.refuting[0]
        seen = Resolution(noticed, point.size, LOG_RATIO)
        return found._replace(verdict="fails", resolution=seen)
    if seen.suffices and not found.unpredicted and len(pair.away) == points:
        return found._replace(verdict="holds")
    return found


def _chance(points: Sequence[Point], comparisons: int) -> float:
    """How far points of the same spread may be off by chance."""
    if not points:
        return 0.0
    error, threshold = results.pooled([point.ratio for point in points], comparisons)
    return threshold * error


def _by_activation(pairs: Sequence[Pair]) -> dict[str, list[_Match]]:
    """The verdict on every degree."""
    comparisons = _comparisons(pairs)
    found: dict[str, list[_Match]] = {}
    for pair in pairs:
        points = max(len(each.away) for each in pairs if each.activation == pair.activation)
        found.setdefault(pair.activation, []).append(_match(pair, comparisons, points))
    return found


def _comparisons(pairs: Sequence[Pair]) -> int:
    return sum(len(pair.away) + len(pair.near) for pair in pairs)


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
    """Every point; fits that are ill-conditioned are named and not judged."""
    d = grids.size(view.scale).d
    pairs = pairs_of(view, figure)
    found = _by_activation(pairs)
    every = [each for several in found.values() for each in several]
    verdict, resolution = all_of([_some_degree(several) for several in found.values()])
    if verdict == "fails" and d < PAPER_D:
        verdict = UNDECIDED  # the prediction is one for large d, and the gap falls with d
    number = _comparisons(pairs)
    away = sorted(f"{each.chance:.3f}" for each in every)
    near = sorted(f"{each.near_chance:.3f}" for each in every if each.pair.near)
    near_words = f", {_from_to(near)} next to the peak" if near else ""
    return Judgement(
        verdict,
        f"largest |log ratio| away from the peak: {'; '.join(map(_shown, found.values()))}; "
        f"{number} comparisons at d = {d}, {sum(len(pair.near) for pair in pairs)} of them next to "
        f"the peak; {left_out(pairs)}",
        f"for each activation a degree with which every log ratio is at most {SLIGHT:g}, which is "
        f"slight, or what finite size predicts; {SAME:g} must be told from that",
        f"{_from_to(away)} by chance{near_words} ({number} Student tests, familywise level "
        f"{LEVEL:g})",
        _note(view, figure, verdict, found),
        *at_dimension(view),
        resolution,
    )


def _from_to(values: Sequence[str]) -> str:
    return " to ".join(dict.fromkeys((values[0], values[-1])))


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


def _note(view: View, figure: str, verdict: Verdict, found: Mapping[str, Sequence[_Match]]) -> str:
    """Where this d is too small for a match, which degrees lack a prediction, and what decides."""
    matches = [each for several in found.values() for each in several]
    refuted = [each.named(each.refuting[0][0]) for each in matches if each.refuting]
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
        note += [_takes(view, figure, found)]
    return " ".join(note)


def _takes(view: View, figure: str, found: Mapping[str, Sequence[_Match]]) -> str:
    """Which scale decides a figure, or what it would take at the largest."""
    if view.scale != "paper":
        return still_open(view)
    for several in found.values():
        if _some_degree(several)[0] != UNDECIDED:
            continue
        if not any(each.pair.away for each in several):
            return f"{NO_SCALE} That takes fits that are not ill-conditioned."
        numbers = [number for each in several if (number := _runs_needed(each))]
        if numbers:
            have = grids.size(view.scale).runs
            return (
                f"{NO_SCALE} With this spread about {min(numbers)} runs of the panel "
                f"'{PANEL_OF[figure]}' would decide it for {several[0].pair.activation}, in place "
                f"of {have}."
            )
        if any(each.unpredicted for each in several):
            return f"{NO_SCALE} That takes a prediction of the gap for these degrees."
    return still_open(view)


def _runs_needed(found: _Match) -> int | None:
    """With how many runs for each point chance would leave the points of a degree below `SAME`."""
    room = SAME - max(SLIGHT, found.pair.largest)
    if found.verdict != UNDECIDED or found.unpredicted or not found.pair.away or room <= 0:
        return None
    runs = found.pair.away[0].ratio.samples or 1
    return math.ceil(runs * (found.chance / room) ** 2)


def _first(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{'; '.join(names[:NAMED])}{more}"


def _degrees(figure: str) -> str:
    """The equivalent models that a figure has."""
    if figure == "2c":
        return "the equivalent models of degree 1"
    *others, last = map(str, DEGREES)
    return f"the equivalent models of one of the degrees {', '.join(others)} and {last}"


def _claim(figure: str) -> Claim:
    name = f"{figure[0]}({figure[1]})"
    return Claim(
        f"theorem-3-fig-{figure}",
        f"{DEMIR}, Figure {name}",
        f"For each activation of Figure {name} {_degrees(figure)} match the transformers at every "
        "point: the log ratio of their errors is slight, or no larger than finite size predicts, "
        f"and is told from {SAME:g} (next to the peak: from what chance allows).",
        lambda view: _figure(view, figure),
        (f"fig-{figure}",),
    )


CLAIMS = tuple(map(_claim, FIGURES))
