"""The error of a majority vote of random rank-1 heads: an exact law, and its rate.

Source: Amsel, Yehudai, Bruna (arXiv 2407.16153), Theorems 7 and 34. The networks that vote are in
`models.majority_vote` and `models.vote_by_mlp`; both have this error.
"""

import math

import numpy as np
from scipy import special

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.maths.harmonics import marginal_constant
from attnlab.stats import Estimate


def majority_vote_error(d: int, heads: int) -> Estimate:
    """The error of the vote, exactly, averaged over uniform directions: 2 P(wrong), H odd.

    Given the angle between x_1 - x_2 and y, each head is right independently with probability
    1/2 + asin|t| / pi, so the number of right votes is binomial; t is one coordinate of a uniform
    point, and E||x_1 - x_2||^2 = 2 is independent of it. The Monte Carlo of the same number is
    `simulation.sampled_majority_vote_error`.
    """
    d, heads = arguments.integer("d", d, 3), odd_heads(heads)
    t, weights = _fine_half_line(d, 1 / math.sqrt(heads))
    half = heads // 2
    # The binomial distribution function as an incomplete beta: SciPy's own ends at 2^31 heads.
    wrong = special.betainc(heads - half, half + 1, 0.5 - np.arcsin(t) / math.pi)
    return Estimate(2 * float(weights @ wrong))


def majority_vote_rate(d: int, heads: int) -> float:
    """The same for large d and H: (2/pi) atan((pi/2) sqrt(d/H)), so H ~ d / eps^2 is enough.

    The vote is (2/pi) t, t ~ N(0, 1/d), plus noise of variance 1/H. Theorem 7 needs d^3 / eps^2.
    """
    return 2 / math.pi * math.atan(math.pi / 2 * math.sqrt(d / heads))


def single_head_probability(d: int) -> Estimate:
    """How often one random head q q^T is right: 1/2 + E asin|t| / pi = 1/2 + Omega(d^-1/2)."""
    t, weights = _fine_half_line(arguments.integer("d", d, 3), 1.0)
    return Estimate(0.5 + float(weights @ np.arcsin(t)) / math.pi)


def single_head_rate(d: int) -> float:
    """Its limit for large d: 1/2 + (1/pi) sqrt(2 / (pi d))."""
    return 0.5 + math.sqrt(2 / (math.pi * d)) / math.pi


def _fine_half_line(d: int, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre panels of E g(|t|) in the angle asin|t|, finer near 0, where g varies."""
    edges = np.unique(
        np.clip([0, *(width * 2.0 ** np.arange(-1, 12)), math.pi / 2], 0, math.pi / 2)
    )
    u, w = special.roots_legendre(24)
    half = np.diff(edges)[:, None] / 2
    angles = (edges[:-1, None] + half * (u + 1)).ravel()
    weights = (half * w).ravel() * 2 * marginal_constant(d) * np.cos(angles) ** (d - 2)
    return np.sin(angles), weights


def odd_heads(heads: int) -> int:
    """The number of voting heads, which must be odd."""
    heads = arguments.integer("heads", heads, 1)
    if heads % 2 == 0:
        raise UserError(f"heads must be odd, or a vote can be tied, got {heads}.")
    return heads
