"""What finite samples of Gaussian variables show of the distances in Lemma 1 and Corollary 2.

A distance that is estimated from N samples is not 0 for a Gaussian law. If M is the distance that
is measured and F its mean for Gaussian samples, then sqrt(M² - F²) is close to the distance of the
law: for scale mixtures of Gaussians with 4000 samples it is off by a few thousandths for
Kolmogorov's distance and by a few hundredths for the largest excess kurtosis of all projections.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from attnlab.random.gaussianity import kolmogorov
from attnlab.stats import Estimate

ANGLES = 8  # projections of a pair in `gaussianity.joint_with_index`
DRAWS = 200  # pairs of Gaussian samples behind their means; these are known to a few per cent
MOST = 4000  # samples of each of them; of more both fall as 1/sqrt(N), up to a tenth
SEED = 20250915


class Floor(NamedTuple):
    """The mean distances of Gaussian samples."""

    kolmogorov: float
    kurtosis: float


def floor_of(statement: str, prompts: int, row: Any) -> Floor:
    """The distances that Gaussian samples of the same number show in the place of a stored row.

    Lemma 1 has Kolmogorov's distance of single samples, whose law is known, and an average
    kurtosis. Corollary 2 has the largest of several projections of a whitened pair.
    """
    if statement != "corollary-2":
        return Floor(row.floor, 0.0)
    few = min(prompts, MOST)
    return Floor(*(each * math.sqrt(few / prompts) for each in gaussian_pairs(few)))


@functools.cache
def gaussian_pairs(prompts: int) -> Floor:
    """The largest distances over all projections of whitened Gaussian pairs, by simulation."""
    rng = np.random.default_rng(SEED)
    theta = np.pi * np.arange(ANGLES) / ANGLES
    axes = np.stack([np.cos(theta), np.sin(theta)], axis=1)
    found = []
    for _ in range(DRAWS):
        pair = rng.standard_normal((2, prompts))
        centred = pair - pair.mean(1, keepdims=True)
        views = axes @ np.linalg.solve(np.linalg.cholesky(np.cov(pair)), centred)
        kurtosis = np.mean(np.square(np.square(views)), axis=1) - 3
        found.append((max(map(kolmogorov, views)), float(kurtosis.max())))
    return Floor(*(float(each) for each in np.mean(found, axis=0)))


def beyond(measured: Estimate, floor: float) -> Estimate:
    """sqrt(M² - F²), negative where M is below F, with its standard error.

    Next to 0 the root has no derivative; its standard error is then that of a distance as large as
    M² - F² may be by chance.
    """
    if not floor:
        return measured
    square = measured.value * abs(measured.value) - floor**2
    root = math.copysign(math.sqrt(abs(square)), square)
    error = abs(measured.value) * measured.standard_error
    least = max(abs(root), math.sqrt(error))
    return Estimate(root, error / least if least else 0.0, measured.samples)
