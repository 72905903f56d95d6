"""Generalised heads of rank r: any d x d matrix of values, and any weights that sum to one.

Source: Amsel, Yehudai, Bruna (arXiv 2407.16153), equation (2), on the nearest of two orthonormal
points. Here phi_h is an MLP of (K_h^T x_1, K_h^T x_2, y); `training.adversary` trains such heads
against the lower bound.
"""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.rank.problem import NeighbourPrompt
from attnlab.rank.theory.lower_bound import check_head


class GeneralisedHeads(eqx.Module):
    """sum_h V_h X phi_h(K_h^T X, y) for N = 2, one hidden layer in every phi_h.

    phi_h = (sigmoid(s), sigmoid(-s)) with s = m(K^T x_1, K^T x_2, y) - m(K^T x_2, K^T x_1, y): a
    head that treats the two points equally, which costs nothing, since the average of any g over
    the exchange of the points has no larger error. `V` has shape (H, d, d), or (H,) for c_h I.
    """

    K: Float[Array, "H d r"]
    V: Float[Array, "H d d"] | Float[Array, " H"]
    inner: Float[Array, "H i w"]
    shift: Float[Array, "H w"]
    outer: Float[Array, "H w"]

    def weights(self, prompt: NeighbourPrompt) -> Float[Array, "H N"]:
        """phi_h, which sums to one over the two points."""
        X, y, _ = prompt
        if X.shape != (2, self.K.shape[1]):
            raise UserError(
                f"X must hold 2 points of dimension {self.K.shape[1]}, got shape {X.shape}."
            )
        seen = jnp.einsum("nd,hdr->hnr", X, self.K, precision="highest")
        r = seen.shape[2]
        first, second, last = self.inner[:, :r], self.inner[:, r : 2 * r], self.inner[:, 2 * r :]
        own = jnp.einsum("hnr,hrw->hnw", seen, first, precision="highest")
        other = jnp.einsum("hnr,hrw->hnw", seen[:, ::-1], second, precision="highest")
        source = jnp.einsum("d,hdw->hw", y, last, precision="highest")
        hidden = jax.nn.gelu(own + other + (source + self.shift)[:, None, :])
        return jax.nn.softmax(jnp.einsum("hnw,hw->hn", hidden, self.outer, precision="highest"))

    def __call__(self, prompt: NeighbourPrompt) -> Float[Array, " d"]:
        """The answer to one prompt."""
        mixed = jnp.dot(self.weights(prompt), prompt.X, precision="highest")
        if self.V.ndim == 1:
            return jnp.dot(self.V, mixed, precision="highest")
        return jnp.einsum("hde,he->d", self.V, mixed, precision="highest")

    def __repr__(self) -> str:
        heads, d, r = self.K.shape
        return f"GeneralisedHeads({heads} heads of rank {r}, d = {d})"


def random_generalised_heads(
    key: PRNGKeyArray,
    d: int,
    r: int,
    heads: int,
    *,
    scalar_values: bool = False,
    width: int = 32,
    dtype: Any = float,
) -> GeneralisedHeads:
    """Heads at initialisation: normal K_h, and V_h near c_h I with c_h alternately about +-1.

    sum_h c_h = 1, which uniform attention needs; opposite signs let sum_h c_h s_h be large though
    every |s_h| <= 1, as the sharp construction for rank 1 does.

    Parameters
    ----------
    key
        Key of all random numbers.
    d, r, heads
        Dimension, rank of every K_h, and number of heads.
    scalar_values
        Whether every V_h is c_h I.
    width
        Width of the hidden layer of every phi_h.
    dtype
        Precision of the weights.
    """
    d, r, heads = check_head(d, r, heads)
    width = arguments.integer("width", width, 1)
    shapes = (
        (heads, d, r),
        (heads, 2 * r + d, width),
        (heads, width),
        (heads, width),
        (heads, d, d),
    )
    sizes = [math.prod(shape) for shape in shapes]
    # One call for all: the code of the generator takes longest to compile.
    normals = jax.random.normal(key, (sum(sizes),), dtype)
    cuts = [sum(sizes[: i + 1]) for i in range(len(sizes) - 1)]
    K, inner, shift, outer, noise = (
        part.reshape(shape) for part, shape in zip(jnp.split(normals, cuts), shapes, strict=True)
    )
    signs = 1 - 2 * (jnp.arange(heads, dtype=dtype) % 2)
    V = signs + (1 - jnp.sum(signs)) / heads
    if not scalar_values:
        V = jnp.eye(d, dtype=dtype)[None] * V[:, None, None] + 0.1 / math.sqrt(d) * noise
    return GeneralisedHeads(K, V, inner, shift, outer / math.sqrt(width))
