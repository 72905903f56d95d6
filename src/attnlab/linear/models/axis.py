"""Networks that treat k input directions differently from the others.

Source of the model: Vladymyrov et al. (arXiv 2402.14180). The loss does not change when the inputs
are rotated, and neither do the answers of a diagonal network. Networks that break this symmetry in
one direction x_1 do better (this was found here and is not in the paper): their layers store
information about the labels in x_1. P and Q are a 2 x 2 matrix on (x_1, y) and one number on
x_2 .. x_d, which makes ten numbers per layer. With k directions the matrix acts on
(x_1, .., x_k, y).
"""

from typing import final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from attnlab.errors import UserError
from attnlab.linear.models.weights import DiagWeights, FullWeights, Numbers


@final
class AxisWeights(eqx.Module):
    """One head: P = `p` on (x_1, .., x_k, y) and `p_rest` on the other inputs, Q likewise."""

    p: Float[Numbers, "layers side side"]
    p_rest: Float[Numbers, " layers"]
    q: Float[Numbers, "layers side side"]
    q_rest: Float[Numbers, " layers"]

    def __check_init__(self) -> None:
        layers = jnp.shape(self.p_rest)
        shapes = [jnp.shape(part) for part in (self.p, self.p_rest, self.q, self.q_rest)]
        side = shapes[0][-1:]
        if len(layers) != 1 or shapes != [(*layers, *side, *side), layers] * 2 or side < (2,):
            raise UserError(
                "p and q must have shape (layers, k + 1, k + 1), p_rest and q_rest (layers,), "
                f"got {shapes[0]}, {shapes[2]}, {shapes[1]} and {shapes[3]}."
            )

    @property
    def depth(self) -> int:
        return self.p_rest.shape[0]

    @property
    def axes(self) -> int:
        """The number k of directions that are treated differently."""
        return self.p.shape[-1] - 1

    def increment(self, G: Float[Array, "p p"]) -> Float[Array, "p p"]:
        """P G Q of one layer; d must be at least k."""
        return _left(self.q.T, self.q_rest, _left(self.p, self.p_rest, G).T).T

    def full(self, d: int) -> FullWeights:
        """The same network as FULL weights with one head."""

        def matrices(block: Numbers, rest: Numbers) -> Array:
            return jax.vmap(lambda b, r: _left(b, r, jnp.eye(d + 1, dtype=r.dtype)))(block, rest)

        return FullWeights(
            matrices(self.p, self.p_rest)[:, None], matrices(self.q, self.q_rest)[:, None]
        )

    def balanced(self) -> "AxisWeights":
        """The same network with |P| = |Q| in every layer.

        P times a number and Q divided by it are the same layer, so the ratio of norms is free.
        """
        p, q = _square(self.p, self.p_rest), _square(self.q, self.q_rest)
        usable = (p > 0) & (q > 0)
        scale = jnp.where(usable, (q / jnp.where(usable, p, 1)) ** 0.25, 1)
        blocks = scale[:, None, None]
        return AxisWeights(
            self.p * blocks, self.p_rest * scale, self.q / blocks, self.q_rest / scale
        )


def on_axis(weights: DiagWeights, axes: int = 1) -> AxisWeights:
    """A diagonal one-head network as a member of this family, all directions treated alike."""
    if weights.heads != 1:
        raise UserError(f"weights must have one head, got {weights.heads}.")

    def block(x: Numbers, y: Numbers) -> Array:
        return jax.vmap(jnp.diag)(jnp.concatenate([x] * axes + [y], axis=1))

    return AxisWeights(
        block(weights.p_x, weights.p_y),
        weights.p_x[:, 0],
        block(weights.q_x, weights.q_y),
        weights.q_x[:, 0],
    )


def axis_of(weights: FullWeights, axes: int = 1) -> AxisWeights:
    """One-head FULL weights that belong to this family, as AxisWeights: the inverse of `full`.

    Entries that the family does not have are refused.
    """
    if weights.P.shape[1] != 1:
        raise UserError(f"weights must have one head, got {weights.P.shape[1]}.")
    d = weights.P.shape[-1] - 1
    ends = np.array([*range(axes), d])
    p, q = (np.asarray(part)[:, 0] for part in (weights.P, weights.Q))
    blocks = [part[:, ends[:, None], ends] for part in (p, q)]
    found = AxisWeights(blocks[0], p[:, axes, axes], blocks[1], q[:, axes, axes])
    same = jax.tree.map(np.array_equal, found.full(d), weights)
    if not (same.P and same.Q):
        raise UserError(f"weights must treat all inputs but the first {axes} alike.")
    return found


def _left(block: Numbers, rest: Numbers, G: Array) -> Array:
    """P G for the matrix P given by its block on (x_1, .., x_k, y) and its number on the rest."""
    k = len(block) - 1
    ends = jnp.dot(block, jnp.concatenate([G[:k], G[-1:]]), precision="highest")
    return jnp.concatenate([ends[:k], rest * G[k:-1], ends[k:]])


def _square(block: Numbers, rest: Numbers) -> Array:
    return jnp.square(block).sum((-2, -1)) + jnp.square(rest)
