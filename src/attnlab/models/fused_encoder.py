"""The encoder through fused kernels: what `EncoderShape(products="fused")` computes on a GPU.

Points are rows, those of a sequence next to each other, from the first layer to the last, and every
sublayer is one kernel forward. Which shapes it takes is decided here; the kernels are in
`attention_pallas` and `perceptron_pallas`.
"""

import dataclasses
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from attnlab.errors import UserError
from attnlab.models.attention_pallas import attention_sublayer
from attnlab.models.kernel_parts import DEFAULT_PROGRAMS, SIDE, Programs
from attnlab.models.perceptron_pallas import perceptron_sublayer

LARGEST_WIDTH, LARGEST_LENGTH = 128, 64


def check_shape(width: int, matmul: str) -> None:
    """A UserError where the kernels cannot compute an encoder of this width and precision."""
    if matmul != "bfloat16":
        raise UserError(f"matmul must be 'bfloat16' for fused products, got {matmul!r}.")
    if not _power_of_two(width) or not SIDE <= width <= LARGEST_WIDTH:
        raise UserError(
            f"the width must be a power of two from {SIDE} to {LARGEST_WIDTH} for fused products, "
            f"got {width}."
        )


def encode(
    encoder: Any,
    X: Float[Array, "batch n width"],
    dtype: Any = jnp.bfloat16,
    programs: Programs = DEFAULT_PROGRAMS,
) -> Float[Array, "batch n width"]:
    """The blocks of `encoder` on a batch of sequences, positions already encoded.

    `dtype` is that of the factors of products; the rest is float32.
    """
    batch, n, width = X.shape
    if not _power_of_two(n) or n > LARGEST_LENGTH:
        raise UserError(
            f"X must hold a power of two of points, at most {LARGEST_LENGTH}, for fused products, "
            f"got {n}."
        )
    x = X.astype(jnp.float32).reshape(-1, width)
    # Added sequences give no output and get no gradient.
    x = jnp.pad(x, ((0, -len(x) % _block(programs)), (0, 0)))
    norm = encoder.shape.norm
    for block in encoder.blocks:
        layer = block.attention
        x = attention_sublayer(
            x,
            *_attention(layer),
            _gain(block.attention_norm),
            n,
            layer.rank,
            layer.scale,
            norm,
            layer.self_mask,
            dtype,
            programs,
        )
        if block.mlp is not None:
            weights = (*_perceptron(block.mlp), _gain(block.mlp_norm))
            x = perceptron_sublayer(x, *weights, norm, dtype, programs)
    return x[: batch * n].reshape(X.shape).astype(X.dtype)


def _attention(layer: Any) -> tuple[Array, tuple[Array, Array, Array], Array, Array]:
    rows, d = layer.heads * layer.rank, layer.d
    Q, K, V, O = (  # noqa: E741
        array.reshape(rows, d).astype(jnp.float32) for array in (layer.Q, layer.K, layer.V, layer.O)
    )
    biases = (
        _vector(layer.query_bias, rows),
        _vector(layer.key_bias, rows),
        _vector(layer.value_bias, rows),
    )
    return jnp.stack([Q, K, V]), biases, O / layer.groups, _vector(layer.output_bias, d)


def _perceptron(mlp: Any) -> tuple[Array, Array, Array, Array]:
    up, down = mlp.up.astype(jnp.float32), mlp.down.astype(jnp.float32)
    return up, _vector(mlp.up_bias, len(up)), down, _vector(mlp.down_bias, len(down))


def _vector(bias: Array | None, size: int) -> Array:
    if bias is None:
        return jnp.zeros(size, jnp.float32)
    return bias.reshape(-1).astype(jnp.float32)


def _gain(norm: Any) -> Array:
    return jnp.ones(1, jnp.float32) if norm is None else norm.gain.astype(jnp.float32)


def _block(programs: Programs) -> int:
    """All blocks of points are powers of two: the largest is a multiple of the others."""
    used = (getattr(programs, field.name) for field in dataclasses.fields(programs))
    return max(LARGEST_LENGTH, *(program.points for program in used))


def _power_of_two(count: int) -> bool:
    return count >= 1 and count & (count - 1) == 0
