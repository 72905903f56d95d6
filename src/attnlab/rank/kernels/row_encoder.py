"""The encoder through GPU kernels: which encoders they can compute, and the weights they take.

Points are rows, those of a sequence next to each other, from the first layer to the last. On a GPU
`encoder` computes batches this way where matmul is "bfloat16"; the sublayers are in `row_blocks`.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from attnlab.rank.kernels.kernel_launch import PROGRAMS, SIDE, Programs
from attnlab.rank.kernels.row_blocks import Options, attention_sublayer, perceptron_sublayer

WIDEST = 128


def serves(shape: Any, batch: int, n: int) -> bool:
    """Whether the kernels can compute `batch` sequences of n points with this `EncoderShape`.

    Short sequences go through `attention_pallas`, long ones through `blocked_attention`
    (`row_blocks.in_blocks`). Neither keeps an attention weight.
    """
    powers_of_two = all(size & (size - 1) == 0 for size in (shape.width, shape.rank, n))
    low = shape.rank < SIDE
    return (
        shape.matmul == "bfloat16"
        and shape.products == "auto"
        and powers_of_two
        and SIDE <= shape.width <= WIDEST
        and (low or n >= SIDE)
        and batch * n % SIDE == 0
        and shape.mlp % SIDE == 0
    )


def chosen(shape: Any, X: Float[Array, "batch n d"]) -> bool:
    """Whether a batch goes through the kernels: on a GPU, where they can compute it."""
    single = X.dtype == jnp.float32
    return jax.default_backend() == "gpu" and single and serves(shape, *X.shape[:2])


def encode_rows(
    encoder: Any,
    X: Float[Array, "batch n width"],
    dtype: Any = jnp.bfloat16,
    programs: Programs = PROGRAMS,
) -> Float[Array, "batch n width"]:
    """The blocks of an encoder on a batch of sequences, positions already encoded.

    Parameters
    ----------
    encoder
        A `models.encoder.Encoder`.
    X
        The sequences.
    dtype
        Of the factors of products; the rest has the dtype of X.
    programs
        How the work of each kernel is divided.
    """
    x = X.reshape(-1, X.shape[2])
    points: Any = x, x.astype(dtype)
    for block in encoder.blocks:
        layer = block.attention
        options = Options(
            X.shape[1], layer.rank, layer.scale, layer.self_mask, encoder.shape.norm, programs
        )
        weights = (*_attention(layer), _gain(block.attention_norm, x))
        points = attention_sublayer(options, points, *weights)
        if block.mlp is not None:
            weights = (*_perceptron(block.mlp), _gain(block.mlp_norm, x))
            points = perceptron_sublayer(options, points, *weights)
    return points[0].reshape(X.shape)


def _attention(layer: Any) -> tuple[Array, Array, Array, Array]:
    rows, d = layer.heads * layer.rank, layer.d
    QKV = jnp.concatenate([array.reshape(rows, d) for array in (layer.Q, layer.K, layer.V)])
    biases = (layer.query_bias, layer.key_bias, layer.value_bias)
    bias = jnp.concatenate([_vector(bias, rows, QKV) for bias in biases])
    O = layer.O.reshape(rows, d)  # noqa: E741
    O = O if layer.groups == 1 else O / layer.groups  # noqa: E741
    return QKV, bias, O, _vector(layer.output_bias, d, QKV)


def _perceptron(mlp: Any) -> tuple[Array, Array, Array, Array]:
    up, down = mlp.up, mlp.down
    return up, _vector(mlp.up_bias, len(up), up), down, _vector(mlp.down_bias, len(down), up)


def _vector(bias: Array | None, size: int, like: Array) -> Array:
    return jnp.zeros(size, like.dtype) if bias is None else bias.reshape(-1)


def _gain(norm: Any, like: Array) -> Array:
    return jnp.ones(1, like.dtype) if norm is None else norm.gain
