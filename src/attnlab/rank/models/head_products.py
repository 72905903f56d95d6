"""The products inside attention heads, q against k and weights against v, for many small heads.

Heads of rank 8 on 16 points are products of 16 x 8 by 8 x 16 matrices, too small for a matrix
library: the call costs more than the arithmetic. Here the short sums are written out term by term,
so that the compiler generates loops over the last axis, the batch of b sequences; the derivative
is written out in the same way. Longer sums are left to matrix products. Where the attention weights
of all heads are more than `BLOCK` bytes they are computed in blocks, and again for the derivative.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from attnlab.rank.models.choices import Products, Scores

# The biases of q, k and v.
Biases = tuple[Float[Array, "H r"] | None, Float[Array, "H r"] | None, Float[Array, "H v"] | None]

UNROLLED_POINTS = 32  # the longest sums that "auto" writes out: the compile time grows with them
UNROLLED_RANK = 16
CACHE = 1 << 18  # bytes of attention weights that fit into a core's second cache with all the rest
BLOCK = 1 << 27  # the most bytes of attention weights at once, per member of a population


def attend(
    q: Float[Array, "H r m b"],
    k: Float[Array, "H r n b"],
    v: Float[Array, "H v n b"],
    biases: Biases = (None, None, None),
    scores: Scores = "softmax",
    self_mask: bool = False,
    products: Products = "auto",
) -> Float[Array, "H v m b"]:
    """sum_j v_j phi(<k_j, q_i>) for every head and query i, phi over the keys j.

    Parameters
    ----------
    q, k, v
        Queries, keys and values of H heads for b sequences.
    biases
        One vector per head for each of q, k and v, or None; they are added first.
    scores
        Hardmax shares the weight among keys that tie; linear takes the scores as weights.
    self_mask
        Whether key i has weight zero for query i.
    products
        "unrolled" writes short sums out, "dot" uses matrix products, "auto" chooses by size.
    """
    if written_out(products, max(q.shape[2], k.shape[2]), max(q.shape[1], v.shape[1])):
        return _unrolled(scores, self_mask, q, k, v, biases)
    q, k, v = (_biased(array, bias) for array, bias in zip((q, k, v), biases, strict=True))
    heads, _, queries, sequences = q.shape
    if weight_bytes(heads, queries, k.shape[2], sequences, q.dtype.itemsize) <= BLOCK:
        return _dot(scores, self_mask, q, k, v)
    return _dot_in_blocks(scores, self_mask, q, k, v)


def written_out(products: Products, points: int, rank: int) -> bool:
    """Whether the sums over this many points and ranks are written out."""
    short = points <= UNROLLED_POINTS and rank <= UNROLLED_RANK
    return products == "unrolled" or (products == "auto" and short)


def weight_bytes(heads: int, queries: int, keys: int, sequences: int, number: int) -> int:
    """Bytes of the attention weights of all heads, at `number` bytes each."""
    return heads * queries * keys * sequences * number


def block_of(heads: int, queries: int, keys: int, sequences: int, number: int) -> tuple[int, int]:
    """Heads and queries whose attention weights are computed at once: divisors of those given.

    They are the most whose weights have at most `BLOCK` bytes: whole heads where one fits.
    """
    row = weight_bytes(1, 1, keys, sequences, number)
    few = _divisor(heads, BLOCK // (row * queries))
    return few, _divisor(queries, BLOCK // (row * few))


def _divisor(size: int, most: int) -> int:
    """The largest divisor of `size` that is at most `most`, and 1 at least."""
    return max(count for count in range(1, max(1, min(most, size)) + 1) if size % count == 0)


def _dot(
    scores: Scores, self_mask: bool, q: Array, k: Array, v: Array, first: Any = 0
) -> Float[Array, "H v m b"]:
    """By matrix products; query 0 is point `first`."""
    s = jnp.einsum("hrib,hrjb->hijb", q, k, precision="highest")
    w = _normalised(scores, s, self_mask, _whole_max, _whole_sum, first)
    return jnp.einsum("hijb,hvjb->hvib", w, v, precision="highest")


def _dot_in_blocks(scores: Scores, self_mask: bool, q: Array, k: Array, v: Array) -> Array:
    """The same for some heads and queries at a time; no weight is kept for the derivative."""
    heads, rank, points, b = q.shape
    few, rows = block_of(heads, points, k.shape[2], b, q.dtype.itemsize)

    def some_heads(part: tuple[Array, Array, Array]) -> Array:
        q, k, v = part

        @jax.checkpoint
        def some_queries(at: tuple[Array, Array]) -> Array:
            return _dot(scores, self_mask, at[1], k, v, at[0])

        parts = jnp.moveaxis(q.reshape(few, rank, -1, rows, b), 2, 0)
        mixed = jax.lax.map(some_queries, (jnp.arange(0, points, rows), parts))
        return jnp.moveaxis(mixed, 0, 2).reshape(few, v.shape[1], points, b)

    parts = tuple(array.reshape(-1, few, *array.shape[1:]) for array in (q, k, v))
    return jax.lax.map(some_heads, parts).reshape(heads, v.shape[1], points, b)


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _unrolled(
    scores: Scores, self_mask: bool, q: Array, k: Array, v: Array, biases: Biases
) -> Array:
    def mix(q: Array, k: Array, v: Array) -> tuple[Array]:
        w = _unrolled_weights(scores, self_mask, q, k)
        return (_total([w[:, None, :, j] * v[:, :, None, j] for j in range(v.shape[2])]),)

    return _by_heads(mix, (q, k, v), biases)[0]


def _unrolled_forward(
    scores: Scores, self_mask: bool, q: Array, k: Array, v: Array, biases: Biases
):
    return _unrolled(scores, self_mask, q, k, v, biases), (q, k, v, biases)


def _unrolled_backward(scores: Scores, self_mask: bool, saved: tuple, g: Array):
    # The weights are computed again, which is faster than storing and loading them.
    def pull(q: Array, k: Array, v: Array, g: Array) -> tuple[Array, Array, Array]:
        w = _unrolled_weights(scores, self_mask, q, k)
        queries, keys = w.shape[1], w.shape[2]
        dw = _over_rank(g, v)
        if scores == "softmax":
            ds = w * (dw - _unrolled_sum(w * dw))
        elif scores == "hardmax":
            ds = jnp.zeros_like(w)
        else:
            ds = jnp.where(_own(w), 0, dw) if self_mask else dw
        dq = _total([ds[:, None, :, j] * k[:, :, None, j] for j in range(keys)])
        dk = _total([ds[:, None, i, :] * q[:, :, i, None] for i in range(queries)])
        dv = _total([w[:, None, i, :] * g[:, :, i, None] for i in range(queries)])
        return dq, dk, dv

    *arrays, biases = saved
    pulled = _by_heads(pull, (*arrays, g), (*biases, None))
    by_bias = (
        None
        if bias is None
        else total_over_columns(array.reshape(bias.size, -1)).reshape(bias.shape)
        for array, bias in zip(pulled, biases, strict=True)
    )
    return *pulled, tuple(by_bias)


_unrolled.defvjp(_unrolled_forward, _unrolled_backward)


def total_over_columns(g: Float[Array, "k columns"]) -> Float[Array, " k"]:
    """The sum of the columns as a product with ones, which is faster than a sum on a CPU."""
    return jnp.dot(g, jnp.ones(g.shape[1], g.dtype), precision="highest")


def _by_heads(
    function: Callable[..., tuple[Array, ...]],
    arrays: tuple[Float[Array, "H _ _ b"], ...],
    biases: tuple[Float[Array, "H _"] | None, ...],
) -> tuple[Array, ...]:
    """`function` of the arrays with their biases added.

    It is applied to a few heads at a time, whose scores on a CPU stay in the cache.
    """
    q, k = arrays[:2]
    heads, most = len(q), CACHE if jax.default_backend() == "cpu" else BLOCK
    bytes_per_head = weight_bytes(1, q.shape[2], k.shape[2], q.shape[3], q.dtype.itemsize)
    if heads * bytes_per_head <= most:
        return function(*map(_biased, arrays, biases))
    few = _divisor(heads, most // bytes_per_head)

    def some_heads(at: tuple[Array, Any]) -> tuple[Array, ...]:
        # The compiler repeats a cheap operation such as a slice in every term that reads it, and
        # then finds no vector instructions. It computes a division, here by one, only once.
        i, part = at
        one = (i < heads).astype(q.dtype)
        return function(*(_biased(array, bias) / one for array, bias in zip(*part, strict=True)))

    parts = jax.tree.map(lambda a: a.reshape(-1, few, *a.shape[1:]), (arrays, biases))
    out = jax.lax.map(some_heads, (jnp.arange(heads // few), parts))
    return jax.tree.map(lambda a: a.reshape(heads, *a.shape[2:]), out)


def _biased(array: Float[Array, "H r n b"], bias: Float[Array, "H r"] | None) -> Array:
    return array if bias is None else array + bias[:, :, None, None].astype(array.dtype)


def _unrolled_weights(scores: Scores, self_mask: bool, q: Array, k: Array) -> Array:
    return _normalised(scores, _over_rank(q, k), self_mask, _unrolled_max, _unrolled_sum)


def _normalised(scores: Scores, s: Array, self_mask: bool, largest, total, first: Any = 0) -> Array:
    own = _own(s, first) if self_mask else None
    if scores == "linear":
        return s if own is None else jnp.where(own, 0, s)
    if own is not None:
        s = jnp.where(own, -jnp.inf, s)
    top = jax.lax.stop_gradient(largest(s))
    u = (s == top).astype(s.dtype) if scores == "hardmax" else jnp.exp(s - top)
    return u * (1 / total(u))


def _own(s: Array, first: Any = 0) -> Bool[Array, "H m n b"]:
    own = first + jnp.arange(s.shape[1])[:, None] == jnp.arange(s.shape[2])[None]
    return jnp.broadcast_to(own[None, :, :, None], s.shape)


def _over_rank(
    left: Float[Array, "H r m b"], right: Float[Array, "H r n b"]
) -> Float[Array, "H m n b"]:
    return _total([left[:, a, :, None] * right[:, a, None, :] for a in range(left.shape[1])])


def _total(terms: list[Array]) -> Array:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _unrolled_sum(w: Float[Array, "H m n b"]) -> Float[Array, "H m 1 b"]:
    return _total([w[:, :, j, None] for j in range(w.shape[2])])


def _unrolled_max(s: Float[Array, "H m n b"]) -> Float[Array, "H m 1 b"]:
    top = s[:, :, 0, None]
    for j in range(1, s.shape[2]):
        top = jnp.maximum(top, s[:, :, j, None])
    return top


def _whole_sum(w: Float[Array, "H m n b"]) -> Float[Array, "H m 1 b"]:
    return jnp.sum(w, axis=2, keepdims=True)


def _whole_max(s: Float[Array, "H m n b"]) -> Float[Array, "H m 1 b"]:
    return jnp.max(s, axis=2, keepdims=True)
