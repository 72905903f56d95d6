"""Theorem 3 at the dimension of the figures: transformers and equivalents at their points.

The text gives no degree: it depends on the activation, and a small one suffices. A figure matches
if for each activation the equivalent model of one degree matches the transformer at every point.
Two errors match if their log ratio is slight, and it must be known to be below `SAME`. Points next
to the peak scatter more than the others: they are tested with their own spread, and the resolution
is that of the others. That a gap is the one that finite size predicts is a claim of ours beside it.

The text gives no context lengths for Figure 2(a) either. Where the shortest of ours are what
refutes it, the figure holds for the others, from `SHORT` d on.
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
SHORT = 0.5  # l/d from which on Figure 2(a) is asked for where its shortest contexts refute it


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
        found = [(point, SLIGHT + chance) for point, chance in self.points]
        return sorted((e for e in found if e[0].size > e[1]), key=lambda e: e[1] / e[0].size)

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
    if seen.suffices and len(pair.away) == points:
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


class _Matches(NamedTuple):
    """The verdict on every degree of every activation, and what follows for the figure."""

    pairs: list[Pair]
    by_activation: dict[str, list[_Match]]
    verdict: Verdict
    resolution: Resolution

    @property
    def every(self) -> list[_Match]:
        """Of all activations and degrees."""
        return [each for several in self.by_activation.values() for each in several]


def _matches(view: View, figure: str, shortest: float = 0.0) -> _Matches:
    """At the context lengths from a multiple of d on, of which Figure 2(a) alone has several."""
    pairs = pairs_of(view, figure, shortest)
    found = _by_activation(pairs)
    verdict, resolution = all_of([_some_degree(several) for several in found.values()])
    return _Matches(pairs, found, verdict, resolution)


def _figure(view: View, figure: str) -> Judgement:
    """Every point; fits that are ill-conditioned are named and not judged."""
    d = grids.size(view.scale).d
    found = _matches(view, figure)
    verdict, resolution = found.verdict, found.resolution
    note = _note(view, figure, found)
    if verdict == "fails" and d < PAPER_D:
        verdict = UNDECIDED  # the gap falls with d
        note = f"{note} {still_open(view)}"
    elif verdict == "fails" and figure == "2a":
        longer = _matches(view, figure, SHORT)
        if longer.verdict == "holds":
            verdict, resolution = "holds as corrected", longer.resolution
            note = (
                f"As corrected: at every l from {SHORT:g} d on, where "
                f"{'; '.join(map(_shown, longer.by_activation.values()))}. {note} The text gives "
                "no context lengths; refinement-fig-2a has what finite size predicts."
            )
    number = _comparisons(found.pairs)
    away = sorted(f"{each.chance:.3f}" for each in found.every)
    near = sorted(f"{each.near_chance:.3f}" for each in found.every if each.pair.near)
    near_words = f", {_from_to(near)} next to the peak" if near else ""
    return Judgement(
        verdict,
        "largest |log ratio| away from the peak: "
        f"{'; '.join(map(_shown, found.by_activation.values()))}; {number} comparisons at d = {d}, "
        f"{sum(len(pair.near) for pair in found.pairs)} of them next to the peak; "
        f"{left_out(found.pairs)}",
        f"for each activation a degree with which every log ratio is at most {SLIGHT:g}, which is "
        f"slight; {SAME:g} must be told from that",
        f"{_from_to(away)} by chance{near_words} ({number} Student tests, familywise level "
        f"{LEVEL:g})",
        note,
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


def _note(view: View, figure: str, found: _Matches) -> str:
    """Where this d is too small for a match, and what decides."""
    refuted = [each.named(each.refuting[0][0]) for each in found.every if each.refuting]
    note = []
    if refuted:
        note += [
            f"These do not match at d = {grids.size(view.scale).d}: {_first(refuted)}. This is "
            "about this d; theorem-3 judges the limit."
        ]
    if found.verdict == UNDECIDED:
        note += [_takes(view, figure, found.by_activation)]
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
    return still_open(view)


def _runs_needed(found: _Match) -> int | None:
    """With how many runs for each point chance would leave the points of a degree below `SAME`."""
    room = SAME - max(SLIGHT, found.pair.largest)
    if found.verdict != UNDECIDED or not found.pair.away or room <= 0:
        return None
    runs = found.pair.away[0].ratio.samples or 1
    return math.ceil(runs * (found.chance / room) ** 2)


def _first(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{'; '.join(names[:NAMED])}{more}"


def _degrees(figure: str) -> str:
    """The equivalent models that a figure has."""
    *others, last = map(str, (DEGREES[0], DEGREES[-1]) if figure == "2c" else DEGREES)
    return f"the equivalent models of one of the degrees {', '.join(others)} and {last}"


def _claim(figure: str) -> Claim:
    name = f"{figure[0]}({figure[1]})"
    return Claim(
        f"theorem-3-fig-{figure}",
        f"{DEMIR}, Figure {name}",
        f"For each activation of Figure {name} {_degrees(figure)} match the transformers at every "
        f"point: the log ratio of their errors is slight, and is told from {SAME:g} (next to the "
        "peak: from what chance allows).",
        lambda view: _figure(view, figure),
        (f"fig-{figure}",),
    )


CLAIMS = tuple(map(_claim, FIGURES))
