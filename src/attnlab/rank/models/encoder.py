"""The encoder of the rank experiments: L post-norm blocks of low-rank attention and a perceptron.

Source: Amsel, Yehudai, Bruna (arXiv 2407.16153), training experiments. A block is
z = norm(x + attention(x)), x <- norm(z + W_2 relu(W_1 z + b_1) + b_2), its attention the mean of
`width_multiplier` groups of d / r heads of rank r. Initialisation is in `encoder_init`, what a GPU
computes in bfloat16 instead of the plain form in `row_encoder`.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.rank.kernels import row_encoder
from attnlab.rank.models.attention import MATMULS, PRODUCTS, Matmul, RankAttention, affine
from attnlab.rank.models.head_products import Products

Norm = Literal["scalar", "rms", "none"]
Encoding = Literal["none", "additive", "concatenated", "padded"]
NORMS: tuple[Norm, ...] = ("scalar", "rms", "none")
ENCODINGS: tuple[Encoding, ...] = ("none", "additive", "concatenated", "padded")


@dataclass(frozen=True)
class EncoderShape:
    """What an encoder is before it has weights; the defaults are the paper's.

    `norm`: "scalar" is x / ||x|| times one learned number, "rms" a root mean square norm with d
    learned gains, "none" leaves the norms out. `encoding` of positions: "additive" adds a learned
    vector a position; "concatenated" appends `encoding_dims` learned coordinates (d of them unless
    given, so that the width doubles, as in the paper) and the output is read from the first d;
    "padded" appends as many zeros instead, the control of equal width. Both kinds of learned
    encoding need `length`, the number of points N. `mlp` = 0 leaves the perceptron out.
    """

    d: int = 64
    rank: int = 64
    layers: int = 1
    width_multiplier: int = 1
    mlp: int = 2048
    norm: Norm = "scalar"
    encoding: Encoding = "none"
    encoding_dims: int | None = None
    length: int | None = None
    self_mask: bool = False
    bias: bool = True
    matmul: Matmul = "float32"
    products: Products = "auto"

    def __post_init__(self) -> None:
        arguments.integer("d", self.d, 1)
        arguments.integer("rank", self.rank, 1)
        arguments.integer("layers", self.layers, 1)
        arguments.integer("width_multiplier", self.width_multiplier, 1)
        arguments.integer("mlp", self.mlp, 0)
        arguments.one_of("norm", self.norm, NORMS)
        arguments.one_of("encoding", self.encoding, ENCODINGS)
        arguments.one_of("matmul", self.matmul, MATMULS)
        arguments.one_of("products", self.products, PRODUCTS)
        if self.encoding_dims is not None:
            arguments.integer("encoding_dims", self.encoding_dims, 1)
        if self.length is not None:
            arguments.integer("length", self.length, 2)
        elif self.encoding in ("additive", "concatenated"):
            raise UserError("length must be an integer of at least 2 for encodings, got None.")
        if self.rank > self.width:
            raise UserError(f"rank must be at most the width, {self.width}, got {self.rank}.")
        if self.width % self.rank:
            raise UserError(f"rank must divide the width, {self.width}, got {self.rank}.")

    @property
    def width(self) -> int:
        """The dimension inside: d, and the encoding's coordinates where they are appended."""
        if self.encoding not in ("concatenated", "padded"):
            return self.d
        return self.d + (self.d if self.encoding_dims is None else self.encoding_dims)

    @property
    def group_heads(self) -> int:
        """Heads in a group, width / rank."""
        return self.width // self.rank

    @property
    def heads(self) -> int:
        """H = (width / rank) * width_multiplier."""
        return self.group_heads * self.width_multiplier

    @property
    def scale(self) -> float:
        """What multiplies the scores, 1 / sqrt(rank)."""
        return 1 / math.sqrt(self.rank)


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
        # The hidden layer is most of what a step moves: in bfloat16 it is half as large.
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
    """The encoder with its weights: one sequence of N points in, N points out."""

    blocks: tuple[Block, ...]
    positions: Float[Array, "N dims"] | None
    shape: EncoderShape = eqx.field(static=True)

    def __call__(self, X: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """The output for every point of one sequence."""
        return self.columns(X.T[..., None])[..., 0].T

    def columns(self, x: Float[Array, "d n b"]) -> Float[Array, "d n b"]:
        """The same for b sequences at once, points as columns and the batch last in memory."""
        d = len(x)
        x = self._encoded(x)
        for block in self.blocks:
            x = block(x)
        return x[:d]

    def rows(self, X: Float[Array, "batch n d"]) -> Float[Array, "batch n d"]:
        """The same for a batch of sequences through the kernels of a GPU, products in bfloat16."""
        return row_encoder.encode_rows(self, self._encoded(X.T).T)[..., : X.shape[2]]

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


def point_loss(output: Float[Array, "n d"], target: Float[Array, "n d"]) -> Float[Array, ""]:
    """The squared error summed over coordinates and averaged over points."""
    return jnp.sum((output - target) ** 2) / len(output)


def encode_batch(encoder: Encoder, X: Float[Array, "batch n d"]) -> Float[Array, "batch n d"]:
    """What `jax.vmap(encoder)(X)` gives, faster: the batch is last in memory, or goes through
    kernels on a GPU where the products are in bfloat16."""
    return encoder.rows(X) if row_encoder.chosen(encoder.shape, X) else encoder.columns(X.T).T


def batch_loss(
    encoder: Encoder, X: Float[Array, "batch n d"], targets: Float[Array, "batch n d"]
) -> Float[Array, ""]:
    """`point_loss` averaged over the sequences."""
    if row_encoder.chosen(encoder.shape, X):
        return jnp.sum((encoder.rows(X) - targets) ** 2) / (X.shape[0] * X.shape[1])
    return _column_loss(encoder, X.T, targets.T)


def batch_loss_and_gradient(
    encoder: Encoder,
    X: Float[Array, "batch n d"],
    targets: Float[Array, "batch n d"],
    chunk: int | None = None,
) -> tuple[Float[Array, ""], Encoder]:
    """`batch_loss` and its gradient, summed over chunks of the batch.

    The result is that of the whole batch; with `chunk` of 16 to 64 a CPU keeps what it works on in
    its cache and need not ask for new memory at every step. `chunk` must divide the batch.
    """
    batch = len(X)
    chunk = batch if chunk is None else arguments.integer("chunk", chunk, 1)
    if batch % chunk:
        raise UserError(f"chunk must divide the batch, {batch}, got {chunk}.")
    if chunk == batch:
        return eqx.filter_value_and_grad(batch_loss)(encoder, X, targets)
    differentiate = eqx.filter_value_and_grad(_column_loss)

    def add(total: Any, part: tuple[Array, Array]):
        return jax.tree.map(jnp.add, total, differentiate(encoder, *part)), None

    parts = _chunks(X, chunk), _chunks(targets, chunk)
    zero = jnp.zeros((), X.dtype), jax.tree.map(jnp.zeros_like, eqx.filter(encoder, eqx.is_array))
    total, _ = jax.lax.scan(add, zero, parts)
    return jax.tree.map(lambda leaf: leaf * (chunk / batch), total)


def _chunks(X: Float[Array, "batch n d"], chunk: int) -> Float[Array, "parts d n chunk"]:
    return jnp.transpose(X.reshape(-1, chunk, *X.shape[1:]), (0, 3, 2, 1))


def _column_loss(
    encoder: Encoder, x: Float[Array, "d n b"], targets: Float[Array, "d n b"]
) -> Float[Array, ""]:
    squares = jnp.sum((encoder.columns(x) - targets) ** 2)
    return squares / (x.shape[1] * x.shape[2])


def _normed(norm: Gain | None, x: Array) -> Array:
    return x if norm is None else norm(x)
