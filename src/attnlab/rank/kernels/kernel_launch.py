"""How the GPU kernels of the encoder are launched, and how their work is divided into programs.

A kernel is written in Pallas and compiled by Triton. Without a GPU the same kernel runs as plain
JAX, slowly, for tests. What the kernels compute is in `attention_pallas`, `blocked_attention`,
`rank_one_attention`, `norm_pallas` and `perceptron_pallas`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jaxtyping import Array

SIDE = 16
"""The smallest side of a tile that Triton multiplies."""

LOG2_E = math.log2(math.e)


@dataclass(frozen=True)
class Program:
    """How one program of a kernel works; all numbers are powers of two.

    Parameters
    ----------
    rows, columns
        The tile that it computes at a time: rows are points, columns are neurons of the hidden
        layer or features of heads. A smaller array gets smaller tiles.
    warps
        Warps that run it.
    stages
        By how many stages its loads run ahead.
    splits
        Parts into which sums over all points are split.
    """

    rows: int = 64
    columns: int = 64
    warps: int = 4
    stages: int = 3
    splits: int = 1


@dataclass(frozen=True)
class Programs:
    """How each kernel is divided: the fastest choices timed on an H200 (benchmarks/RESULTS.md).

    `blocks` and `blocks_backward` are of attention on long sequences.
    """

    attention: Program = Program(stages=1)
    attention_backward: Program = Program(stages=1)
    norm: Program = Program(rows=16, warps=1, stages=1)
    perceptron: Program = Program()
    perceptron_backward: Program = Program(splits=4)
    blocks: Program = Program(stages=2)
    blocks_backward: Program = Program(stages=2)


PROGRAMS = Programs()


def launch(
    kernel: Callable[..., None],
    program: Program,
    grid: tuple[int, ...],
    inputs: Sequence[tuple[Array, pl.BlockSpec]],
    outputs: Sequence[tuple[tuple[int, ...], Any, pl.BlockSpec]],
) -> tuple[Array, ...]:
    """Run a kernel on a grid of programs.

    Parameters
    ----------
    kernel
        A Pallas kernel.
    program, grid
        How one program works, and how many there are along each axis.
    inputs
        Arrays with the blocks that programs see of them.
    outputs
        Shapes and dtypes with the blocks that programs write.
    """
    interpret = jax.default_backend() == "cpu"
    call = pl.pallas_call(
        kernel,
        grid=grid,
        in_specs=[spec for _, spec in inputs],
        out_specs=[spec for *_, spec in outputs],
        out_shape=[jax.ShapeDtypeStruct(shape, dtype) for shape, dtype, _ in outputs],
        compiler_params=None if interpret else _triton(program),
        interpret=interpret,
    )
    return tuple(call(*(array for array, _ in inputs)))


def rows_of(rows: int, columns: int) -> pl.BlockSpec:
    """Program i sees the i-th `rows` rows."""
    return pl.BlockSpec((rows, columns), lambda i: (i, 0))


def whole(array: Array) -> pl.BlockSpec:
    """Every program sees all of the array."""
    return pl.BlockSpec(array.shape, lambda *_: (0,) * array.ndim)


def tile_of(size: int, most: int) -> int:
    """The largest power of two that divides `size` and is at most `most`."""
    return min(size & -size, most)


def widened(dtype: Any) -> Any:
    """The dtype of sums of numbers of this dtype: float32 at least."""
    return jnp.promote_types(dtype, jnp.float32)


def dot(left: Array, right: Array, axes: tuple[int, int] = (1, 0), dtype: Any = None) -> Array:
    """The product over one axis of each factor; no factor is rounded.

    Parameters
    ----------
    left, right
        The factors.
    axes
        The axis of each over which products are summed.
    dtype
        What is returned; the dtype of sums (`widened`) unless given.
    """
    wide = widened(left.dtype)
    dtype = wide if dtype is None else dtype
    # A CPU does not multiply bfloat16 into float32 at every size; the products are the same.
    on_cpu = jax.default_backend() == "cpu"
    if on_cpu:
        left, right = left.astype(wide), right.astype(wide)
    product = jax.lax.dot_general(
        left,
        right,
        (((axes[0],), (axes[1],)), ((), ())),
        precision=None if left.dtype == jnp.bfloat16 else jax.lax.Precision.HIGHEST,
        preferred_element_type=wide if on_cpu else dtype,
    )
    return product.astype(dtype)


def exp2(x: Array) -> Array:
    """2^x inside of a kernel: one instruction of a GPU, which takes denormal results for zeros."""
    if jax.default_backend() == "cpu" or x.dtype != jnp.float32:
        return jnp.exp2(x)
    from jax.experimental.pallas import triton

    (power,) = triton.elementwise_inline_asm(
        "ex2.approx.ftz.f32 $0, $1;",
        args=[x],
        constraints="=f,f",
        pack=1,
        result_shape_dtypes=[jax.ShapeDtypeStruct(x.shape, x.dtype)],
    )
    return power


def _triton(program: Program):
    # Imported here: a machine without the GPU plugin needs no Triton.
    from jax.experimental.pallas import triton

    return triton.CompilerParams(num_warps=program.warps, num_stages=program.stages)
