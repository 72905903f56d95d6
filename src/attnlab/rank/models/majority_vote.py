"""The majority vote of random rank-1 heads as two self-masked attention layers.

Source: Amsel, Yehudai, Bruna (arXiv 2407.16153), Definition 6 and Theorem 7. A self-masked layer
is T_i(X) = x_i + sum_h V_h X_{-i} softmax(X_{-i}^T M_h x_i): a residual plus a `RankAttention` in
which no token attends to itself, with M_h = K_h Q_h^T. The error is in `theory.majority_vote`.
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
from attnlab.rank.models.attention import RankAttention, from_matrices
from attnlab.rank.problem import NeighbourPrompt, unit
from attnlab.rank.theory.majority_vote import odd_heads

GAIN = 1e6  # C of Theorem 7: what is left of the residual y is y / C


class MajorityVote(eqx.Module):
    """Theorem 7: two self-masked layers of rank-1 heads on [x_1;+1;0], [x_2;-1;0], [y;0;0].

    Layer 1 has M_h = q_h q_h^T and V_h = (1/H) e_vote e_label^T, so that the last coordinate of y
    becomes the mean of the labels its heads chose. Layer 2 has d heads M = e_label e_vote^T,
    V_i = C e_i e_i^T, which fetch the point of the majority's label; A = [I 0 0] / C. It answers
    prompts of two points; `majority_vote` builds it.
    """

    first: RankAttention
    second: RankAttention
    A: Float[Array, "d e"]

    def tokens(self, prompt: NeighbourPrompt) -> Float[Array, "n e"]:
        """The three tokens with their positional encodings."""
        X, y, _ = prompt
        check_two_points(X, self.A.shape[0])
        encodings = jnp.array([[1, 0], [-1, 0], [0, 0]], X.dtype)
        return jnp.concatenate([jnp.concatenate([X, y[None]]), encodings], axis=1)

    def __call__(self, prompt: NeighbourPrompt) -> Float[Array, " d"]:
        """The answer to one prompt."""
        tokens = self.tokens(prompt)
        for layer in (self.first, self.second):
            tokens = tokens + layer.attend(tokens)
        return jnp.dot(self.A, tokens[-1], precision="highest")

    def __repr__(self) -> str:
        return f"MajorityVote({self.first.heads} heads, d = {self.A.shape[0]})"


def majority_vote(
    directions: Float[Array, "H d"], scale: float = math.inf, gain: float = GAIN
) -> MajorityVote:
    """Theorem 7's network for the directions q_h; `scale` is its c, `gain` its C."""
    heads, d = check_directions(directions)
    label, vote = jnp.eye(d + 2, dtype=directions.dtype)[-2:]
    basis = jnp.eye(d, d + 2, dtype=directions.dtype)
    q = jnp.pad(directions, ((0, 0), (0, 2)))

    def layer(Q: Array, K: Array, V: Array, O: Array) -> RankAttention:  # noqa: E741
        scores = {"scores": "hardmax"} if math.isinf(scale) else {"scale": scale}
        columns = (array[:, :, None] for array in (Q, K, V, O))
        return from_matrices(*columns, self_mask=True, products="dot", **scores)

    def repeated(row: Array, count: int) -> Array:
        return jnp.tile(row[None], (count, 1))

    first = layer(q, q, repeated(label, heads), repeated(vote / heads, heads))
    second = layer(repeated(vote, d), repeated(label, d), basis, gain * basis)
    return MajorityVote(first, second, basis / gain)


def random_directions(
    key: PRNGKeyArray, d: int, heads: int, dtype: Any = float
) -> Float[Array, "H d"]:
    """Independent uniform directions q_1, ..., q_H.

    Parameters
    ----------
    key
        A JAX key.
    d, heads
        Dimension and number of the directions.
    dtype
        Their precision.
    """
    d, heads = arguments.integer("d", d, 2), arguments.integer("heads", heads, 1)
    return unit(jax.random.normal(key, (heads, d), dtype))


def check_directions(directions: Float[Array, "H d"]) -> tuple[int, int]:
    """H and d of the directions, H odd."""
    if directions.ndim != 2:
        raise UserError(f"directions must have the shape (H, d), got {directions.shape}.")
    return odd_heads(directions.shape[0]), directions.shape[1]


def check_two_points(X: Float[Array, "N d"], d: int) -> None:
    """Refuse a prompt that does not hold two points of dimension d."""
    if X.shape != (2, d):
        raise UserError(f"X must hold 2 points of dimension {d}, got shape {X.shape}.")
