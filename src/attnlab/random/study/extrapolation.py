"""Limits at infinite dimension: polynomials in 1/d through points with standard errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from attnlab.lab.study import Verdict
from attnlab.stats import Estimate, student_threshold

LEAST = 1e-12  # of a standard error


class Extrapolated(NamedTuple):
    """The limit of a polynomial in 1/d, and how far it may be off by chance."""

    limit: Estimate
    threshold: float  # standard errors that chance allows

    @property
    def allowed(self) -> float:
        """How far the limit may be off."""
        return self.threshold * self.limit.standard_error

    @property
    def vanishes(self) -> bool:
        """Whether the limit is 0 up to chance."""
        return abs(self.limit.value) <= self.allowed


def extrapolated(
    sizes: Sequence[int], points: Sequence[Estimate], degree: int = 1, comparisons: int = 1
) -> Extrapolated:
    """Least squares of a + b/d + ... + c/d^degree, weighted by the standard errors of the points.

    Parameters
    ----------
    sizes, points
        The dimensions, and the estimate at each of them.
    degree
        Of the polynomial in 1/d.
    comparisons
        How many limits a claim tests; they share its level.
    """
    errors = np.maximum([point.standard_error for point in points], LEAST)
    weights = limit_weights(sizes, errors, degree)
    value = float(weights @ np.array([point.value for point in points]))
    freedom = _freedom(np.square(weights * errors), points)
    limit = Estimate(value, float(np.linalg.norm(weights * errors)), freedom + 1)
    threshold = student_threshold(freedom, comparisons)
    return Extrapolated(limit, threshold)


def limit_weights(
    sizes: Sequence[int], errors: Sequence[float] | np.ndarray, degree: int
) -> np.ndarray:
    """How much each dimension counts in the limit a of a + b/d + ... + c/d^degree.

    Parameters
    ----------
    sizes, errors
        The dimensions, and the standard error at each of them.
    degree
        Of the polynomial in 1/d.
    """
    least = np.maximum(errors, LEAST)
    powers = np.vander(1 / np.asarray(sizes, float), degree + 1, increasing=True)
    scaled = powers / least[:, None]
    # Powers of 1/d differ by orders of magnitude; columns of norm one keep the solution accurate.
    norms = np.linalg.norm(scaled, axis=0)
    return np.linalg.pinv(scaled / norms)[0] / norms[0] / least


def _freedom(parts: np.ndarray, points: Sequence[Estimate]) -> int:
    """Degrees of freedom behind a variance that is the sum of parts, one per point.

    By Welch and Satterthwaite: (sum of the parts)² over the sum of part²/(n - 1), since dimensions
    have different numbers of runs n. The point with most of the variance counts most.
    """
    own = np.maximum([(point.samples or 1) - 1 for point in points], 1)
    return max(int(parts.sum() ** 2 / np.sum(parts**2 / own)), 1)


@dataclass(frozen=True)
class Limit:
    """The limit of a series by a + b/d + c/d², and by the line a + b/d, which decides nothing.

    A line has a smaller standard error and no room for a term in 1/d²; where such a term is there
    and too small to be seen, its limit is off by more than its standard error says.
    """

    curve: Extrapolated
    line: Extrapolated

    def __str__(self) -> str:
        limit, line = self.curve.limit, self.line.limit
        return (
            f"{limit.value:+.3f} ± {limit.standard_error:.3f} (by a line {line.value:+.3f} ± "
            f"{line.standard_error:.3f})"
        )


def limit_of(sizes: Sequence[int], points: Sequence[Estimate], comparisons: int) -> Limit:
    """The limit of a series at three dimensions or more; a claim tests several, or one."""
    curve, line = (extrapolated(sizes, points, degree, comparisons) for degree in (2, 1))
    return Limit(curve, line)


def all_vanish(limits: Sequence[Limit]) -> Verdict:
    """Whether all limits are 0 up to chance, by the curves."""
    return "holds" if all(each.curve.vanishes for each in limits) else "fails"


def known_to(limits: Sequence[Limit]) -> float:
    """What would have been noticed: of the limit that refutes most clearly, or of all."""
    refuting = [each.curve.allowed for each in limits if not each.curve.vanishes]
    return min(refuting) if refuting else max(each.curve.allowed for each in limits)


def with_common_relative_error(points: Sequence[Estimate]) -> list[Estimate]:
    """The same values with one relative standard error, the root mean square of theirs.

    A few samples say little about the spread at one dimension; distances of the same kind have
    about the same relative spread at all of them.
    """
    square = float(np.mean([(point.standard_error / point.value) ** 2 for point in points]))
    return [Estimate(p.value, abs(p.value) * math.sqrt(square), p.samples) for p in points]
