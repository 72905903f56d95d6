"""What one head of full rank reaches: the laws behind Facts 1 and 3.

Source: Amsel, Yehudai, Bruna (arXiv 2407.16153), Facts 1 and 3. The heads themselves are in
`models.constructions`.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy import integrate, special

from attnlab import arguments
from attnlab.maths.harmonics import marginal_constant
from attnlab.stats import Estimate


def full_rank_error(d: int, scale: float) -> Estimate:
    """The error of `FullRankHead` on an orthonormal pair: 2 E[sigmoid(-c sqrt(2) |t|)^2].

    x_1 . y - x_2 . y = sqrt(2) t with t one coordinate of a uniform point, and a weight of p on the
    wrong point costs p^2 ||x_1 - x_2||^2 = 2 p^2. The hardmax, `scale` infinite, has no error. The
    Monte Carlo of the same number is `simulation.sampled_full_rank_error`.
    """
    d = arguments.integer("d", d, 3)
    if scale == math.inf:
        return Estimate(0.0)
    c = arguments.non_negative("scale", scale)

    def density(t: float) -> float:
        return special.expit(-c * math.sqrt(2) * t) ** 2 * (1 - t * t) ** ((d - 3) / 2)

    # The integrand is large on t < 1 / c and t < d^-1/2 only: the rule needs a break there.
    breaks = sorted({min(0.5, 10 / math.sqrt(d)), min(0.5, 10 / max(c, 1e-9))})
    value, _ = integrate.quad(density, 0, 1, points=breaks, limit=200)
    return Estimate(4 * marginal_constant(d) * value)


def full_rank_rate(d: int, scale: float) -> float:
    """Its limit for large c, 2 sqrt(2) (log 2 - 1/2) c_d / c: the error falls like 1 / c."""
    return 2 * math.sqrt(2) * (math.log(2) - 0.5) * marginal_constant(d) / scale


TIE = math.log(2) - 0.5  # the integral of sigmoid(-u)^2 over u > 0


def softmax_limit(d: int, bias: Sequence[float]) -> float:
    """lim c * error of X softmax(c (X^T y - b/2)) on independent uniform points, c to infinity.

    Only prompts whose two best scores are within about 1 / c of each other contribute. With t one
    coordinate of density f and distribution F, the points i and j tie at the score s with density
    f(t_i) f(t_j) prod F(t_k), t_i = s + b_i / 2, and a weight of p on the wrong point costs
    p^2 E||x_i - x_j||^2 = p^2 (2 - 2 t_i t_j): the limit is log 2 - 1/2 times the sum of these over
    ordered pairs. A bias of zeros is Fact 1, any other Fact 3.

    Parameters
    ----------
    d
        Dimension, at least 4.
    bias
        The b_i of the N points.
    """
    d = arguments.integer("d", d, 4)
    halves = np.asarray(bias, float) / 2
    u, weights = special.roots_legendre(400)
    low, high = -1 - halves.min(), 1 - halves.min()
    s = low + (high - low) * (1 + u) / 2
    t = s[None, :] + halves[:, None]
    inside = np.clip(t, -1, 1)
    density = np.where(np.abs(t) < 1, marginal_constant(d) * (1 - inside**2) ** ((d - 3) / 2), 0.0)
    tail = special.betainc((d - 1) / 2, 0.5, 1 - inside**2) / 2
    below = np.where(inside >= 0, 1 - tail, tail)
    # sum over i != j of a_i a_j (2 - 2 t_i t_j), a = f / F, times the product of all F.
    share = density / np.maximum(below, 1e-300)
    pairs = share.sum(0) ** 2 - (share**2).sum(0)
    products = (share * t).sum(0) ** 2 - ((share * t) ** 2).sum(0)
    total = 2 * (pairs - products) * below.prod(axis=0)
    return TIE * float(weights @ total) * float(high - low) / 2


def softmax_limit_of_theorem_4(d: int, bias: Sequence[float]) -> float:
    """The same for two orthogonal points of norm sqrt(d) and y ~ N(0, I), the law of Theorem 4.

    The scores differ by a normal variable of variance 2 d less (b_1 - b_2) / 2, and the points by
    2 d in squared distance.
    """
    d = arguments.integer("d", d, 2)
    shift = (bias[0] - bias[1]) / 2
    density = math.exp(-(shift**2) / (4 * d)) / math.sqrt(4 * math.pi * d)
    return TIE * 2 * density * 2 * d
