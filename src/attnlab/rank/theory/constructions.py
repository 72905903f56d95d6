"""Single attention layers built by hand for the nearest neighbour, and what they should reach.

Source: Amsel, Yehudai, Bruna (arXiv 2407.16153), Facts 1 and 3, Section 4 and Appendix B.8. Each
construction is a predictor (X, y) -> R^d of one prompt, its points in rows. The two-layer networks
of Theorem 7 and the one with an MLP are in `rank_majority_vote`.
"""

import math
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy import integrate, special

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.maths.harmonics import marginal_constant
from attnlab.rank.theory.upper_bound import Heads, best_values
from attnlab.stats.estimate import Estimate

Sign = Literal["corrected", "printed"]


def attention_weights(scores: Float[Array, " N"], scale: float) -> Float[Array, " N"]:
    """softmax(scale scores); at scale +-infinity the hardmax of +-scores, the first of a tie."""
    if math.isinf(scale):
        chosen = jnp.argmax(math.copysign(1, scale) * scores)
        return jax.nn.one_hot(chosen, len(scores), dtype=scores.dtype)
    return jax.nn.softmax(scale * scores)


class UniformAttention(eqx.Module):
    """The mean of the points: what a head of rank 0 does. Error 1/2 on an orthonormal pair."""

    def __call__(self, X: Float[Array, "N d"], y: Float[Array, " d"]) -> Float[Array, " d"]:
        return jnp.mean(X, axis=0)


class FullRankHead(eqx.Module):
    """Fact 1: V = I and K Q^T = c I, one head of rank d for any N; exact at c = infinity.

    A negative scale looks for the farthest point, as the trained models of Figure 2 do.
    """

    scale: float = eqx.field(static=True, default=math.inf)

    def __call__(self, X: Float[Array, "N d"], y: Float[Array, " d"]) -> Float[Array, " d"]:
        scores = jnp.dot(X, y, precision="highest")
        return jnp.dot(attention_weights(scores, self.scale), X, precision="highest")


class BiasedHead(eqx.Module):
    """Fact 3: X hardmax(X^T y - b/2), exact for argmin ||x_i - y||^2 + b_i on a sphere.

    The text prints hardmax(X^T y + b), which `sign="printed"` computes: of ||x_i - y||^2 + b_i the
    points do not share -2 x_i . y + b_i, so the sign and the half are both needed.
    """

    bias: Float[Array, " N"]
    sign: Sign = eqx.field(static=True, default="corrected")
    scale: float = eqx.field(static=True, default=math.inf)

    def offsets(self) -> Float[Array, " N"]:
        """What is added to the scores."""
        arguments.one_of("sign", self.sign, ("corrected", "printed"))
        return -self.bias / 2 if self.sign == "corrected" else self.bias

    def __call__(self, X: Float[Array, "N d"], y: Float[Array, " d"]) -> Float[Array, " d"]:
        _same_number("bias", len(self.bias), "points", len(X))
        scores = jnp.dot(X, y, precision="highest") + self.offsets()
        return jnp.dot(attention_weights(scores, self.scale), X, precision="highest")


class ConcatenatedHead(eqx.Module):
    """Fact 3 as plain attention: x_i gets the coordinate -b_i/2, y gets 1, K Q^T = I_{d+1}.

    V keeps the first d coordinates.
    """

    bias: Float[Array, " N"]
    sign: Sign = eqx.field(static=True, default="corrected")
    scale: float = eqx.field(static=True, default=math.inf)

    def __call__(self, X: Float[Array, "N d"], y: Float[Array, " d"]) -> Float[Array, " d"]:
        _same_number("bias", len(self.bias), "points", len(X))
        encodings = BiasedHead(self.bias, self.sign).offsets().astype(X.dtype)
        keys = jnp.concatenate([X, encodings[:, None]], axis=1)
        query = jnp.concatenate([y, jnp.ones(1, y.dtype)])
        whole = FullRankHead(self.scale)(keys, query)
        return whole[:-1]


class RankOneHeads(eqx.Module):
    """sum_h c_h X softmax(scale X^T k_h q_h^T y): heads of rank 1 whose values are c_h I."""

    q: Float[Array, "H d"]
    k: Float[Array, "H d"]
    c: Float[Array, " H"]
    scale: float = eqx.field(static=True, default=math.inf)

    def __call__(self, X: Float[Array, "N d"], y: Float[Array, " d"]) -> Float[Array, " d"]:
        _same_number("the heads' dimension", self.q.shape[1], "coordinates", X.shape[1])
        scores = jnp.dot(self.k, X.T, precision="highest")
        scores = scores * jnp.dot(self.q, y, precision="highest")[:, None]
        weights = jax.vmap(lambda row: attention_weights(row, self.scale))(scores)
        return jnp.dot(jnp.dot(self.c, weights, precision="highest"), X, precision="highest")


def best_rank_one_heads(heads: Heads, dtype: Any = float) -> RankOneHeads:
    """The hardmax heads with the values that `rank_upper_bound.exact_error` calls best."""
    return RankOneHeads(
        jnp.asarray(heads.q, dtype),
        jnp.asarray(heads.k, dtype),
        jnp.asarray(best_values(heads), dtype),
    )


def full_rank_error(d: int, scale: float) -> Estimate:
    """The error of `FullRankHead` on an orthonormal pair: 2 E[sigmoid(-c sqrt(2) |t|)^2].

    x_1 . y - x_2 . y = sqrt(2) t with t one coordinate of a uniform point, and a weight of p on the
    wrong point costs p^2 ||x_1 - x_2||^2 = 2 p^2.
    """
    d, c = arguments.integer("d", d, 3), arguments.non_negative("scale", scale)

    def density(t: float) -> float:
        return special.expit(-c * math.sqrt(2) * t) ** 2 * (1 - t * t) ** ((d - 3) / 2)

    # The integrand lives on t < 1 / c and t < d^-1/2: a break there keeps the quadrature honest.
    breaks = sorted({min(0.5, 10 / math.sqrt(d)), min(0.5, 10 / max(c, 1e-9))})
    value, _ = integrate.quad(density, 0, 1, points=breaks, limit=200)
    return Estimate(4 * marginal_constant(d) * value)


def full_rank_rate(d: int, scale: float) -> float:
    """Its limit for large c, 2 sqrt(2) (log 2 - 1/2) c_d / c: the error falls like 1 / c."""
    return 2 * math.sqrt(2) * (math.log(2) - 0.5) * marginal_constant(d) / scale


def numerical_rank(matrix: Float[np.ndarray, "m n"] | Float[Array, "m n"]) -> int:
    """The rank by singular values, those below rounding left out."""
    return int(np.linalg.matrix_rank(np.asarray(matrix)))


def _same_number(name: str, given: int, of: str, expected: int) -> None:
    if given != expected:
        raise UserError(f"{name} must match the {expected} {of} of the prompt, got {given}.")
