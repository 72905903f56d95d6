"""Log ratios of errors at several points, each of them below 0, above 0 or open.

A point is decided if it is further from 0 than chance allows: a Student test in which points of the
same spread share one standard error, at a level that all points share (Bonferroni). Points near a
peak scatter more than the others, those at the peak most, and are pooled by themselves.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attnlab.lab.study import UNDECIDED, Resolution, Verdict, View, openness
from attnlab.random.study import grids, results
from attnlab.random.study.panels import PSIS, TAUS, TargetName
from attnlab.stats import LEVEL, Estimate, student_threshold

NEAR = (0.8, 1.3)  # n/d² or m/n around a peak
LOG_RATIO = "of the log ratio"


@dataclass(frozen=True)
class Signs:
    """Log ratios by the name of their point, and how far each may be from 0 by chance.

    `tests` is the number of tests that share the level, where it is not that of the points.
    """

    points: Mapping[str, Estimate]
    allowed: Mapping[str, float]
    tests: int | None = None

    @property
    def below(self) -> list[str]:
        """Where the ratio is below 1 beyond chance."""
        return [at for at, point in self.points.items() if point.value < -self.allowed[at]]

    @property
    def above(self) -> list[str]:
        """Where the ratio is above 1 beyond chance."""
        return [at for at, point in self.points.items() if point.value > self.allowed[at]]

    @property
    def verdict(self) -> Verdict:
        """Of the statement that all ratios are below 1."""
        if self.above:
            return "fails"
        return "holds" if len(self.below) == len(self.points) else UNDECIDED

    @property
    def tolerance(self) -> str:
        """How far the points may be off."""
        widths = sorted(set(self.allowed.values()))
        here = f", {len(self.points)} of them here" if self.tests else ""
        return (
            f"{self.tests or len(self.points)} Student tests at familywise level {LEVEL:g}{here}: "
            "a log ratio may be "
            f"{' or '.join(f'{width:.2f}' for width in widths)} from 0 by chance"
        )

    @property
    def resolution(self) -> Resolution:
        """What decides that all ratios are below 1: the clearest refutation, or all points."""
        return self.clearest(self.above) if self.above else self.weakest(self.points)

    def clearest(self, among: Iterable[str]) -> Resolution:
        """What would have been noticed at the one of some points that is least open."""
        return min((self._at(at) for at in among), key=openness)

    def weakest(self, among: Iterable[str]) -> Resolution:
        """What would have been noticed at the one of some points that is closest to being open."""
        return max((self._at(at) for at in among), key=openness)

    def _at(self, at: str) -> Resolution:
        return Resolution(self.allowed[at], abs(self.points[at].value), LOG_RATIO)

    def range(self) -> str:
        """Smallest and largest log ratio."""
        values = [point.value for point in self.points.values()]
        return f"{min(values):+.3f} to {max(values):+.3f}"


def signs(*groups: Mapping[str, Estimate]) -> Signs:
    """Points in groups, each with one standard error for all its points."""
    used = [group for group in groups if group]
    number = sum(map(len, used))
    points: dict[str, Estimate] = {}
    allowed: dict[str, float] = {}
    for group in used:
        several = list(group.values())
        error = math.sqrt(statistics.fmean(point.standard_error**2 for point in several))
        threshold = student_threshold(results.freedom(several), number)
        points |= group
        allowed |= dict.fromkeys(group, threshold * error)
    return Signs(points, allowed)


def below_everywhere(values: Iterable[float]) -> Verdict:
    """The verdict of the limit law about "below 0 at every point"."""
    return "holds" if max(values) < 0 else "fails"


def is_near(ratio: float) -> bool:
    """Whether n/d² or m/n is close to the peak at 1."""
    return NEAR[0] < ratio < NEAR[1]


def law_table(view: View, name: str) -> dict[tuple[str, float], Any]:
    """The law's numbers by model and place."""
    return {(row.model, row.at): row for row in results.table(view, grids.law_numbers(), name)}


def law_ratios(view: View, name: str, first: str, second: str) -> dict[float, float]:
    """log(first / second) in the limit, by place."""
    rows = law_table(view, name)
    return {
        at: math.log(row.value / rows[second, at].value)
        for (model, at), row in rows.items()
        if model == first
    }


def samples_rows(view: View, target: TargetName, model: str) -> dict[float, list[Any]]:
    """The runs of one model of Figure 1 by n/d²."""
    found = results.by_place(view, grids.panel_runs("n", view.scale, view.seed, target=target))
    rows = [rows for place, rows in found.items() if place.model == model]
    return dict(zip(TAUS, rows, strict=True))


def length_rows(view: View, alpha: float) -> dict[str, list[Any]]:
    """The runs of Figure 2(a) at one length, by model."""
    cells = grids.panel_runs("length", view.scale, view.seed, alpha=alpha)
    return {place.model: rows for place, rows in results.by_place(view, cells).items()}


def width_rows(view: View, model: str) -> dict[float, list[Any]]:
    """The runs of one model of Figure 2(b) by m/n."""
    found = results.by_place(view, grids.panel_runs("width", view.scale, view.seed))
    rows = [rows for place, rows in found.items() if place.model == model]
    return dict(zip(PSIS, rows, strict=True))


def against_samples(view: View, target: TargetName, first: str, second: str) -> Signs:
    """log(first / second) in simulation at every n of Figure 1."""
    ones, others = samples_rows(view, target, first), samples_rows(view, target, second)
    away, near, peak = {}, {}, {}
    for tau in TAUS:
        group = peak if tau == 1 else near if is_near(tau) else away
        group[f"{tau:g} d²"] = results.log_ratio(ones[tau], others[tau])
    return signs(away, near, peak)


def typical(
    view: View,
    target: TargetName,
    first: str,
    second: str,
    middle: Callable[[Sequence[float]], float] = statistics.median,
) -> list[float]:
    """The median over n of log(first / second) in Figure 1, one number for each run.

    The median, because at n = d (d + 1) linear attention alone is at its peak.
    """
    ones, others = samples_rows(view, target, first), samples_rows(view, target, second)
    runs = range(len(ones[TAUS[0]]))
    return [
        middle([math.log(ones[tau][run].icl / others[tau][run].icl) for tau in TAUS])
        for run in runs
    ]


def law_typical(view: View, target: TargetName, first: str, second: str) -> float:
    """The median over n of log(first / second) in the limit."""
    return statistics.median(law_ratios(view, f"{target} target", first, second).values())


def one_sign(value: Estimate) -> Signs:
    """A single number, tested by itself."""
    return signs({"": value})
