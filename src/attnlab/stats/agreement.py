"""Whether two numbers agree within their standard errors.

The law: if both numbers estimate the same quantity, their difference over its standard error is
standard normal, or Student's t where the standard error comes from few samples. The numbers
disagree where that ratio is beyond the threshold of `attnlab.stats.levels`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from attnlab.stats.estimate import Estimate
from attnlab.stats.levels import LEVEL, normal_threshold, student_threshold

FEW = 100  # samples, below which Student's law is not the normal one to the digits we show


@dataclass(frozen=True)
class Comparison:
    """A difference, its standard error, and how many standard errors it may be off."""

    difference: float
    standard_error: float
    threshold: float

    @property
    def allowed(self) -> float:
        """The largest difference that counts as agreement; the smallest that would be noticed."""
        return self.threshold * self.standard_error

    @property
    def agrees(self) -> bool:
        """Whether the difference is within what is allowed; never where it is not finite."""
        return math.isfinite(self.difference) and abs(self.difference) <= self.allowed

    @property
    def z(self) -> float:
        """The difference in standard errors; 0 where two exact numbers are equal."""
        if self.difference == 0:
            return 0.0
        return self.difference / self.standard_error if self.standard_error else math.inf


def agree(
    first: Estimate,
    second: Estimate | float,
    comparisons: int = 1,
    level: float = LEVEL,
    slack: float = 0.0,
) -> Comparison:
    """Compare two independent estimates, or an estimate with an exact number.

    Parameters
    ----------
    first, second
        The two numbers; a float is exact.
    comparisons
        How many comparisons share the level.
    level
        Probability that any of them refuses a true statement.
    slack
        A known bias, such as the next order of an expansion; the difference is reduced by it.
    """
    other = second if isinstance(second, Estimate) else Estimate(float(second))
    error = math.hypot(first.standard_error, other.standard_error)
    samples = [e.samples for e in (first, other) if e.samples is not None and e.standard_error > 0]
    freedom = min(samples) - 1 if samples else 0
    few = 0 < freedom < FEW
    threshold = (
        student_threshold(freedom, comparisons, level)
        if few
        else normal_threshold(comparisons, level)
    )
    difference = first.value - other.value
    if slack:
        difference = math.copysign(max(abs(difference) - slack, 0.0), difference)
    return Comparison(difference, error, threshold)
