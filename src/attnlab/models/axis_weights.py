"""FULL with one input direction singled out: the family that trained FULL networks live near.

Source of the model: Vladymyrov et al. (arXiv 2402.14180). The loss does not change when inputs are
rotated, and a diagonal network respects that. Trained FULL networks do better by breaking the
symmetry in one direction x_1, which the layers use as a memory for what the labels say (found
here): P and Q are a 2 x 2 matrix on (x_1, y) and a number on x_2 .. x_d, ten numbers a layer.
"""

from typing import final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from attnlab.errors import UserError
from attnlab.models.linear_weights import DiagWeights, FullWeights


@final
class AxisWeights(eqx.Module):
    """One head: P = `p` on (x_1, y) and `p_rest` on the other inputs, Q likewise."""

    p: Float[Array, "layers 2 2"]
    p_rest: Float[Array, " layers"]
    q: Float[Array, "layers 2 2"]
    q_rest: Float[Array, " layers"]

    def __check_init__(self) -> None:
        layers = jnp.shape(self.p_rest)
        shapes = [jnp.shape(part) for part in (self.p, self.p_rest, self.q, self.q_rest)]
        if len(layers) != 1 or shapes != [(*layers, 2, 2), layers] * 2:
            raise UserError(
                "p and q must have shape (layers, 2, 2), p_rest and q_rest (layers,), "
                f"got {shapes[0]}, {shapes[2]}, {shapes[1]} and {shapes[3]}."
            )

    @property
    def depth(self) -> int:
        return self.p_rest.shape[0]

    def increment(self, G: Float[Array, "p p"]) -> Float[Array, "p p"]:
        """P G Q of one layer, d >= 2."""
        return _left(self.q.T, self.q_rest, _left(self.p, self.p_rest, G).T).T

    def full(self, d: int) -> FullWeights:
        """The same network as FULL weights with one head."""

        def matrices(block: Array, rest: Array) -> Array:
            return jax.vmap(lambda b, r: _left(b, r, jnp.eye(d + 1, dtype=r.dtype)))(block, rest)

        return FullWeights(
            matrices(self.p, self.p_rest)[:, None], matrices(self.q, self.q_rest)[:, None]
        )


def on_axis(weights: DiagWeights) -> AxisWeights:
    """A diagonal network with one head, which uses no axis."""
    if weights.heads != 1:
        raise UserError(f"weights must have one head, got {weights.heads}.")

    def block(x: Array, y: Array) -> Array:
        return jax.vmap(jnp.diag)(jnp.concatenate([x, y], axis=1))

    return AxisWeights(
        block(weights.p_x, weights.p_y),
        weights.p_x[:, 0],
        block(weights.q_x, weights.q_y),
        weights.q_x[:, 0],
    )


def _left(block: Array, rest: Array, G: Array) -> Array:
    """P G for one of the patterned matrices."""
    ends = jnp.dot(block, jnp.stack([G[0], G[-1]]), precision="highest")
    return jnp.concatenate([ends[:1], rest * G[1:-1], ends[1:]])
