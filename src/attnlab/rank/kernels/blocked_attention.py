"""Softmax attention inside the heads of long sequences, and its derivative, in blocks of points.

A program holds a block of points and meets the other points of its sequence block by block, so that
no array has an entry per pair of points. Of the weights only log_2 sum_j 2^(s_ij) is kept, s being
the scores times log_2(e); the derivative computes the weights again from it. Two identities save
work: a bias of the keys adds the same to all scores of a query and cancels in the softmax, and a
bias of the values is added to the result, because the weights sum to one.

Products are of tiles of max(r, 16) columns. Where the rank r is lower than 16 these are the columns
of several heads, and for each of them the columns of the others are set to zero. Rank 1 needs no
products: see `rank_one_attention`. The plain form is `head_products.attend`.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jaxtyping import Array, Float

from attnlab.rank.kernels import rank_one_attention
from attnlab.rank.kernels.kernel_launch import (
    LOG2_E,
    SIDE,
    Program,
    dot,
    exp2,
    launch,
    tile_of,
    widened,
)


def attend_blocks(
    qkv: Float[Array, "b n 3 H r"],
    bias: Float[Array, "3 H r"],
    scale: float,
    self_mask: bool,
    program: Program,
) -> tuple[Float[Array, "b n H r"], Float[Array, "b _ _"]]:
    """sum_j v_j softmax_j(scale <k_j, q_i>) for every head and query i, and what is kept of it.

    Parameters
    ----------
    qkv, bias
        Queries, keys and values of b sequences, and what is added to them first.
    scale
        What multiplies the scores.
    self_mask
        Whether a point may not attend to itself.
    program
        How the work is divided: the rows are the points of a block.
    """
    b, n, _, H, r = qkv.shape
    flat, bias = qkv.reshape(b, n, 3, H * r), bias.reshape(3, H * r)
    if r == 1:
        mixed, kept = rank_one_attention.forward(flat, bias, scale, self_mask, program)
        return mixed.reshape(b, n, H, r), kept
    columns, rows = max(r, SIDE), tile_of(n, program.rows)
    heads = columns // r
    mixed, kept = launch(
        partial(_forward_kernel, scale=scale, self_mask=self_mask, rank=r, rows=rows),
        program,
        (n // rows, H // heads, b),
        _inputs(flat, bias, columns),
        [
            ((b, n, H * r), qkv.dtype, _block(rows, columns)),
            (
                (b, H, n),
                widened(qkv.dtype),
                pl.BlockSpec((None, heads, rows), lambda t, f, s: (s, f, t)),
            ),
        ],
    )
    return mixed.reshape(b, n, H, r), kept


def attend_blocks_backward(
    qkv: Float[Array, "b n 3 H r"],
    bias: Float[Array, "3 H r"],
    mixed: Float[Array, "b n H r"],
    kept: Float[Array, "b _ _"],
    g: Float[Array, "b n H r"],
    scale: float,
    self_mask: bool,
    program: Program,
) -> tuple[Float[Array, "b n 3 H r"], Float[Array, "b blocks 3 H r"]]:
    """The derivative with respect to qkv, and its sum over each block of points.

    The sums over all blocks are the derivative with respect to the bias.

    Parameters
    ----------
    qkv, bias, scale, self_mask, program
        As in `attend_blocks`.
    mixed, kept
        What `attend_blocks` returned.
    g
        The derivative with respect to its output.
    """
    b, n, _, H, r = qkv.shape
    flat, by_head, bias = qkv.reshape(b, n, 3, H * r), bias[2], bias.reshape(3, H * r)
    wide = widened(qkv.dtype)
    # sum_j w_ij <g_i, v_j>, which the derivative of the softmax subtracts.
    along = jnp.sum(g.astype(wide) * (mixed.astype(wide) - by_head[None, None]), axis=3)
    g = g.reshape(b, n, H * r)
    if r == 1:
        dqkv, sums = rank_one_attention.backward(
            flat, bias, g, kept, along, scale, self_mask, program
        )
        return dqkv.reshape(qkv.shape), sums.reshape(*sums.shape[:3], H, r)
    columns, rows = max(r, SIDE), tile_of(n, program.rows)
    heads = columns // r
    by_point = pl.BlockSpec((None, heads, n), lambda t, f, s: (s, f, 0))
    dqkv, sums = launch(
        partial(_backward_kernel, scale=scale, self_mask=self_mask, rank=r, rows=rows),
        program,
        (n // rows, H // heads, b),
        [
            *_inputs(flat, bias, columns)[:4],
            (g, pl.BlockSpec((None, n, columns), lambda t, f, s: (s, 0, f))),
            (kept, by_point),
            (jnp.swapaxes(along, 1, 2), by_point),
        ],
        [
            (
                flat.shape,
                qkv.dtype,
                pl.BlockSpec((None, rows, 3, columns), lambda t, f, s: (s, t, 0, f)),
            ),
            (
                (b, n // rows, 3, H * r),
                wide,
                pl.BlockSpec((None, None, 3, columns), lambda t, f, s: (s, t, 0, f)),
            ),
        ],
    )
    return dqkv.reshape(qkv.shape), sums.reshape(*sums.shape[:3], H, r)


def _inputs(flat: Array, bias: Array, columns: int) -> list[tuple[Array, pl.BlockSpec]]:
    """Queries, keys and values of whole sequences, and the biases of the queries and values."""
    n = flat.shape[1]

    def part(c: int) -> pl.BlockSpec:
        return pl.BlockSpec((None, n, None, columns), lambda t, f, s: (s, 0, c, f))

    def bias_part(c: int) -> pl.BlockSpec:
        return pl.BlockSpec((None, columns), lambda t, f, s: (c, f))

    return [*((flat, part(c)) for c in range(3)), *((bias, bias_part(c)) for c in (0, 2))]


def _block(rows: int, columns: int) -> pl.BlockSpec:
    return pl.BlockSpec((None, rows, columns), lambda t, f, s: (s, t, f))


def _forward_kernel(
    q, k, v, query_bias, value_bias, out, kept, *, scale: float, self_mask: bool, rank: int,
    rows: int,
) -> None:  # fmt: skip
    t = pl.program_id(0)
    queries = _queries(q, query_bias, _points(t, rows), scale)
    head = jax.lax.broadcasted_iota(jnp.int32, queries.shape, 1) // rank
    zero = jnp.zeros(queries.shape, kept.dtype)
    total = zero
    for h in range(kept.shape[0]):
        own = _columns(queries, head == h)

        def add_keys(j: Any, held: tuple[Array, Array, Array], own: Array = own):
            top, weight, mixed = held
            keys = _points(j, rows)
            s = dot(own, k[keys, :], (1, 1))
            if self_mask:
                s = jnp.where(_same(s, t, j, rows), -jnp.inf, s)
            new = jnp.maximum(top, jnp.max(s, axis=1))
            u, shrunk = exp2(s - new[:, None]), exp2(top - new)
            mixed = mixed * shrunk[:, None] + dot(u.astype(own.dtype), v[keys, :])
            return new, weight * shrunk + jnp.sum(u, axis=1), mixed

        start = jnp.full(rows, -jnp.inf, zero.dtype), jnp.zeros(rows, zero.dtype), zero
        top, weight, mixed = jax.lax.fori_loop(0, k.shape[0] // rows, add_keys, start)
        total = total + _columns(mixed * (1 / weight)[:, None], head == h)
        kept[h, :] = top + jnp.log2(weight)
    out[...] = (total + value_bias[...][None, :]).astype(out.dtype)


def _backward_kernel(
    q, k, v, query_bias, g, kept, along, dqkv, sums, *, scale: float, self_mask: bool, rank: int,
    rows: int,
) -> None:  # fmt: skip
    t, blocks = pl.program_id(0), k.shape[0] // rows
    mine, dtype = _points(t, rows), dqkv.dtype
    queries, keys, values, gs = (
        _queries(q, query_bias, mine, scale),
        k[mine, :],
        v[mine, :],
        g[mine, :],
    )
    head = jax.lax.broadcasted_iota(jnp.int32, keys.shape, 1) // rank
    zero = jnp.zeros(keys.shape, kept.dtype)
    dq, dk, dv = zero, zero, zero
    for h in range(kept.shape[0]):
        own_q, own_k, own_v, own_g = (
            _columns(array, head == h) for array in (queries, keys, values, gs)
        )
        own_kept, own_along = kept[h, mine][:, None], along[h, mine][:, None]

        # The keys of this block meet all queries: tiles have a row per key.
        def add_queries(i: Any, held: tuple[Array, Array], h=h, own_k=own_k, own_v=own_v):
            others = _points(i, rows)
            query, by_out = _queries(q, query_bias, others, scale), g[others, :]
            w = exp2(dot(own_k, query, (1, 1)) - kept[h, others][None, :])
            if self_mask:
                w = jnp.where(_same(w, t, i, rows), 0.0, w)
            ds = w * (dot(own_v, by_out, (1, 1)) - along[h, others][None, :])
            dk, dv = held
            return dk + dot(ds.astype(dtype), query), dv + dot(w.astype(dtype), by_out)

        # The queries of this block meet all keys: tiles have a row per query.
        def add_keys(j: Any, dq: Array, own_q=own_q, own_g=own_g, kept=own_kept, along=own_along):
            others = _points(j, rows)
            key = k[others, :]
            w = exp2(dot(own_q, key, (1, 1)) - kept)
            if self_mask:
                w = jnp.where(_same(w, t, j, rows), 0.0, w)
            ds = w * (dot(own_g, v[others, :], (1, 1)) - along)
            return dq + dot(ds.astype(dtype), key)

        by_keys = jax.lax.fori_loop(0, blocks, add_queries, (zero, zero))
        by_queries = jax.lax.fori_loop(0, blocks, add_keys, zero)
        dq, dk, dv = (
            total + _columns(part, head == h)
            for total, part in zip((dq, dk, dv), (by_queries, *by_keys), strict=True)
        )
    # `queries` carries scale * log_2(e), of which the derivative of the keys needs the scale alone.
    for c, part in enumerate((scale * dq, dk / LOG2_E, dv)):
        dqkv[:, c, :] = part.astype(dtype)
        sums[c, :] = jnp.sum(part, axis=0)


def _points(block: Any, rows: int) -> Any:
    return pl.ds(block * rows, rows)


def _queries(q: Any, bias: Any, points: Any, scale: float) -> Array:
    """Rows of q with their bias, times the scale and log_2(e), rounded as products take them."""
    return ((q[points, :].astype(bias.dtype) + bias[...][None, :]) * (scale * LOG2_E)).astype(
        q.dtype
    )


def _columns(array: Array, kept: Array) -> Array:
    return jnp.where(kept, array, jnp.zeros_like(array))


def _same(tile: Array, row_block: Any, column_block: Any, rows: int) -> Array:
    """Where the row and the column of a tile are the same point."""
    row, column = (jax.lax.broadcasted_iota(jnp.int32, tile.shape, axis) for axis in (0, 1))
    return row + row_block * rows == column + column_block * rows
