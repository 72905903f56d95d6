"""Theorem 4 with constants: a layer needs exponentially many heads, or weights, in d - r.

Source: Amsel, Yehudai, Bruna (arXiv 2407.16153), Theorem 4 and Remark 5. The points are orthogonal
on the sphere of radius sqrt(d) and y is normal. We take b = (0, 0), which the theorem allows: the
target is then that of Theorem 2, all squared errors are multiplied by d, and `lower_bound` applies
for every length of y.

With T the energy of the sign in degrees from L on, and rho >= D(r, l) / N(d, l) there (the rule for
the tail of `lower_bound`, r <= d - 2), m heads have an error of at least
e(m) = d T (1 - m rho) / 2.

* Heads: the error is above `error` for all m < (1 - 2 error / (d T)) / rho, whatever the weights.
* Weights: a layer with W = H max||V_h|| is the mean of layers of m heads drawn with probabilities
  ||V_h|| / sum ||V_h||; one of these is within W sqrt(d / m) of it in mean square (Maurey). Hence
  sqrt(its error) >= sqrt(e(m)) - W sqrt(d / m), and the error is above `error` for all
  W < (sqrt(e(m)) - sqrt(error)) sqrt(m / d), whatever the number of heads; m is an integer.
* Short answers: the answer has a norm of at most W sqrt(d) and the target has sqrt(d), so that the
  error is at least d (1 - W)^2 at every rank, and above `error` for all W < 1 - sqrt(error / d).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import special

from attnlab import arguments
from attnlab.rank.theory.lower_bound import check_head

ERROR = 1 / 20  # of Theorem 4, where E||f||^2 = d
DEGREES = 60_001  # the odd ones below it are summed
CUTS = 600  # of them are tried as L, evenly in the logarithm
SHARES = np.linspace(0.02, 0.98, 49)  # of m rho, over which the weights are maximised
LARGE = 30.0  # the logarithm of an m that rounding down to an integer does not change


class Needed(NamedTuple):
    """Natural logarithms of how many heads, and how much weight, leave the error above a level."""

    log_heads: float
    log_weight: float


def needed(d: int, r: int, error: float = ERROR) -> Needed:
    """No layer of heads of rank r with fewer heads, or with less H max||V_h||, has this error.

    Parameters
    ----------
    d, r
        Dimension, and rank of every head. For r > d - 2 only short answers are excluded.
    error
        The squared error of a problem with E||f||^2 = d.
    """
    d, r, _ = check_head(d, r, 1)
    error = arguments.positive("error", error)
    if error >= d:  # the answer 0 has the error d
        return Needed(-math.inf, -math.inf)
    short = math.log1p(-math.sqrt(error / d))
    if r > d - 2:
        return Needed(0.0, short)
    degrees, tails, log_dimensions = _spectrum(d)
    log_monomials = special.gammaln(r + degrees) - special.gammaln(degrees + 1) - special.gammaln(r)
    log_rho = math.log(3) + log_monomials - log_dimensions
    log_m = np.log(SHARES) - log_rho[:, None]
    small = log_m < LARGE
    whole = np.floor(np.exp(np.where(small, log_m, 0.0)))
    with np.errstate(invalid="ignore", divide="ignore"):
        log_heads = np.log1p(-2 * error / (d * tails)) - log_rho
        log_m = np.where(small, np.log(whole), log_m)
        left = np.sqrt(d * tails[:, None] * -np.expm1(log_m + log_rho[:, None]) / 2)
        log_weight = np.log(left - math.sqrt(error)) + (log_m - math.log(d)) / 2
    return Needed(max(0.0, _largest(log_heads)), max(short, _largest(log_weight)))


def printed(d: int, r: int, c1: float = 1.0, c2: float = 1.0) -> float:
    """The logarithm of exp(c1 (d - r)) / (c2 d^2), the limit of Theorem 4."""
    return c1 * (d - r) - math.log(c2) - 2 * math.log(d)


def _largest(values: np.ndarray) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.max()) if finite.size else -math.inf


@lru_cache(maxsize=16)
def _spectrum(d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Some odd degrees, the energy from each of them on, and log N(d, l)."""
    degrees = np.arange(1, DEGREES, 2, dtype=float)
    log_dimensions = (
        np.log((2 * degrees + d - 2) / (d - 2))
        + special.gammaln(degrees + d - 2)
        - special.gammaln(degrees + 1)
        - special.gammaln(d - 2)
    )
    # `maths.harmonics.log_abs_coefficient`, for all degrees at once.
    half, top = (degrees - 1) / 2, degrees + (d - 3) / 2
    log_coefficients = (
        special.gammaln(d / 2)
        - math.log(math.pi) / 2
        - special.gammaln(degrees + (d - 1) / 2)
        + special.gammaln(degrees)
        - (degrees - 1) * math.log(2)
        + special.gammaln(top + 1)
        - special.gammaln(half + 1)
        - special.gammaln(top - half + 1)
    )
    energies = np.exp(log_dimensions + 2 * log_coefficients)
    tails = 1 - np.concatenate([[0.0], np.cumsum(energies)[:-1]])
    cuts = np.unique(np.geomspace(1, len(degrees), CUTS).astype(int)) - 1
    return degrees[cuts], tails[cuts], log_dimensions[cuts]
