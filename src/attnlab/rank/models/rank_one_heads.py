"""Hardmax or softmax heads of rank 1 whose values are multiples of the identity.

In the setting of Theorem 2 of Amsel, Yehudai, Bruna (arXiv 2407.16153), head h attends by the score
(k_h . x)(q_h . y) and has V_h = c_h I. The exact error of the hardmax heads, the best c and a
search over q and k are in `theory.upper_bound`.
"""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.rank.models.constructions import attention_weights
from attnlab.rank.problem import NeighbourPrompt
from attnlab.rank.theory.upper_bound import best_values, optimised_directions


class RankOneHeads(eqx.Module):
    """sum_h c_h X softmax(scale X^T k_h q_h^T y): heads of rank 1 whose values are c_h I.

    Parameters
    ----------
    q, k
        Unit query and key vectors, one row per head.
    c
        The multiples of the identity.
    scale
        What multiplies the scores; infinity is the hardmax.
    """

    q: Float[Array | np.ndarray, "H d"]
    k: Float[Array | np.ndarray, "H d"]
    c: Float[Array | np.ndarray, " H"]
    scale: float = eqx.field(static=True, default=math.inf)

    def __call__(self, prompt: NeighbourPrompt) -> Float[Array, " d"]:
        """The answer to one prompt."""
        X, y, _ = prompt
        if X.shape[1] != self.q.shape[1]:
            raise UserError(
                f"the heads' dimension must match the {X.shape[1]} coordinates of the prompt, "
                f"got {self.q.shape[1]}."
            )
        q, k, c = (jnp.asarray(array, X.dtype) for array in (self.q, self.k, self.c))
        scores = jnp.dot(k, X.T, precision="highest")
        scores = scores * jnp.dot(q, y, precision="highest")[:, None]
        weights = jax.vmap(lambda row: attention_weights(row, self.scale))(scores)
        return jnp.dot(jnp.dot(c, weights, precision="highest"), X, precision="highest")

    def __repr__(self) -> str:
        heads, d = self.q.shape
        return f"RankOneHeads({heads} heads, d = {d}, scale = {self.scale:g})"


def best_heads(q: Float[np.ndarray, "H d"], k: Float[np.ndarray, "H d"]) -> RankOneHeads:
    """The hardmax heads of given directions, with the values that have the least error."""
    return RankOneHeads(q, k, best_values(q, k))


def random_heads(d: int, heads: int, seed: int) -> RankOneHeads:
    """Hardmax heads with independent uniform q_h and k_h and the best values for them."""
    d, heads = arguments.integer("d", d, 3), arguments.integer("heads", heads, 1)
    rng = np.random.default_rng(arguments.integer("seed", seed, 0))
    q, k = rng.standard_normal((2, heads, d))
    return best_heads(*(v / np.linalg.norm(v, axis=1, keepdims=True) for v in (q, k)))


def optimised_heads(heads: RankOneHeads, steps: int = 300) -> RankOneHeads:
    """The hardmax heads after at most so many steps of L-BFGS on q and k, with the best values."""
    directions = (np.asarray(heads.q, float), np.asarray(heads.k, float))
    return best_heads(*optimised_directions(*directions, steps))
