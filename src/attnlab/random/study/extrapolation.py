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
    highest: Estimate  # the coefficient of the highest power
    coefficients: tuple[float, ...]  # of 1/d, 1/d^2 and so on
    threshold: float  # standard errors that chance allows

    @property
    def allowed(self) -> float:
        """How far the limit may be off."""
        return self.threshold * self.limit.standard_error

    @property
    def is_bent(self) -> bool:
        """Whether the highest power is there beyond chance."""
        return abs(self.highest.value) > self.threshold * self.highest.standard_error

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
    limit, highest = (
        Estimate(float(found[k]), float(np.linalg.norm(inverse[k])), freedom + 1) for k in (0, -1)
    )
    threshold = student_threshold(freedom, comparisons)
    return Extrapolated(limit, highest, tuple(map(float, found[1:])), threshold)


def decided(
    straight: Sequence[Extrapolated], curved: Sequence[Extrapolated]
) -> tuple[Verdict, list[Extrapolated]]:
    """Whether all limits are 0, and the fits that say so.

    The line in 1/d is used where the points lie on one up to chance, and the fit with a term in
    1/d² where they do not. A limit of a line is refuted only where that term does not explain it.

    Parameters
    ----------
    straight, curved
        The fits of the same points without and with a term in 1/d².
    """
    pairs = list(zip(straight, curved, strict=True))
    used = [curve if curve.is_bent else line for line, curve in pairs]
    if all(fit.vanishes for fit in used):
        return "holds", used
    refuted = any(
        not fit.vanishes and not curve.vanishes for fit, curve in zip(used, curved, strict=True)
    )
    return "fails" if refuted else UNDECIDED, used


def with_common_relative_error(points: Sequence[Estimate]) -> list[Estimate]:
    """The same values with one relative standard error, the root mean square of theirs.

    A few samples say little about the spread at one dimension; distances of the same kind have
    about the same relative spread at all of them.
    """
    square = float(np.mean([(point.standard_error / point.value) ** 2 for point in points]))
    return [Estimate(p.value, abs(p.value) * math.sqrt(square), p.samples) for p in points]
