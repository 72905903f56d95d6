"""What one head of full rank reaches on an orthonormal pair: the law behind Fact 1.

Source: Amsel, Yehudai, Bruna (arXiv 2407.16153), Fact 1. The head itself is
`models.constructions.FullRankHead`.
"""

import math

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
