"""Straight lines through numbers with errors: powers of a size, and limits at infinite size.

All three are least squares. With standard errors the points are weighted by their inverse squares
and the errors of slope and intercept follow from them; without, they follow from the residuals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attnlab.errors import UserError
from attnlab.stats.estimate import Estimate

Numbers = Sequence[float] | np.ndarray
LEAST_ERROR = 1e-12  # of a weighted point: an exact one would take all the weight


@dataclass(frozen=True)
class Line:
    """y = intercept + slope x, with standard errors and what is left of the points.

    `chi_square` is the weighted sum of squared residuals with `freedom` degrees of freedom; it
    says something only where the points came with standard errors.
    """

    slope: float
    slope_error: float
    intercept: float
    intercept_error: float
    largest_residual: float
    chi_square: float
    freedom: int


@dataclass(frozen=True)
class Limit:
    """a + b / size: the limit a as an estimate, b, and how well the line fits.

    `freedom` counts the degrees of freedom of the fit, `limit.samples - 1` those behind the
    standard errors of its points.
    """

    limit: Estimate
    slope: float
    chi_square: float
    freedom: int


def line(x: Numbers, y: Numbers, errors: Numbers | None = None) -> Line:
    """Least squares of y = a + b x, weighted by 1 / errors^2 where errors are given."""
    across, up = np.asarray(x, float), np.asarray(y, float)
    if across.shape != up.shape or across.ndim != 1 or len(set(across.tolist())) < 2:
        raise UserError("A line needs as many y as x, with at least two different x.")
    weights = np.ones_like(across)
    if errors is not None:
        weights = np.maximum(np.asarray(errors, float), LEAST_ERROR) ** -2.0
    total = weights.sum()
    centre, middle = (weights @ across) / total, (weights @ up) / total
    square = weights @ (across - centre) ** 2
    slope = (weights * (across - centre)) @ (up - middle) / square
    left = up - middle - slope * (across - centre)
    chi_square, freedom = float(weights @ left**2), len(across) - 2
    variance = 1.0 if errors is not None else chi_square / freedom if freedom else math.nan
    return Line(
        slope=float(slope),
        slope_error=math.sqrt(variance / square),
        intercept=float(middle - slope * centre),
        intercept_error=math.sqrt(variance * (1 / total + centre**2 / square)),
        largest_residual=float(np.abs(left).max()),
        chi_square=chi_square,
        freedom=freedom,
    )


def rate(x: Numbers, y: Numbers, errors: Numbers | None = None) -> Line:
    """The power with which y changes in x: a line through log y against log x.

    `errors` are standard errors of y; those of log y follow to first order, error / y.
    """
    up = np.asarray(y, float)
    if (up <= 0).any() or (np.asarray(x, float) <= 0).any():
        raise UserError("A rate needs positive numbers, since their logarithms are fitted.")
    relative = None if errors is None else np.asarray(errors, float) / up
    return line(np.log(np.asarray(x, float)), np.log(up), relative)


def limit(sizes: Numbers, points: Sequence[Estimate]) -> Limit:
    """Extrapolate a + b / size to infinite size, the points weighted by their standard errors."""
    found = line(
        [1 / size for size in sizes],
        [point.value for point in points],
        [point.standard_error for point in points],
    )
    freedom = sum((point.samples or 1) - 1 for point in points)
    return Limit(
        Estimate(found.intercept, found.intercept_error, freedom + 1),
        found.slope,
        found.chi_square,
        found.freedom,
    )


def chi_square_tail(value: float, freedom: int) -> float:
    """Pr[chi squared with `freedom` degrees of freedom > value]."""
    from scipy.special import chdtrc

    return float(chdtrc(freedom, value))
