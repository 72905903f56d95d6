"""A residual with its norm after it, norm(x + y + b), and the derivative, one GPU kernel each.

A program holds whole rows, which are points. The norms are those of `encoder.Gain`. A result that a
product reads next is also written in the dtype of products, so that nothing is cast later.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jaxtyping import Array, Float

from attnlab.rank.kernels.kernel_launch import Program, launch, rows_of, tile_of, whole


def residual_norm(
    norm: str,
    x: Float[Array, "points d"],
    y: Float[Array, "points d"],
    bias: Float[Array, " d"],
    gain: Float[Array, " gains"],
    dtype: Any,
    program: Program,
) -> tuple[Float[Array, "points d"], Float[Array, "points d"], Float[Array, "points d"]]:
    """z = x + y + b, its norm, and the norm rounded to `dtype`.

    Parameters
    ----------
    norm
        "scalar", "rms" or "none".
    x, y, bias
        The residual, what is added to it, and a bias.
    gain
        One learned gain, or d of them.
    dtype
        The dtype of products.
    program
        How the work is divided.
    """
    points, d = x.shape
    rows = tile_of(points, program.rows)
    row = rows_of(rows, d)
    z, out, rounded = launch(
        partial(_norm_kernel, norm=norm),
        program,
        (points // rows,),
        [(x, row), (y, row), (bias, whole(bias)), (gain, whole(gain))],
        [(x.shape, x.dtype, row), (x.shape, x.dtype, row), (x.shape, dtype, row)],
    )
    return z, out, rounded


def residual_norm_backward(
    norm: str,
    z: Float[Array, "points d"],
    gain: Float[Array, " gains"],
    g: tuple[Float[Array, "points d"], Float[Array, "points d"]],
    program: Program,
) -> tuple[
    Float[Array, "points d"], Float[Array, "points d"], Float[Array, " d"], Float[Array, " gains"]
]:
    """The derivatives with respect to z, in both dtypes, to the bias and to the gain.

    With g the sum of both given derivatives, u = z / length(z) and w = gain * g, the derivative is
    u * g for the gain and (w - u <u, w> / c) / length(z) for z; c is 1, or d where the length is
    the root of the mean square.

    Parameters
    ----------
    norm, gain, program
        As in `residual_norm`.
    z
        What was normalised.
    g
        The derivatives with respect to the norm and to its rounded copy.
    """
    points, d = z.shape
    rows = tile_of(points, program.rows)
    row, sums_of_rows = rows_of(rows, d), pl.BlockSpec((None, 2 * d), lambda i: (i, 0))
    dz, rounded, sums = launch(
        partial(_norm_backward_kernel, norm=norm),
        program,
        (points // rows,),
        [(z, row), (gain, whole(gain)), (g[0], row), (g[1], row)],
        [
            (z.shape, z.dtype, row),
            (z.shape, g[1].dtype, row),
            ((points // rows, 2 * d), z.dtype, sums_of_rows),
        ],
    )
    by_bias, by_gain = jnp.split(jnp.sum(sums, axis=0), 2)
    return dz, rounded, by_bias, by_gain if gain.size > 1 else jnp.sum(by_gain, keepdims=True)


def _norm_kernel(x, y, bias, gain, z, out, rounded, *, norm: str) -> None:
    moved = x[...] + y[...] + bias[...][None, :]
    z[...] = moved
    if norm != "none":
        moved = moved * _inverse_length(norm, moved) * _read_gain(gain)
    out[...] = moved
    rounded[...] = moved.astype(rounded.dtype)


def _norm_backward_kernel(z, gain, g, rounded_g, dz, rounded, sums, *, norm: str) -> None:
    moved, by_out = z[...], g[...] + rounded_g[...].astype(g.dtype)
    d = moved.shape[1]
    by_gain, by_z = jnp.zeros_like(moved), by_out
    if norm != "none":
        inverse = _inverse_length(norm, moved)
        unit, weighted = moved * inverse, by_out * _read_gain(gain)
        along = jnp.sum(unit * weighted, axis=1)[:, None]
        along = along / d if norm == "rms" else along
        by_gain, by_z = unit * by_out, inverse * (weighted - unit * along)
    dz[...] = by_z
    rounded[...] = by_z.astype(rounded.dtype)
    sums[pl.ds(0, d)] = jnp.sum(by_z, axis=0)
    sums[pl.ds(d, d)] = jnp.sum(by_gain, axis=0)


def _read_gain(gain: Any) -> Array:
    return gain[0] if gain.shape == (1,) else gain[...][None, :]


def _inverse_length(norm: str, z: Array) -> Array:
    squares = jnp.sum(z * z, axis=1)[:, None]
    if norm == "rms":
        return jax.lax.rsqrt(squares / z.shape[1] + jnp.finfo(z.dtype).eps)
    return jax.lax.rsqrt(jnp.maximum(squares, jnp.finfo(z.dtype).tiny))
