"""How far orthonormal pairs are from independent ones: the remark on the distance after Theorem 2.

Source: Amsel, Yehudai, Bruna (arXiv 2407.16153), Section 4. Of two independent points keep x_1 and
replace x_2 = t x_1 + sqrt(1 - t^2) w by w: the pair becomes uniform orthonormal, and the distance
moved is sqrt(2 - 2 sqrt(1 - t^2)). Its mean bounds Wasserstein's distance W_1 from above. From
below, x_1.x_2 has the Lipschitz constant sqrt(2) on pairs of unit vectors and differs by E|t| in
the mean of its absolute value.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import special

from attnlab import arguments


class PairDistance(NamedTuple):
    """Bounds on W_1 between the two laws of a pair."""

    below: float
    above: float


def pair_distance(d: int) -> PairDistance:
    """W_1 is between E|t| / sqrt(2) and E sqrt(2 - 2 sqrt(1 - t^2)), t one coordinate."""
    d = arguments.integer("d", d, 3)
    u, weights = special.roots_jacobi(64, (d - 3) / 2, 0.0)  # s = t^2 has weight s^-1/2 (1-s)^.
    s = (1 + u) / 2
    t = np.sqrt(s)
    mean = math.exp(math.lgamma(d / 2) - math.lgamma((d + 1) / 2)) / math.sqrt(math.pi)
    # sum(weights) belongs to E|t|: the density of s is proportional to s^-1/2 (1 - s)^((d-3)/2).
    share = weights / weights.sum() * mean
    moved = np.sqrt(2 - 2 * np.sqrt(1 - s)) / t
    return PairDistance(mean / math.sqrt(2), float(share @ moved))
