"""Softmax attention inside the heads of short sequences, and its derivative, one GPU kernel each.

A program holds one sequence and some of its heads. For ranks of 16 and more, the least that Triton
multiplies, every head is a matrix product. For lower ranks the products of a few heads at a time
are written out and summed, with the axes in the order that was fastest. The plain form is
`head_products.attend`.
"""

import dataclasses
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jaxtyping import Array, Float

from attnlab.rank.kernels.kernel_launch import SIDE, Program, dot, launch, tile_of

MOST_PRODUCTS = 1 << 14
"""The most products written out at once: the registers of four warps hold a few times as many."""


def attend_rows(
    qkv: Float[Array, "b n 3 H r"],
    bias: Float[Array, "3 H r"],
    scale: float,
    self_mask: bool,
    program: Program,
) -> Float[Array, "b n H r"]:
    """sum_j v_j softmax_j(scale <k_j, q_i>) for every head and query i, in the dtype of qkv.

    Parameters
    ----------
    qkv, bias
        Queries, keys and values of b sequences, and what is added to them first.
    scale
        What multiplies the scores.
    self_mask
        Whether a point may not attend to itself.
    program
        How the work is divided.
    """
    b, n, _, H, r = qkv.shape
    heads = _heads_of_a_program(qkv, program)
    (mixed,) = launch(
        partial(
            _attend_dot_kernel if r >= SIDE else _attend_kernel, scale=scale, self_mask=self_mask
        ),
        dataclasses.replace(program, warps=1) if r >= SIDE else program,
        (H // heads, b),
        _inputs(qkv, bias, heads),
        [((b, n, H, r), qkv.dtype, _sequence(n, heads, r))],
    )
    return mixed


def attend_rows_backward(
    qkv: Float[Array, "b n 3 H r"],
    bias: Float[Array, "3 H r"],
    g: Float[Array, "b n H r"],
    scale: float,
    self_mask: bool,
    program: Program,
) -> tuple[Float[Array, "b n 3 H r"], Float[Array, "b 3 H r"]]:
    """The derivative with respect to qkv, and its sum over each sequence.

    The sums over all sequences are the derivative with respect to the bias. The attention weights
    are computed again.

    Parameters
    ----------
    qkv, bias, scale, self_mask, program
        As in `attend_rows`.
    g
        The derivative with respect to the output.
    """
    b, n, _, H, r = qkv.shape
    heads, kernel = _heads_of_a_program(qkv, program), _attend_backward_kernel
    if r >= SIDE or r == 1:
        kernel = _attend_dot_backward_kernel if r >= SIDE else _attend_rank_one_backward_kernel
        heads = min(heads, 8)
        program = dataclasses.replace(program, warps=1)
    by_qkv = pl.BlockSpec((None, n, 3, heads, r), lambda h, s: (s, 0, 0, h, 0))
    by_bias = pl.BlockSpec((None, 3, heads, r), lambda h, s: (s, 0, h, 0))
    dqkv, sums = launch(
        partial(kernel, scale=scale, self_mask=self_mask),
        program,
        (H // heads, b),
        [*_inputs(qkv, bias, heads), (g, _sequence(n, heads, r))],
        [(qkv.shape, qkv.dtype, by_qkv), ((b, *bias.shape), bias.dtype, by_bias)],
    )
    return dqkv, sums


def _heads_of_a_program(qkv: Array, program: Program) -> int:
    n, H, r = qkv.shape[1], *qkv.shape[3:]
    if r >= SIDE:
        return 1
    return tile_of(H, max(1, min(program.columns // r, MOST_PRODUCTS // (n * n * r))))


def _inputs(qkv: Array, bias: Array, heads: int) -> list[tuple[Array, pl.BlockSpec]]:
    n, r = qkv.shape[1], qkv.shape[4]

    def part(c: int) -> pl.BlockSpec:
        return pl.BlockSpec((None, n, None, heads, r), lambda h, s: (s, 0, c, h, 0))

    def bias_part(c: int) -> pl.BlockSpec:
        return pl.BlockSpec((None, heads, r), lambda h, s: (c, h, 0))

    return [*((qkv, part(c)) for c in range(3)), *((bias, bias_part(c)) for c in range(3))]


def _sequence(n: int, heads: int, r: int) -> pl.BlockSpec:
    return pl.BlockSpec((None, n, heads, r), lambda h, s: (s, 0, h, 0))


def _attend_dot_kernel(q, k, v, bq, bk, bv, out, *, scale: float, self_mask: bool) -> None:
    q, k, v = _one_head(q, k, v, bq, bk, bv, scale)
    w = _softmax(dot(q, k, (1, 1)), self_mask, 1)
    out[:, 0, :] = dot(w.astype(v.dtype), v).astype(out.dtype)


def _attend_dot_backward_kernel(
    q, k, v, bq, bk, bv, g, dqkv, sums, *, scale: float, self_mask: bool
) -> None:
    q, k, v = _one_head(q, k, v, bq, bk, bv, scale)
    g, dtype = g[:, 0, :], k.dtype
    w = _softmax(dot(q, k, (1, 1)), self_mask, 1)
    dw = dot(g, v, (1, 1))
    ds = (w * (dw - jnp.sum(w * dw, axis=1)[:, None])).astype(dtype)
    w = w.astype(dtype)
    for c, part in enumerate((scale * dot(ds, k), dot(ds, q, (0, 0)), dot(w, g, (0, 0)))):
        dqkv[:, c, 0, :] = part.astype(dtype)
        sums[c, 0, :] = jnp.sum(part, axis=0).astype(sums.dtype)


def _attend_kernel(q, k, v, bq, bk, bv, out, *, scale: float, self_mask: bool) -> None:
    # Axes: key j, rank a, query i, head h; every sum is over a leading axis, within a thread.
    q, k, v = _biased(q, k, v, bq, bk, bv, scale)
    q_aih = jnp.transpose(q, (2, 0, 1))
    k_jah, v_jah = (jnp.transpose(array, (0, 2, 1)) for array in (k, v))
    w = _softmax(jnp.sum(k_jah[:, :, None, :] * q_aih[None], axis=1), self_mask, 0)
    mixed = jnp.sum(w[:, None] * v_jah[:, :, None, :], axis=0)
    out[...] = jnp.transpose(mixed, (1, 2, 0)).astype(out.dtype)


def _attend_backward_kernel(
    q, k, v, bq, bk, bv, g, dqkv, sums, *, scale: float, self_mask: bool
) -> None:
    q, k, v = _biased(q, k, v, bq, bk, bv, scale)
    g = g[...].astype(q.dtype)
    q_aih, g_aih = (jnp.transpose(array, (2, 0, 1)) for array in (q, g))
    q_iah, k_jah, v_jah, g_iah = (jnp.transpose(array, (0, 2, 1)) for array in (q, k, v, g))
    w = _softmax(jnp.sum(k_jah[:, :, None, :] * q_aih[None], axis=1), self_mask, 0)
    dw = jnp.sum(v_jah[:, :, None, :] * g_aih[None], axis=1)
    ds = w * (dw - jnp.sum(w * dw, axis=0)[None])
    dq = scale * jnp.sum(ds[:, None] * k_jah[:, :, None, :], axis=0)
    w, ds = (jnp.transpose(array, (1, 0, 2)) for array in (w, ds))
    dk = jnp.sum(ds[:, None] * q_iah[:, :, None, :], axis=0)
    dv = jnp.sum(w[:, None] * g_iah[:, :, None, :], axis=0)
    for c, part in enumerate((dq, dk, dv)):
        part = jnp.transpose(part, (1, 2, 0))
        dqkv[:, c] = part.astype(dqkv.dtype)
        sums[c] = jnp.sum(part, axis=0)


def _attend_rank_one_backward_kernel(
    q, k, v, bq, bk, bv, g, dqkv, sums, *, scale: float, self_mask: bool
) -> None:
    # Axes: query, key, head, rank. A sum over the rank of one is free.
    q, k, v = _biased(q, k, v, bq, bk, bv, scale)
    g = g[...].astype(q.dtype)
    w = _softmax(jnp.sum(q[:, None] * k[None], axis=3), self_mask, 1)
    dw = jnp.sum(g[:, None] * v[None], axis=3)
    ds = w * (dw - jnp.sum(w * dw, axis=1)[:, None])
    dq = scale * jnp.sum(ds[..., None] * k[None], axis=1)
    dk = jnp.sum(ds[..., None] * q[:, None], axis=0)
    dv = jnp.sum(w[..., None] * g[:, None], axis=0)
    for c, part in enumerate((dq, dk, dv)):
        dqkv[:, c] = part.astype(dqkv.dtype)
        sums[c] = jnp.sum(part, axis=0)


def _one_head(q: Any, k: Any, v: Any, bq: Any, bk: Any, bv: Any, scale: float) -> list[Array]:
    """q, k and v of a program's only head, rounded as products take them."""
    biased = _biased(q.at[:, 0], k.at[:, 0], v.at[:, 0], bq.at[0], bk.at[0], bv.at[0], scale)
    return [array.astype(q.dtype) for array in biased]


def _biased(
    q: Any, k: Any, v: Any, bq: Any, bk: Any, bv: Any, scale: float
) -> tuple[Array, Array, Array]:
    q, k, v = (
        array[...].astype(bias.dtype) + bias[...][None]
        for array, bias in ((q, bq), (k, bk), (v, bv))
    )
    return scale * q, k, v


def _softmax(s: Array, self_mask: bool, axis: int) -> Array:
    """Over the keys, which are on `axis`; the queries are on the other of the first two."""
    if self_mask:
        row, column = (jax.lax.broadcasted_iota(jnp.int32, s.shape, axis) for axis in (0, 1))
        s = jnp.where(row == column, -jnp.inf, s)
    u = jnp.exp(s - jnp.expand_dims(jnp.max(s, axis=axis), axis))
    return u * jnp.expand_dims(1 / jnp.sum(u, axis=axis), axis)
