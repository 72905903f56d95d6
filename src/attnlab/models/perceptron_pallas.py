"""The perceptron's sublayer, norm(x + W_2 relu(W_1 x + b_1) + b_2), as fused GPU kernels.

The hidden layer never goes to memory: the forward kernel makes it a tile at a time for a block of
points, and both kernels of the derivative make it again, one for the points and one for the
weights. Points are rows here; `encoder` has the plain form.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jaxtyping import Array, Float

from attnlab.models.kernel_parts import (
    DEFAULT_PROGRAMS,
    Program,
    Programs,
    gain_in,
    launch,
    normed,
    normed_backward,
    rows,
    total,
    whole,
)


@dataclass(frozen=True)
class _Options:
    norm: str
    dtype: Any
    programs: Programs


def perceptron_sublayer(
    x: Float[Array, "points d"],
    up: Float[Array, "mlp d"],
    up_bias: Float[Array, " mlp"],
    down: Float[Array, "d mlp"],
    down_bias: Float[Array, " d"],
    gain: Float[Array, " gains"],
    norm: str = "scalar",
    dtype: Any = jnp.bfloat16,
    programs: Programs = DEFAULT_PROGRAMS,
) -> Float[Array, "points d"]:
    """norm(x + down relu(up x + up_bias) + down_bias) of every row x, with a derivative of its own.

    `gain` is one number or d of them, and `x` must be whole blocks of points for every kernel.
    Products take factors rounded to `dtype` and add in float32; all else is float32.
    """
    tiles = (programs.perceptron_forward, programs.perceptron_by_points)
    longest = max(program.tile for program in (*tiles, programs.perceptron_by_weights))
    # Added neurons have no weights, and so no part in anything.
    added = (0, -len(up) % longest)
    up, up_bias = jnp.pad(up, (added, (0, 0))), jnp.pad(up_bias, added)
    down = jnp.pad(down, ((0, 0), added))
    return _sublayer(_Options(norm, dtype, programs), x, up, up_bias, down, down_bias, gain)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _sublayer(options, x, up, up_bias, down, down_bias, gain):
    return _forward(options, x, up, up_bias, down, down_bias, gain)[0]


def _forward(options, x, up, up_bias, down, down_bias, gain):
    program = options.programs.perceptron_forward
    up, down = up.astype(options.dtype), down.astype(options.dtype)
    operands = (x, up, up_bias, down, down_bias, gain)
    points = rows(program.points, x.shape[1])
    out, z = launch(
        partial(_forward_kernel, norm=options.norm, tile=program.tile),
        program,
        grid=(len(x) // program.points,),
        in_specs=[points, *map(whole, operands[1:])],
        out_specs=[points, points],
        out_shape=[jax.ShapeDtypeStruct(x.shape, x.dtype)] * 2,
        operands=operands,
    )
    return out, (x, z, up, up_bias, down, gain)


def _backward(options, saved, g):
    x, _, up, up_bias, down, gain = saved
    dx, rounded_x, rounded_dz, sums = _by_points(options, saved, g)
    program = options.programs.perceptron_by_weights
    d, tile, splits = x.shape[1], program.tile, _splits(program, len(x))
    part = pl.BlockSpec((len(x) // splits, d), lambda i, j: (j, 0))
    tile_rows = pl.BlockSpec((tile, d), lambda i, j: (i, 0))
    tile_columns = pl.BlockSpec((d, tile), lambda i, j: (0, i))
    dup, dup_bias, ddown = launch(
        partial(_weights_kernel, points=program.points),
        program,
        grid=(len(up) // tile, splits),
        in_specs=[part, part, tile_rows, pl.BlockSpec((tile,), lambda i, j: (i,)), tile_columns],
        out_specs=[
            pl.BlockSpec((1, tile, d), lambda i, j: (j, i, 0)),
            pl.BlockSpec((1, tile), lambda i, j: (j, i)),
            pl.BlockSpec((1, d, tile), lambda i, j: (j, 0, i)),
        ],
        out_shape=[
            jax.ShapeDtypeStruct((splits, *shape), x.dtype)
            for shape in (up.shape, up_bias.shape, down.shape)
        ],
        operands=(rounded_x, rounded_dz, up, up_bias, down),
    )
    return dx, total(dup), total(dup_bias), total(ddown), sums[:d], sums[d : d + gain.size]


_sublayer.defvjp(_forward, _backward)


def _by_points(options, saved, g):
    x, z, up, up_bias, down, gain = saved
    program = options.programs.perceptron_by_points
    d, count = x.shape[1], len(x) // program.points
    points, weights = rows(program.points, d), (up, up_bias, down, gain)
    *by_point, sums = launch(
        partial(_points_kernel, norm=options.norm, tile=program.tile),
        program,
        grid=(count,),
        in_specs=[points, points, points, *map(whole, weights)],
        out_specs=[points, points, points, rows(1, 2 * d)],
        out_shape=[
            jax.ShapeDtypeStruct(x.shape, x.dtype),
            *[jax.ShapeDtypeStruct(x.shape, options.dtype)] * 2,
            jax.ShapeDtypeStruct((count, 2 * d), x.dtype),
        ],
        operands=(x, z, g, *weights),
    )
    return *by_point, jnp.sum(sums, axis=0)


def _forward_kernel(x, up, up_bias, down, down_bias, gain, out, z, *, norm, tile, dot):
    points = x[...]
    rounded = points.astype(up.dtype)

    def add(i, total):
        part = pl.ds(i * tile, tile)
        hidden = dot(rounded, up[part, :], 1, 1) + up_bias[part][None, :]
        hidden = jnp.maximum(hidden, 0.0).astype(up.dtype)
        return total + dot(hidden, down[:, part], 1, 1)

    added = jax.lax.fori_loop(0, up.shape[0] // tile, add, jnp.zeros_like(points))
    moved = points + added + down_bias[...][None, :]
    z[...] = moved
    out[...] = normed(norm, moved, gain_in(gain))


def _points_kernel(
    x, z, g, up, up_bias, down, gain, dx, rounded_x, rounded_dz, sums, *, norm, tile, dot
):
    points = x[...].astype(up.dtype)
    dz, by_gain = normed_backward(norm, z[...], gain_in(gain), g[...])
    rounded = dz.astype(up.dtype)
    rounded_x[...], rounded_dz[...] = points, rounded
    d = points.shape[1]
    sums[0, pl.ds(0, d)], sums[0, pl.ds(d, d)] = jnp.sum(dz, axis=0), by_gain

    def add(i, total):
        part = pl.ds(i * tile, tile)
        up_part = up[part, :]
        hidden = dot(points, up_part, 1, 1) + up_bias[part][None, :]
        dhidden = jnp.where(hidden > 0, dot(rounded, down[:, part]), 0.0)
        return total + dot(dhidden.astype(up.dtype), up_part)

    dx[...] = dz + jax.lax.fori_loop(0, up.shape[0] // tile, add, jnp.zeros_like(dz))


def _weights_kernel(x, dz, up, up_bias, down, dup, dup_bias, ddown, *, points, dot):
    # Neurons are rows here: every product then takes its left factor as the one before left it.
    up_part, down_part, bias = up[...], down[...].T, up_bias[...][:, None]
    tile, d = up_part.shape

    def add(i, total):
        dup, dup_bias, ddown = total
        part = pl.ds(i * points, points)
        x_part, dz_part = x[part, :], dz[part, :]
        hidden = dot(up_part, x_part, 1, 1) + bias
        dhidden = jnp.where(hidden > 0, dot(down_part, dz_part, 1, 1), 0.0)
        dup_bias += jnp.sum(dhidden, axis=1)
        dup += dot(dhidden.astype(up_part.dtype), x_part)
        ddown += dot(jnp.maximum(hidden, 0.0).astype(up_part.dtype), dz_part)
        return dup, dup_bias, ddown

    zero = jnp.zeros((tile, d), jnp.float32)
    zeros = (zero, jnp.zeros(tile, jnp.float32), zero)
    total = jax.lax.fori_loop(0, x.shape[0] // points, add, zeros)
    dup[0, :, :], dup_bias[0, :], ddown[0, :, :] = total[0], total[1], total[2].T


def _splits(program: Program, points: int) -> int:
    """At most as many parts as were asked for, of whole blocks of points."""
    blocks = points // program.points
    return max(parts for parts in range(1, program.splits + 1) if blocks % parts == 0)
