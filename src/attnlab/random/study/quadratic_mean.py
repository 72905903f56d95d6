"""The quadratic mean of several limits: whether all of them are 0, where no signs can cancel.

Points of one run share its prompts, so that their log ratios are correlated. With S_d for their
sample covariance over the n_d runs at dimension d, and c_d for the weight of that dimension in the
limit, the limits x = sum_d c_d mean_d have the covariance C = sum_d c_d^2 S_d / n_d. If all limits
are 0, |x|^2 is a sum of squares of normal variables weighted by the eigenvalues of C, and tr C is
estimated beside it with degrees of freedom by Welch and Satterthwaite. The tail of that ratio is
taken by a saddlepoint (Kuonen, Biometrika 86, 1999): a chi-square law with the same first two
moments is off by a factor of 2 to 5 at the levels that are used here, a saddlepoint by a tenth.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from attnlab.random.study.extrapolation import limit_weights
from attnlab.stats import LEVEL

LEAST = 1e-24  # of a variance: points without any spread have an exact limit


@dataclass(frozen=True)
class QuadraticMean:
    """The quadratic mean of the limits of several points, and what chance makes of it.

    Parameters
    ----------
    limits
        The limit of every point.
    covariances
        By dimension, c_d^2 S_d for one run.
    runs
        By dimension, the number of runs.
    tail
        The probability with which chance alone may exceed `critical`.
    """

    limits: np.ndarray
    covariances: Mapping[int, np.ndarray]
    runs: Mapping[int, int]
    tail: float

    @property
    def value(self) -> float:
        """The quadratic mean of the limits."""
        return math.sqrt(np.mean(np.square(self.limits)))

    @cached_property
    def eigenvalues(self) -> np.ndarray:
        """Of the covariance of the limits, the largest last."""
        total = sum(self.covariances[d] / n for d, n in self.runs.items())
        return np.maximum(np.linalg.eigvalsh(total), LEAST)

    @property
    def freedom(self) -> float:
        """Degrees of freedom behind the trace of the covariance."""
        parts = [
            np.sum(np.square(self.covariances[d] / n)) / max(n - 1, 1) for d, n in self.runs.items()
        ]
        return float(self.eigenvalues.sum() ** 2 / max(sum(parts), LEAST**2))

    @cached_property
    def critical(self) -> float:
        """What chance exceeds with probability `tail` if all limits are 0."""
        from scipy.optimize import root_scalar

        total = self.eigenvalues.sum()
        weights, freedom = self.eigenvalues / total, self.freedom

        def excess(logarithm: float) -> float:
            return math.log(ratio_tail(weights, freedom, math.exp(logarithm)) / self.tail)

        high = 2.0
        while excess(high) > 0:
            high *= 2
        ratio = math.exp(root_scalar(excess, bracket=(math.log(2), high), method="brentq").root)
        return math.sqrt(ratio * total / len(weights))

    @property
    def vanishes(self) -> bool:
        """Whether all limits are 0 up to chance."""
        return self.value <= self.critical

    @property
    def allowed(self) -> float:
        """The quadratic mean that is noticed with probability one half, in the worst direction.

        Limits along the direction in which chance moves them most have a square that is below its
        own half of the time; the other directions add their variances.
        """
        others = self.eigenvalues[:-1].sum() / len(self.eigenvalues)
        return math.sqrt(self.critical**2 - others)

    def with_runs(self, d: int, number: int) -> QuadraticMean:
        """The same spread with another number of runs at one dimension."""
        return QuadraticMean(
            self.limits, self.covariances, {**self.runs, d: number}, tail=self.tail
        )


def quadratic_mean(
    sizes: Sequence[int],
    points: Sequence[Sequence[Sequence[float]]],
    comparisons: int,
    level: float = LEVEL,
) -> QuadraticMean:
    """The quadratic mean of the limits of a + b/d + c/d² at several points.

    Parameters
    ----------
    sizes
        The dimensions.
    points
        By dimension and point, the values over runs; all points of a run have its place.
    comparisons
        How many tests a claim has; they share its level.
    level
        Of the claim.
    """
    values = [np.asarray(each, float) for each in points]
    runs = {d: each.shape[1] for d, each in zip(sizes, values, strict=True)}
    spread = [np.atleast_2d(np.cov(each)) for each in values]
    errors = [
        math.sqrt(np.trace(S) / len(S) / n) for S, n in zip(spread, runs.values(), strict=True)
    ]
    weights = limit_weights(sizes, errors, degree=2)
    limits = sum(c * each.mean(1) for c, each in zip(weights, values, strict=True))
    covariances = {d: c**2 * S for d, c, S in zip(sizes, weights, spread, strict=True)}
    return QuadraticMean(np.asarray(limits), covariances, runs, level / comparisons)


def ratio_tail(weights: np.ndarray, freedom: float, ratio: float) -> float:
    """The probability that a weighted sum of squares exceeds a multiple of its estimated mean.

    Pr[sum_i w_i Z_i² > ratio X / freedom] for independent normal Z_i and a chi-square X, by the
    saddlepoint of their difference; for ratios above the mean of the sum.

    Parameters
    ----------
    weights
        w_i, positive.
    freedom
        The degrees of freedom of X.
    ratio
        Above sum_i w_i.
    """
    from scipy.optimize import root_scalar
    from scipy.special import ndtr

    factors = np.append(weights, -ratio / freedom)
    counts = np.append(np.ones(len(weights)), freedom)

    def slope(t: float) -> float:
        return float(np.sum(counts * factors / (1 - 2 * t * factors)))

    end = (1 - 1e-12) / (2 * np.max(weights))
    t = float(root_scalar(slope, bracket=(0.0, end), method="brentq").root)
    generating = -0.5 * float(np.sum(counts * np.log1p(-2 * t * factors)))
    curvature = 2 * float(np.sum(counts * np.square(factors / (1 - 2 * t * factors))))
    w, u = math.sqrt(-2 * generating), t * math.sqrt(curvature)
    return float(ndtr(-(w + math.log(u / w) / w)))
