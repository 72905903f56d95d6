"""Limits at infinite dimension: polynomials in 1/d through points with standard errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from attnlab.lab.study import Verdict
from attnlab.random.study import results
from attnlab.random.study.evidence import UNDECIDED
from attnlab.stats import Estimate, student_threshold


class Extrapolated(NamedTuple):
    """The limit of a polynomial in 1/d, and how far it may be off by chance."""

    limit: Estimate
    allowed: float  # standard errors times their number
    coefficients: tuple[float, ...]  # of 1/d, 1/d^2 and so on

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
    errors = np.maximum([point.standard_error for point in points], 1e-12)
    powers = np.vander(1 / np.asarray(sizes, float), degree + 1, increasing=True)
    scaled = powers / errors[:, None]
    # Powers of 1/d differ by orders of magnitude; columns of norm one keep the solution accurate.
    norms = np.linalg.norm(scaled, axis=0)
    inverse = np.linalg.pinv(scaled / norms) / norms[:, None]
    found = inverse @ (np.array([point.value for point in points]) / errors)
    freedom = results.freedom(points)
    limit = Estimate(float(found[0]), float(np.linalg.norm(inverse[0])), freedom + 1)
    allowed = student_threshold(freedom, comparisons) * limit.standard_error
    return Extrapolated(limit, allowed, tuple(map(float, found[1:])))


def verdict_of(straight: Sequence[Extrapolated], curved: Sequence[Extrapolated]) -> Verdict:
    """Whether all limits are 0: refuted only where a term in 1/d² does not explain the departure.

    Parameters
    ----------
    straight, curved
        The fits of the same points without and with a term in 1/d².
    """
    if all(fit.vanishes for fit in straight):
        return "holds"
    lines_and_curves = zip(straight, curved, strict=True)
    beyond = any(not line.vanishes and not curve.vanishes for line, curve in lines_and_curves)
    return "fails" if beyond else UNDECIDED


def with_common_relative_error(points: Sequence[Estimate]) -> list[Estimate]:
    """The same values with one relative standard error, the root mean square of theirs.

    A few samples say little about the spread at one dimension; distances of the same kind have
    about the same relative spread at all of them.
    """
    square = float(np.mean([(point.standard_error / point.value) ** 2 for point in points]))
    return [Estimate(p.value, abs(p.value) * math.sqrt(square), p.samples) for p in points]
