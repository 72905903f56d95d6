"""What the fused kernels of the encoder share: how they are launched, their products and norms.

A kernel is written in Pallas and compiled by Triton for a GPU; on a CPU the same kernel is run as
plain JAX, slowly, which is for tests. The sublayers themselves, each with its residual and its
norm, are in `attention_pallas` and `perceptron_pallas`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jaxtyping import Array, Float

SIDE = 16
"""The smallest side of a tile that Triton multiplies."""


@dataclass(frozen=True)
class Program:
    """How one kernel is divided: the points a program works on at once, the warps that run it and
    the stages by which its loads run ahead.

    `tile` is the part of the hidden layer in the perceptron, `splits` the parts of the points of
    which sums over all points are made.
    """

    points: int = 64
    tile: int = 64
    splits: int = 1
    warps: int = 4
    stages: int = 3


@dataclass(frozen=True)
class Programs:
    """How each kernel is divided among the processors of a GPU; no result depends on it.

    All numbers are powers of two. A program of attention takes at least one sequence.
    """

    attention_forward: Program = Program(stages=1)
    attention_backward: Program = Program(stages=1)
    perceptron_forward: Program = Program()
    perceptron_by_points: Program = Program()
    perceptron_by_weights: Program = Program(splits=2)


DEFAULT_PROGRAMS = Programs()


def launch(
    kernel: Callable[..., None],
    program: Program,
    grid: tuple[int, ...],
    in_specs: Sequence[Any],
    out_specs: Sequence[Any],
    out_shape: Sequence[Any],
    operands: Sequence[Array],
) -> Sequence[Array]:
    """The kernel on the operands: compiled for a GPU, interpreted on a CPU.

    The kernel gets its product, `dot`, as a keyword: a CPU has none of bfloat16 into float32.
    """

    def run(interpret: bool, *operands: Array) -> tuple[Array, ...]:
        call = pl.pallas_call(
            partial(kernel, dot=partial(_dot, interpret)),
            grid=grid,
            in_specs=in_specs,
            out_specs=out_specs,
            out_shape=out_shape,
            compiler_params=None if interpret else _triton(program),
            interpret=interpret,
        )
        return tuple(call(*operands))

    return jax.lax.platform_dependent(
        *operands,
        cpu=lambda *operands: run(True, *operands),
        default=lambda *operands: run(False, *operands),
    )


def whole(array: Any) -> pl.BlockSpec:
    """Every program sees all of the array."""
    return pl.BlockSpec(array.shape, lambda *_: (0,) * len(array.shape))


def gain_in(gain: Any) -> Array:
    """The gain of a norm as a kernel reads it: one number, or one for every coordinate."""
    return gain[0] if gain.shape == (1,) else gain[...][None, :]


def total(parts: Float[Array, "parts *shape"]) -> Float[Array, "*shape"]:
    """The sum of a few parts, as additions that the compiler can merge into what uses it."""
    return reduce(add, (parts[i] for i in range(len(parts))))


def rows(count: int, columns: int) -> pl.BlockSpec:
    """Program i sees the i-th `count` rows."""
    return pl.BlockSpec((count, columns), lambda i: (i, 0))


def _dot(widen: bool, left: Array, right: Array, left_axis: int = 1, right_axis: int = 0) -> Array:
    """The product over one axis of each, in float32; float32 factors are not rounded."""
    if widen:
        left, right = left.astype(jnp.float32), right.astype(jnp.float32)
    return jax.lax.dot_general(
        left,
        right,
        (((left_axis,), (right_axis,)), ((), ())),
        precision=None if left.dtype == jnp.bfloat16 else jax.lax.Precision.HIGHEST,
        preferred_element_type=jnp.float32,
    )


def normed(norm: str, z: Array, gain: Array) -> Array:
    """`encoder.Gain` on rows."""
    return z if norm == "none" else z * _inverse_length(norm, z) * gain


def normed_backward(norm: str, z: Array, gain: Array, g: Array) -> tuple[Array, Array]:
    """The derivatives for z and, summed over the rows, for the gain, from that of the output;
    of a gain of one number every coordinate holds the sum over all of them.

    With u = z / length(z) they are (w - u <u, w> / c) / length(z) for w = gain * g, and u * g;
    c is 1, or the number of coordinates where the length is the root of their mean square.
    """
    if norm == "none":
        return g, jnp.zeros(z.shape[1], z.dtype)
    inverse = _inverse_length(norm, z)
    unit, weighted = z * inverse, g * gain
    along = jnp.sum(unit * weighted, axis=1)[:, None]
    along = along / z.shape[1] if norm == "rms" else along
    by_gain = jnp.sum(unit * g, axis=0)
    if gain.ndim == 0:
        by_gain = jnp.full(by_gain.shape, jnp.sum(by_gain))
    return inverse * (weighted - unit * along), by_gain


def _inverse_length(norm: str, z: Array) -> Array:
    squares = jnp.sum(z * z, axis=1)[:, None]
    if norm == "rms":
        return jax.lax.rsqrt(squares / z.shape[1] + jnp.finfo(z.dtype).eps)
    return jax.lax.rsqrt(jnp.maximum(squares, jnp.finfo(z.dtype).tiny))


def _triton(program: Program):
    # Imported here: a machine without the GPU plugin needs no Triton.
    from jax.experimental.pallas import triton

    return triton.CompilerParams(num_warps=program.warps, num_stages=program.stages)
