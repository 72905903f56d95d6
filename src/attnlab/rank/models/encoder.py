"""The encoder of the rank experiments: L post-norm blocks of low-rank attention and a perceptron.

Source: Amsel, Yehudai, Bruna (arXiv 2407.16153), training experiments. A block is
z = norm(x + attention(x)), x <- norm(z + W_2 relu(W_1 z + b_1) + b_2), its attention the mean of
`width_multiplier` groups of d / r heads of rank r. Its sizes are in `encoder_shape`, its weights at
the start in `encoder_init`; a GPU computes it in bfloat16 through `kernels.row_encoder`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from attnlab.errors import UserError
from attnlab.rank.kernels import row_encoder
from attnlab.rank.models.affine import affine
from attnlab.rank.models.attention import RankAttention
from attnlab.rank.models.choices import Matmul, Norm
from attnlab.rank.models.encoder_shape import EncoderShape
from attnlab.rank.problem import SelfPrompt


class Gain(eqx.Module):
    """A norm: a learned gain on the point divided by its length or its root mean square."""

    gain: Float[Array, " gains"]
    kind: Norm = eqx.field(static=True)

    def __call__(self, x: Float[Array, "d n b"]) -> Float[Array, "d n b"]:
        squares = jnp.sum(x * x, axis=0, keepdims=True)
        if self.kind == "rms":
            squares = squares / x.shape[0] + jnp.finfo(x.dtype).eps
        else:
            # The norm of a zero is zero, and so is its derivative.
            squares = jnp.maximum(squares, jnp.finfo(x.dtype).tiny)
        return x * jax.lax.rsqrt(squares) * self.gain[:, None, None]


class Perceptron(eqx.Module):
    """W_2 relu(W_1 x + b_1) + b_2 for every point."""

    up: Float[Array, "mlp d"]
    up_bias: Float[Array, " mlp"] | None
    down: Float[Array, "d mlp"]
    down_bias: Float[Array, " d"] | None
    matmul: Matmul = eqx.field(static=True, default="float32")

    def __call__(self, x: Float[Array, "d n b"]) -> Float[Array, "d n b"]:
        # The hidden layer is most of what a step reads and writes: in bfloat16 it is half as large.
        inside = jnp.bfloat16 if self.matmul == "bfloat16" else x.dtype
        hidden = jax.nn.relu(affine(self.up, self.up_bias, x, self.matmul, inside))
        return affine(self.down, self.down_bias, hidden, self.matmul, x.dtype)


class Block(eqx.Module):
    """One layer: attention and perceptron, each with its residual and its norm after it."""

    attention: RankAttention
    attention_norm: Gain | None
    mlp: Perceptron | None
    mlp_norm: Gain | None

    def __call__(self, x: Float[Array, "d n b"]) -> Float[Array, "d n b"]:
        x = _normed(self.attention_norm, x + self.attention.columns(x))
        return x if self.mlp is None else _normed(self.mlp_norm, x + self.mlp(x))


class Encoder(eqx.Module):
    """The encoder with its weights: it answers a `SelfPrompt`, a point for every point.

    `encoder_init.initialise` draws one.
    """

    blocks: tuple[Block, ...]
    positions: Float[Array, "N dims"] | None
    shape: EncoderShape = eqx.field(static=True)

    def __call__(self, prompt: SelfPrompt) -> Float[Array, "n d"]:
        """The answer to one prompt."""
        return self.encode(prompt.X)

    def encode(self, X: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """The output for every point of one sequence."""
        return self.columns(X.T[..., None])[..., 0].T

    def encode_batch(self, X: Float[Array, "batch n d"]) -> Float[Array, "batch n d"]:
        """What `jax.vmap(encoder.encode)(X)` gives, faster.

        The batch is last in memory, or goes through kernels on a GPU in bfloat16.
        """
        return self.rows(X) if row_encoder.chosen(self.shape, X) else self.columns(X.T).T

    def columns(self, x: Float[Array, "d n b"]) -> Float[Array, "d n b"]:
        """The same with points as columns and the batch last in memory."""
        d = len(x)
        x = self._encoded(x)
        for block in self.blocks:
            x = block(x)
        return x[:d]

    def rows(self, X: Float[Array, "batch n d"]) -> Float[Array, "batch n d"]:
        """The same through the kernels of a GPU, products in bfloat16."""
        return row_encoder.encode_rows(self, self._encoded(X.T).T)[..., : X.shape[2]]

    def __repr__(self) -> str:
        shape = self.shape
        layers = f"{shape.layers} layer{'s' if shape.layers > 1 else ''}"
        heads = f"{shape.heads} head{'s' if shape.heads > 1 else ''} of rank {shape.rank}"
        return f"Encoder({layers} of {heads}, d = {shape.d}, mlp = {shape.mlp})"

    def _encoded(self, x: Float[Array, "d n b"]) -> Float[Array, "width n b"]:
        d, n, b = x.shape
        if d != self.shape.d:
            raise UserError(f"X must have points of dimension {self.shape.d}, got {d}.")
        if n < 2:
            raise UserError(f"X must hold at least 2 points, got {n}.")
        if self.shape.encoding == "padded":
            return jnp.concatenate([x, jnp.zeros((self.shape.width - len(x), n, b), x.dtype)])
        if self.positions is None:
            return x
        if n != self.shape.length:
            raise UserError(f"X must hold length = {self.shape.length} points, got {n}.")
        positions = jnp.broadcast_to(self.positions.T[..., None], (*self.positions.T.shape, b))
        if self.shape.encoding == "additive":
            return x + positions
        return jnp.concatenate([x, positions])


def with_float32_products(encoder: Encoder) -> Encoder:
    """The same weights in an encoder that computes in float32; itself where it does already."""
    if encoder.shape.matmul == "float32":
        return encoder
    exact: Any = {"matmul": "float32", "products": "dot"}  # "dot" compiles fast
    blocks = tuple(
        replace(
            block,
            attention=replace(block.attention, **exact),
            mlp=None if block.mlp is None else replace(block.mlp, matmul="float32"),
        )
        for block in encoder.blocks
    )
    return replace(encoder, blocks=blocks, shape=replace(encoder.shape, **exact))


def batch_loss(
    encoder: Encoder, X: Float[Array, "batch n d"], target: Float[Array, "batch n d"]
) -> Float[Array, ""]:
    """The squared error summed over coordinates and averaged over points and sequences."""
    if row_encoder.chosen(encoder.shape, X):
        return jnp.sum((encoder.rows(X) - target) ** 2) / (X.shape[0] * X.shape[1])
    return column_loss(encoder, X.T, target.T)


def column_loss(
    encoder: Encoder, x: Float[Array, "d n b"], target: Float[Array, "d n b"]
) -> Float[Array, ""]:
    """The same with points as columns and the batch last in memory."""
    squares = jnp.sum((encoder.columns(x) - target) ** 2)
    return squares / (x.shape[1] * x.shape[2])


def _normed(norm: Gain | None, x: Array) -> Array:
    return x if norm is None else norm(x)
