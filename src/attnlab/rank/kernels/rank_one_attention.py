"""Softmax attention of heads of rank 1 on long sequences, and its derivative, one GPU kernel each.

The scores of a head are products of two numbers, so that an exponential per pair of points takes
longer than everything else; matrix products, of 16 columns at least, would only add to it. A
program holds the points of a block for many heads and meets the other points one by one: no sum
crosses a thread. The derivative computes every weight twice, once for its query and once for its
key, which is cheaper than sums across threads or programs. `blocked_attention` explains what is
kept and what becomes of the biases.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jaxtyping import Array, Float

from attnlab.rank.kernels.kernel_launch import LOG2_E, Program, exp2, launch, tile_of, widened

AT_ONCE = 8  # points that a program meets in one turn of its loop


def forward(
    qkv: Float[Array, "b n 3 H"],
    bias: Float[Array, "3 H"],
    scale: float,
    self_mask: bool,
    program: Program,
) -> tuple[Float[Array, "b n H"], Float[Array, "b n H"]]:
    """The output of every head, and log_2 sum_j 2^(s_ij); see `blocked_attention.attend_blocks`."""
    b, n, _, H = qkv.shape
    rows, heads = _tile(n, H, program)
    block = pl.BlockSpec((None, rows, heads), lambda t, f, s: (s, t, f))
    out, kept = launch(
        partial(_forward_kernel, scale=scale, self_mask=self_mask, rows=rows),
        program,
        (n // rows, H // heads, b),
        _inputs(qkv, bias, heads),
        [((b, n, H), qkv.dtype, block), ((b, n, H), widened(qkv.dtype), block)],
    )
    return out, kept


def backward(
    qkv: Float[Array, "b n 3 H"],
    bias: Float[Array, "3 H"],
    g: Float[Array, "b n H"],
    kept: Float[Array, "b n H"],
    along: Float[Array, "b n H"],
    scale: float,
    self_mask: bool,
    program: Program,
) -> tuple[Float[Array, "b n 3 H"], Float[Array, "b blocks 3 H"]]:
    """The derivative with respect to qkv, and its sums over blocks of points.

    Parameters
    ----------
    qkv, bias, scale, self_mask, program
        As in `forward`.
    g, kept, along
        The derivative with respect to the output, what `forward` kept, and sum_j w_ij g_i v_j.
    """
    b, n, _, H = qkv.shape
    rows, heads = _tile(n, H, program)
    sequence = pl.BlockSpec((None, n, heads), lambda t, f, s: (s, 0, f))
    dqkv, sums = launch(
        partial(_backward_kernel, scale=scale, self_mask=self_mask, rows=rows),
        program,
        (n // rows, H // heads, b),
        [
            *_inputs(qkv, bias, heads)[:4],
            *((array, sequence) for array in (g, kept, along)),
        ],
        [
            (
                qkv.shape,
                qkv.dtype,
                pl.BlockSpec((None, rows, 3, heads), lambda t, f, s: (s, t, 0, f)),
            ),
            (
                (b, n // rows, 3, H),
                widened(qkv.dtype),
                pl.BlockSpec((None, None, 3, heads), lambda t, f, s: (s, t, 0, f)),
            ),
        ],
    )
    return dqkv, sums


def _tile(n: int, H: int, program: Program) -> tuple[int, int]:
    """Points and heads of a program: half as many points as `program` has rows."""
    return tile_of(n, max(1, program.rows // 2)), tile_of(H, program.columns)


def _inputs(qkv: Array, bias: Array, heads: int) -> list[tuple[Array, pl.BlockSpec]]:
    n = qkv.shape[1]

    def part(c: int) -> pl.BlockSpec:
        return pl.BlockSpec((None, n, None, heads), lambda t, f, s: (s, 0, c, f))

    def bias_part(c: int) -> pl.BlockSpec:
        return pl.BlockSpec((None, heads), lambda t, f, s: (c, f))

    return [*((qkv, part(c)) for c in range(3)), *((bias, bias_part(c)) for c in (0, 2))]


def _forward_kernel(
    q, k, v, query_bias, value_bias, out, kept, *, scale: float, self_mask: bool, rows: int
) -> None:
    t, n = pl.program_id(0), k.shape[0]
    dtype = kept.dtype
    points = pl.ds(t * rows, rows)
    factor = scale * LOG2_E
    query = (q[points, :].astype(dtype) + query_bias[...][None, :]) * factor
    row = jax.lax.broadcasted_iota(jnp.int32, query.shape, 0) + t * rows
    lowest = jnp.full(query.shape, -jnp.inf, dtype)

    def score(j: Any) -> Array:
        s = query * k[j, :].astype(dtype)[None, :]
        return jnp.where(row == j, -jnp.inf, s) if self_mask else s

    if self_mask:
        top = _over_points(n, lambda j, top: jnp.maximum(top, score(j)), lowest)
    else:
        # The largest score of a query is that of the largest or of the least key.
        def widen(j: Any, ends: tuple[Array, Array]) -> tuple[Array, Array]:
            key = k[j, :].astype(dtype)
            return jnp.minimum(ends[0], key), jnp.maximum(ends[1], key)

        first = k[0, :].astype(dtype)
        least, most = _over_points(n, widen, (first, first))
        top = jnp.maximum(query * least[None, :], query * most[None, :])

    def add(j: Any, held: tuple[Array, Array]) -> tuple[Array, Array]:
        weight, mixed = held
        u = exp2(score(j) - top)
        return weight + u, mixed + u * v[j, :].astype(dtype)[None, :]

    zero = jnp.zeros(query.shape, dtype)
    weight, mixed = _over_points(n, add, (zero, zero))
    out[...] = (mixed / weight + value_bias[...][None, :]).astype(out.dtype)
    kept[...] = top + jnp.log2(weight)


def _backward_kernel(
    q, k, v, query_bias, g, kept, along, dqkv, sums, *, scale: float, self_mask: bool, rows: int
) -> None:
    t, n = pl.program_id(0), k.shape[0]
    dtype = kept.dtype
    points = pl.ds(t * rows, rows)
    factor = scale * LOG2_E
    bias = query_bias[...]
    row = jax.lax.broadcasted_iota(jnp.int32, (rows, q.shape[1]), 0) + t * rows
    zero = jnp.zeros(row.shape, dtype)

    def weights(exponent: Array, j: Any) -> Array:
        w = exp2(exponent)
        return jnp.where(row == j, 0.0, w) if self_mask else w

    def store(c: int, part: Array) -> None:
        dqkv[:, c, :] = part.astype(dqkv.dtype)
        sums[c, :] = jnp.sum(part, axis=0)

    # The queries of this block meet all keys.
    query = (q[points, :].astype(dtype) + bias[None, :]) * factor
    own_g, own_kept, own_along = g[points, :].astype(dtype), kept[points, :], along[points, :]

    def add_key(j: Any, dq: Array) -> Array:
        key, value = (array[j, :].astype(dtype)[None, :] for array in (k, v))
        w = weights(query * key - own_kept, j)
        return dq + w * (own_g * value - own_along) * key

    store(0, scale * _over_points(n, add_key, zero))

    # The keys of this block meet all queries.
    key, value = k[points, :].astype(dtype), v[points, :].astype(dtype)

    def add_query(i: Any, held: tuple[Array, Array]) -> tuple[Array, Array]:
        dk, dv = held
        query = ((q[i, :].astype(dtype) + bias) * factor)[None, :]
        by_out = g[i, :].astype(dtype)[None, :]
        w = weights(key * query - kept[i, :][None, :], i)
        ds = w * (value * by_out - along[i, :][None, :])
        return dk + ds * query, dv + w * by_out

    dk, dv = _over_points(n, add_query, (zero, zero))
    store(1, dk / LOG2_E)
    store(2, dv)


def _over_points(n: int, step: Any, start: Any) -> Any:
    """start, stepped with every point, several of them per turn of the loop."""
    several = tile_of(n, AT_ONCE)

    def turn(i: Any, held: Any) -> Any:
        for a in range(several):
            held = step(i * several + a, held)
        return held

    return jax.lax.fori_loop(0, n // several, turn, start)
