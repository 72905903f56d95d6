"""The two sublayers of the encoder's blocks through GPU kernels, points as rows in bfloat16.

A sublayer takes and returns the points twice, exact for the residual and rounded for products, so
that nothing is cast or transposed between kernels. Its derivative is written out below. Products
take rounded factors and add in float32. The plain form is `encoder.Block`.
"""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from attnlab.rank.kernels.attention_pallas import attend_rows, attend_rows_backward
from attnlab.rank.kernels.blocked_attention import attend_blocks, attend_blocks_backward
from attnlab.rank.kernels.kernel_launch import Programs, dot
from attnlab.rank.kernels.norm_pallas import residual_norm, residual_norm_backward
from attnlab.rank.kernels.perceptron_pallas import perceptron, perceptron_backward


@dataclass(frozen=True)
class Options:
    """What is no array.

    Parameters
    ----------
    length
        Points of a sequence.
    rank, scale, self_mask
        Of the heads.
    norm
        The norm after a sublayer.
    programs
        How the work of each kernel is divided.
    """

    length: int
    rank: int
    scale: float
    self_mask: bool
    norm: str
    programs: Programs


SHORT = 32
"""The most points of a sequence whose pairs a program holds at once; longer ones go in blocks."""


def in_blocks(length: int) -> bool:
    """Whether attention on sequences of this length goes in blocks of points."""
    return length > SHORT


Points = tuple[Float[Array, "points d"], Float[Array, "points d"]]


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def attention_sublayer(
    options: Options,
    points: Points,
    QKV: Float[Array, "inputs d"],
    bias: Float[Array, " inputs"],
    O: Float[Array, "features d"],  # noqa: E741
    output_bias: Float[Array, " d"],
    gain: Float[Array, " gains"],
) -> Points:
    """norm(x + attention(x)).

    Parameters
    ----------
    options
        What is no array.
    points
        x, exact and rounded.
    QKV, bias
        The rows of Q, then those of K, then those of V, and their biases.
    O, output_bias, gain
        The output map, its bias, and the gains of the norm.
    """
    return _attention_forward(options, points, QKV, bias, O, output_bias, gain)[0]


def _attention_forward(options, points, QKV, bias, O, output_bias, gain):  # noqa: E741
    x, rounded = points
    dtype, heads = rounded.dtype, (3, len(O) // options.rank, options.rank)
    QKV, O = QKV.astype(dtype), O.astype(dtype)  # noqa: E741
    qkv = dot(rounded, QKV, (1, 1), dtype).reshape(-1, options.length, *heads)
    bias = bias.reshape(heads)
    mask, programs, kept = options.self_mask, options.programs, None
    if in_blocks(options.length):
        mixed, kept = attend_blocks(qkv, bias, options.scale, mask, programs.blocks)
    else:
        mixed = attend_rows(qkv, bias, options.scale, mask, programs.attention)
    mixed = mixed.reshape(len(x), -1)
    z, *out = residual_norm(
        options.norm, x, dot(mixed, O), output_bias, gain, dtype, options.programs.norm
    )
    return (out[0], out[1]), (rounded, qkv, mixed, kept, z, QKV, bias, O, gain)


def _attention_backward(options, saved, g):
    rounded, qkv, mixed, kept, z, QKV, bias, O, gain = saved  # noqa: E741
    dz, rounded_dz, *by_norm = residual_norm_backward(
        options.norm, z, gain, g, options.programs.norm
    )
    outputs = *qkv.shape[:2], *qkv.shape[3:]
    dmixed = dot(rounded_dz, O, (1, 1), rounded.dtype).reshape(outputs)
    mask, programs = options.self_mask, options.programs
    if in_blocks(options.length):
        dqkv, sums = attend_blocks_backward(
            qkv,
            bias,
            mixed.reshape(outputs),
            kept,
            dmixed,
            options.scale,
            mask,
            programs.blocks_backward,
        )
        bias_sums = jnp.sum(sums, axis=1)
    else:
        dqkv, bias_sums = attend_rows_backward(
            qkv, bias, dmixed, options.scale, mask, programs.attention_backward
        )
    dqkv = dqkv.reshape(len(z), -1)
    return (
        (dz, dot(dqkv, QKV, dtype=rounded.dtype)),
        dot(dqkv, rounded, (0, 0)),
        jnp.sum(bias_sums, axis=0).reshape(-1),
        dot(mixed, rounded_dz, (0, 0)),
        *by_norm,
    )


attention_sublayer.defvjp(_attention_forward, _attention_backward)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def perceptron_sublayer(
    options: Options,
    points: Points,
    up: Float[Array, "mlp d"],
    up_bias: Float[Array, " mlp"],
    down: Float[Array, "d mlp"],
    down_bias: Float[Array, " d"],
    gain: Float[Array, " gains"],
) -> Points:
    """norm(x + W_2 relu(W_1 x + b_1) + b_2).

    Parameters
    ----------
    options
        What is no array.
    points
        x, exact and rounded.
    up, up_bias, down, down_bias, gain
        W_1, b_1, W_2, b_2, and the gains of the norm.
    """
    return _perceptron_forward(options, points, up, up_bias, down, down_bias, gain)[0]


def _perceptron_forward(options, points, up, up_bias, down, down_bias, gain):
    x, rounded = points
    up, down = up.astype(rounded.dtype), down.astype(rounded.dtype)
    y = perceptron(rounded, up, up_bias, down, options.programs.perceptron)
    z, *out = residual_norm(
        options.norm, x, y, down_bias, gain, rounded.dtype, options.programs.norm
    )
    return (out[0], out[1]), (rounded, z, up, up_bias, down, gain)


def _perceptron_backward(options, saved, g):
    rounded, z, up, up_bias, down, gain = saved
    dz, rounded_dz, *by_norm = residual_norm_backward(
        options.norm, z, gain, g, options.programs.norm
    )
    by_rounded, *by_weights = perceptron_backward(
        rounded, rounded_dz, up, up_bias, down, options.programs.perceptron_backward
    )
    return (dz, by_rounded), *by_weights, *by_norm


perceptron_sublayer.defvjp(_perceptron_forward, _perceptron_backward)
