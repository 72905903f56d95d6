"""The attention sublayer, norm(x + attention(x)), as two fused GPU kernels.

A program holds a few whole sequences and their points are rows of one tile, whose scores outside
the sequences are masked: Triton multiplies nothing smaller than 16 x 16. Heads of low rank share a
tile of 16 columns, of which each sees its own. Source and plain form are those of `rank_attention`.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jaxtyping import Array, Float

from attnlab.models.kernel_parts import (
    DEFAULT_PROGRAMS,
    SIDE,
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

LARGEST_SPLIT = 16
SPLIT_ROWS = 4096
"""Sums over the points are made of parts, so that there are enough products to occupy a GPU."""


@dataclass(frozen=True)
class _Options:
    length: int
    rank: int
    scale: float
    norm: str
    self_mask: bool
    dtype: Any
    programs: Programs


def attention_sublayer(
    x: Float[Array, "points d"],
    QKV: Float[Array, "3 rows d"],
    biases: tuple[Float[Array, " rows"], Float[Array, " rows"], Float[Array, " rows"]],
    O: Float[Array, "rows d"],  # noqa: E741 (the paper's letter)
    output_bias: Float[Array, " d"],
    gain: Float[Array, " gains"],
    length: int,
    rank: int,
    scale: float,
    norm: str = "scalar",
    self_mask: bool = False,
    dtype: Any = jnp.bfloat16,
    programs: Programs = DEFAULT_PROGRAMS,
) -> Float[Array, "points d"]:
    """norm(x + sum_h O_h V_h^T x softmax(scale x^T K_h Q_h^T x) + output_bias) of every sequence.

    The rows of x are points, each sequence `length` of them; those of Q, K, V, O are the heads'
    directions, `rank` of them a head, and `biases` belong to Q, K and V. `length` and `rank` must
    be powers of two, `gain` is one number or d of them, and `x` must be whole blocks of points for
    both kernels. Products take factors rounded to `dtype` and add in float32; all else is float32.
    """
    options = _Options(length, rank, scale, norm, self_mask, dtype, programs)
    return _sublayer(options, x, QKV, biases, O, output_bias, gain)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _sublayer(options, x, QKV, biases, O, output_bias, gain):  # noqa: E741
    return _forward(options, x, QKV, biases, O, output_bias, gain)[0]


def _forward(options, x, QKV, biases, O, output_bias, gain):  # noqa: E741
    program = options.programs.attention_forward
    held = _held(program, options)
    QKV, O = QKV.astype(options.dtype), O.astype(options.dtype)  # noqa: E741
    operands = (x, QKV, *biases, O, output_bias, gain)
    points = rows(held, x.shape[1])
    out, z = launch(
        partial(_forward_kernel, options=options),
        program,
        grid=(len(x) // held,),
        in_specs=[points, *map(whole, operands[1:])],
        out_specs=[points, points],
        out_shape=[jax.ShapeDtypeStruct(x.shape, x.dtype)] * 2,
        operands=operands,
    )
    return out, (x, z, QKV, biases, O, gain)


def _backward(options, saved, g):
    x, z, QKV, biases, O, gain = saved  # noqa: E741
    program = options.programs.attention_backward
    held, d, inner = _held(program, options), x.shape[1], len(O)
    count = len(x) // held
    weights = (QKV, *biases, O, gain)
    points, rounded = rows(held, d), jax.ShapeDtypeStruct(x.shape, options.dtype)
    dx, rounded_x, rounded_dz, dheads, mixed, sums = launch(
        partial(_backward_kernel, options=options),
        program,
        grid=(count,),
        in_specs=[points, points, points, *map(whole, weights)],
        out_specs=[
            *[points] * 3,
            rows(held, 3 * inner),
            rows(held, inner),
            rows(1, 2 * d + 3 * inner),
        ],
        out_shape=[
            jax.ShapeDtypeStruct(x.shape, x.dtype),
            rounded,
            rounded,
            jax.ShapeDtypeStruct((len(x), 3 * inner), options.dtype),
            jax.ShapeDtypeStruct((len(x), inner), options.dtype),
            jax.ShapeDtypeStruct((count, 2 * d + 3 * inner), x.dtype),
        ],
        operands=(x, z, g, *weights),
    )
    sums = jnp.sum(sums, axis=0)
    dbiases = tuple(sums[2 * d + c * inner : 2 * d + (c + 1) * inner] for c in range(3))
    dQKV = _over_points(dheads, rounded_x).reshape(QKV.shape)
    dO = _over_points(mixed, rounded_dz)
    return dx, dQKV, dbiases, dO, sums[:d], sums[d : d + gain.size]


_sublayer.defvjp(_forward, _backward)


def _held(program: Program, options: _Options) -> int:
    return max(program.points, options.length)


def _over_points(left: Float[Array, "points k"], right: Float[Array, "points d"]) -> Array:
    """left^T right, as a sum of products of parts: one product would leave most of a GPU idle."""
    points, k = left.shape
    splits = math.gcd(points // SIDE, min(LARGEST_SPLIT, max(1, SPLIT_ROWS // k)))
    parts = (array.reshape(splits, points // splits, -1) for array in (left, right))
    precision = "default" if left.dtype == jnp.bfloat16 else "highest"
    return total(
        jnp.einsum("spk,spd->skd", *parts, precision=precision, preferred_element_type=jnp.float32)
    )


def _forward_kernel(x, QKV, bq, bk, bv, O, output_bias, gain, out, z, *, options, dot):  # noqa: E741
    points = x[...]
    tile, heads, seen = _layout(points.shape[0], options)
    rounded = points.astype(O.dtype)

    def add_tile(i, added):
        part = pl.ds(i * tile, tile)
        q, k, v = _projected(dot, rounded, QKV, (bq, bk, bv), part, options.scale)

        def add_head(h, mixed):
            own = _own(q.shape, h, options.rank)
            w = _softmax(dot(_kept(own, q), k, 1, 1), seen)
            return mixed + dot(w.astype(v.dtype), _kept(own, v))

        mixed = _over_heads(heads, add_head, jnp.zeros(q.shape, jnp.float32))
        return added + dot(mixed.astype(O.dtype), O[part, :])

    added = jax.lax.fori_loop(0, O.shape[0] // tile, add_tile, jnp.zeros_like(points))
    moved = points + added + output_bias[...][None, :]
    z[...] = moved
    out[...] = normed(options.norm, moved, gain_in(gain))


def _backward_kernel(
    x,
    z,
    g,
    QKV,
    bq,
    bk,
    bv,
    O,  # noqa: E741
    gain,
    dx,
    rounded_x,
    rounded_dz,
    dheads,
    all_mixed,
    sums,
    *,
    options,
    dot,
):
    points = x[...].astype(O.dtype)
    dz, by_gain = normed_backward(options.norm, z[...], gain_in(gain), g[...])
    rounded = dz.astype(O.dtype)
    rounded_x[...], rounded_dz[...] = points, rounded
    inner, d = O.shape
    sums[0, pl.ds(0, d)], sums[0, pl.ds(d, d)] = jnp.sum(dz, axis=0), by_gain
    tile, heads, seen = _layout(points.shape[0], options)

    def add_tile(i, added):
        part = pl.ds(i * tile, tile)
        q, k, v = _projected(dot, points, QKV, (bq, bk, bv), part, options.scale)
        dmixed = dot(rounded, O[part, :], 1, 1).astype(O.dtype)

        def add_head(h, by_head):
            dq, dk, dv, mixed = by_head
            own = _own(q.shape, h, options.rank)
            # The columns of other heads are zero in every factor, and so in every sum.
            q_h, k_h, v_h, dmixed_h = (_kept(own, array) for array in (q, k, v, dmixed))
            w = _softmax(dot(q_h, k_h, 1, 1), seen)
            dw = dot(dmixed_h, v_h, 1, 1)
            ds = (w * (dw - jnp.sum(w * dw, axis=1)[:, None])).astype(q.dtype)
            w = w.astype(q.dtype)
            return (
                dq + dot(ds, k_h),
                dk + dot(ds, q_h, 0, 0),
                dv + dot(w, dmixed_h, 0, 0),
                mixed + dot(w, v_h),
            )

        zero = jnp.zeros(q.shape, jnp.float32)
        dq, dk, dv, mixed = _over_heads(heads, add_head, (zero, zero, zero, zero))
        all_mixed[:, part] = mixed.astype(O.dtype)
        for c, array in enumerate((options.scale * dq, dk, dv)):
            sums[0, pl.ds(2 * d + c * inner + i * tile, tile)] = jnp.sum(array, axis=0)
            array = array.astype(O.dtype)
            dheads[:, pl.ds(c * inner + i * tile, tile)] = array
            added += dot(array, QKV[c, part, :])
        return added

    dx[...] = dz + jax.lax.fori_loop(0, inner // tile, add_tile, jnp.zeros_like(dz))


def _layout(points: int, options: _Options) -> tuple[int, int, Array]:
    """Columns of a tile, heads in it, and which point (column) each point (row) may attend to."""
    tile = max(SIDE, options.rank)
    row = jax.lax.broadcasted_iota(jnp.int32, (points, points), 0)
    column = jax.lax.broadcasted_iota(jnp.int32, (points, points), 1)
    # Lengths and ranks are powers of two: numbers of one block differ in their last digits only.
    seen = (row ^ column) < options.length
    if options.self_mask:
        seen = seen & (row != column)
    return tile, tile // options.rank, seen


def _projected(dot: Any, points: Array, QKV: Any, biases: Any, part: Any, scale: float):
    q, k, v = (
        dot(points, QKV[c, part, :], 1, 1) + bias[part][None, :] for c, bias in enumerate(biases)
    )
    return [array.astype(points.dtype) for array in (scale * q, k, v)]


def _own(shape: tuple[int, ...], head: Any, rank: int) -> Array | None:
    """The columns of one head of a tile; None where it has the tile to itself."""
    if rank == shape[1]:
        return None
    return (jax.lax.broadcasted_iota(jnp.int32, shape, 1) ^ (head * rank)) < rank


def _kept(own: Array | None, array: Array) -> Array:
    return array if own is None else jnp.where(own, array, jnp.zeros_like(array))


def _over_heads(heads: int, add: Any, zero: Any) -> Any:
    return add(0, zero) if heads == 1 else jax.lax.fori_loop(0, heads, add, zero)


def _softmax(scores: Array, seen: Array) -> Array:
    scores = jnp.where(seen, scores, -jnp.inf)
    u = jnp.exp(scores - jnp.max(scores, axis=1)[:, None])
    return u * (1 / jnp.sum(u, axis=1)[:, None])
