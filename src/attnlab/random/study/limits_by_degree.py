"""log(transformer / equivalent model) of one activation and one degree, in the limit of large d.

Degree 1 is simulated at two widths and two ridges (panel `size`), the degrees 2 and 4 at four
widths (panel `degrees`, and `width` at the dimension of the figures). The limits of all points must
be 0: each by itself, which is known coarsely, and their quadratic mean, which is known better and
in which departures of opposite sign do not cancel.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attnlab.lab.study import NO_SCALE, Missing, Resolution, Verdict, View
from attnlab.random.study import grids, results
from attnlab.random.study.comparisons import LOG_RATIO
from attnlab.random.study.evidence import still_open
from attnlab.random.study.extrapolation import Limit, limit_of
from attnlab.random.study.panels import DEGREE_PSIS, width_at
from attnlab.random.study.quadratic_mean import QuadraticMean, quadratic_mean
from attnlab.stats import Estimate

SAME = 0.1  # a log ratio that must be told from 0 before two limits are called the same
IN_QUADRATIC_MEAN = f"{LOG_RATIO}, in quadratic mean over the points of an activation"
MOST = 10  # times the runs that there are, up to which a note says how many are needed

Logs = Sequence[Sequence[float]]  # log(transformer / equivalent): over runs, for each point


def panel_of(view: View, degree: int, d: int) -> str:
    """The panel whose runs are compared."""
    if degree == 1:
        return "size"
    return "width" if d == grids.size(view.scale).d else "degrees"


def dimensions(view: View, degree: int) -> tuple[int, ...]:
    """The dimensions that a scale has for a degree."""
    return grids.size(view.scale).dimensions if degree == 1 else grids.degree_dimensions(view.scale)


def logs_of(view: View, activation: str, degree: int, d: int) -> Logs:
    """A list over runs for each point."""
    model = f"{activation} r={degree}"
    if degree == 1:
        found = results.by_place(view, grids.size_runs(view.scale, view.seed, d))
        return _logs(results.pairs(found, activation, model))
    pairs = results.pairs(runs_of_degree(view, degree, d), activation, model)
    widths = {width_at(place.n, psi) for place, _, _ in pairs for psi in DEGREE_PSIS}
    return _logs([each for each in pairs if each[0].width in widths])


def runs_of_degree(view: View, degree: int, d: int) -> dict[results.Place, list[Any]]:
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


def mean_of(logs: Logs) -> Estimate:
    """The mean over points, with the standard error over runs."""
    return Estimate.of(map(statistics.fmean, zip(*logs, strict=True)))


@dataclass(frozen=True)
class DegreeLimits:
    """The limits of an activation and a degree.

    Parameters
    ----------
    activation, degree
        Which transformer, and which equivalent model.
    averages
        By dimension, the mean over points; it is shown and decides nothing.
    common
        The limit of these means, shown as well.
    single
        The limit of every point.
    quadratic
        The quadratic mean of these limits.
    """

    activation: str
    degree: int
    averages: Mapping[int, Estimate]
    common: Limit
    single: Sequence[Limit]
    quadratic: QuadraticMean

    @property
    def verdict(self) -> Verdict:
        """Whether all limits are 0 up to chance."""
        vanish = all(each.curve.vanishes for each in self.single)
        return "holds" if vanish and self.quadratic.vanishes else "fails"

    @property
    def resolution(self) -> Resolution:
        """What the quadratic mean would have noticed, or what the clearest refutation did."""
        tests = [(each.curve.allowed, abs(each.curve.limit.value)) for each in self.single]
        refuting = [(allowed, found) for allowed, found in tests if found > allowed]
        if not self.quadratic.vanishes:
            refuting.append((self.quadratic.critical, self.quadratic.value))
        if refuting:
            allowed, found = min(refuting, key=lambda each: each[0] / each[1])
            return Resolution(allowed, max(found, SAME), IN_QUADRATIC_MEAN)
        return Resolution(self.quadratic.allowed, SAME, IN_QUADRATIC_MEAN)

    @property
    def agrees(self) -> bool:
        """Whether all limits are 0, by a check that looked closely enough."""
        return self.verdict == "holds" and self.resolution.suffices

    @property
    def refuted(self) -> bool:
        """Whether some limit is not 0."""
        return self.verdict == "fails" and self.resolution.suffices

    @property
    def at_one_point(self) -> float:
        """The departure at a single point from which on that point would be noticed."""
        return max(each.curve.allowed for each in self.single)

    def __str__(self) -> str:
        values = ", ".join(f"{point.value:+.3f}" for point in self.averages.values())
        limits = ", ".join(f"{each.curve.limit.value:+.3f}" for each in self.single)
        return (
            f"{self.activation} {values} on average over the points, in the limit {self.common}; "
            f"limits of the points {limits}, in quadratic mean {self.quadratic.value:.3f}"
        )


def limits_of(view: View, activation: str, degree: int, activations: int) -> DegreeLimits:
    """The limits of one activation; all points and the quadratic mean of each activation share
    the level. Dimensions that are not stored raise `Missing`."""
    logs = {d: logs_of(view, activation, degree, d) for d in dimensions(view, degree)}
    sizes = list(logs)
    number = len(logs[sizes[0]])
    tests = activations * (number + 1)
    averages = {d: mean_of(each) for d, each in logs.items()}
    single = [
        limit_of(sizes, [Estimate.of(each[i]) for each in logs.values()], tests)
        for i in range(number)
    ]
    common = limit_of(sizes, list(averages.values()), 1)
    quadratic = quadratic_mean(sizes, list(logs.values()), tests)
    return DegreeLimits(activation, degree, averages, common, single, quadratic)


def runs_that_decide(view: View, found: DegreeLimits) -> str:
    """How many runs, of which panel, would know the quadratic mean to `SAME`.

    More of them are asked for at the dimension that adds most to the variance and has runs that no
    figure shares; where that is not enough, at every dimension.
    """
    if view.scale != "paper":
        return still_open(view)
    own = [d for d in found.averages if panel_of(view, found.degree, d) != "width"]
    seen = found.quadratic
    most = max(own, key=lambda d: seen.covariances[d].trace() / seen.runs[d])
    for number in range(seen.runs[most] + 1, MOST * seen.runs[most]):
        if seen.with_runs(most, number).allowed <= SAME:
            panel = panel_of(view, found.degree, most)
            return (
                f"{NO_SCALE} With this spread {number} runs of the panel '{panel}' at d = {most} "
                f"would decide it for {found.activation}, in place of {seen.runs[most]}."
            )
    factor = math.ceil((seen.allowed / SAME) ** 2)
    return f"{NO_SCALE} That takes {factor} times as many runs at every dimension."
