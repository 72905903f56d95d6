"""The perceptron, W_2 relu(W_1 x + b_1), and the derivative of its weights, one GPU kernel each.

The hidden layer stays in the registers: storing and loading it takes longer than computing it
again, tile by tile. Its derivative is stored once, for the derivative with respect to the points,
which is left to the matrix library. Products take factors in the dtype of x and add in float32.
"""

from functools import partial, reduce
from operator import add
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jaxtyping import Array, Float

from attnlab.rank.kernels.kernel_launch import (
    Program,
    dot,
    launch,
    rows_of,
    tile_of,
    whole,
    widened,
)


def perceptron(
    x: Float[Array, "points d"],
    up: Float[Array, "mlp d"],
    bias: Float[Array, " mlp"],
    down: Float[Array, "d mlp"],
    program: Program,
) -> Float[Array, "points d"]:
    """relu(x W_1^T + b_1) W_2^T, in the dtype of sums.

    Parameters
    ----------
    x
        The points.
    up, bias, down
        W_1, b_1 and W_2.
    program
        How the work is divided.
    """
    points, d = x.shape
    rows = tile_of(points, program.rows)
    (y,) = launch(
        partial(_perceptron_kernel, columns=tile_of(len(up), program.columns)),
        program,
        (points // rows,),
        [(x, rows_of(rows, d)), *((array, whole(array)) for array in (up, bias, down))],
        [(x.shape, widened(x.dtype), rows_of(rows, d))],
    )
    return y


def perceptron_backward(
    x: Float[Array, "points d"],
    dy: Float[Array, "points d"],
    up: Float[Array, "mlp d"],
    bias: Float[Array, " mlp"],
    down: Float[Array, "d mlp"],
    program: Program,
) -> tuple[
    Float[Array, "points d"], Float[Array, "mlp d"], Float[Array, " mlp"], Float[Array, "d mlp"]
]:
    """The derivatives with respect to x, in its dtype, and to W_1, b_1 and W_2.

    Parameters
    ----------
    x, up, bias, down, program
        As in `perceptron`.
    dy
        The derivative with respect to the output.
    """
    (points, d), mlp = x.shape, len(up)
    rows, columns = tile_of(points, program.rows), tile_of(mlp, program.columns)
    splits = tile_of(points // rows, program.splits)
    wide = widened(x.dtype)
    part = pl.BlockSpec((points // splits, d), lambda i, j: (j, 0))
    neurons = pl.BlockSpec((columns, d), lambda i, j: (i, 0))
    by_weights = (
        (splits, mlp, d),
        wide,
        pl.BlockSpec((None, columns, d), lambda i, j: (j, i, 0)),
    )
    dup, ddown, dbias, dhidden = launch(
        partial(_perceptron_backward_kernel, rows=rows),
        program,
        (mlp // columns, splits),
        [
            (x, part),
            (dy, part),
            (up, neurons),
            (bias, pl.BlockSpec((columns,), lambda i, j: (i,))),
            (down.T, neurons),
        ],
        [
            by_weights,
            by_weights,
            ((splits, mlp), wide, pl.BlockSpec((None, columns), lambda i, j: (j, i))),
            (
                (mlp, points),
                x.dtype,
                pl.BlockSpec((columns, points // splits), lambda i, j: (i, j)),
            ),
        ],
    )
    return dot(dhidden, up, (0, 0), x.dtype), _total(dup), _total(dbias), _total(ddown).T


def _total(parts: Float[Array, "splits *shape"]) -> Float[Array, "*shape"]:
    """Their sum, as additions that the compiler can merge into what uses it."""
    return reduce(add, (parts[i] for i in range(len(parts))))


def _perceptron_kernel(x, up, bias, down, y, *, columns: int) -> None:
    points = x[...]

    def add_tile(i: Any, total: Array) -> Array:
        part = pl.ds(i * columns, columns)
        hidden = dot(points, up[part, :], (1, 1)) + bias[part][None, :]
        hidden = jnp.maximum(hidden, 0.0).astype(points.dtype)
        return total + dot(hidden, down[:, part], (1, 1))

    zero = jnp.zeros(y.shape, y.dtype)
    y[...] = jax.lax.fori_loop(0, up.shape[0] // columns, add_tile, zero)


def _perceptron_backward_kernel(
    x, dy, up, bias, down_rows, dup, ddown_rows, dbias, dhidden, *, rows: int
) -> None:
    # Neurons are rows here, so that every product takes its left factor as the last one wrote it.
    up_part, down_part, bias_part = up[...], down_rows[...], bias[...][:, None]
    dtype = up_part.dtype

    def add_points(i: Any, total: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        dup, ddown, dbias = total
        part = pl.ds(i * rows, rows)
        points, dpoints = x[part, :], dy[part, :]
        hidden = dot(up_part, points, (1, 1)) + bias_part
        by_hidden = jnp.where(hidden > 0, dot(down_part, dpoints, (1, 1)), 0.0)
        hidden = jnp.maximum(hidden, 0.0).astype(dtype)
        rounded = by_hidden.astype(dtype)
        dhidden[:, part] = rounded
        return (
            dup + dot(rounded, points),
            ddown + dot(hidden, dpoints),
            dbias + jnp.sum(by_hidden, axis=1),
        )

    zero = jnp.zeros(up_part.shape, dup.dtype)
    zeros = (zero, zero, jnp.zeros(up_part.shape[0], dup.dtype))
    total = jax.lax.fori_loop(0, x.shape[0] // rows, add_points, zeros)
    dup[...], ddown_rows[...], dbias[...] = total
