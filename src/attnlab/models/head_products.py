"""The products inside attention heads, q against k and weights against v, for many small heads.

Heads of rank 8 on 16 points are products of 16 x 8 by 8 x 16, too small for a matrix library: the
call costs more than the arithmetic. Here the short sums are written out term by term, so that the
compiler makes loops over the last axis, the batch of b sequences; the derivative is written out the
same way. Longer sums are left to dot products.
"""

from functools import partial
from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

Scores = Literal["softmax", "hardmax", "linear"]
Products = Literal["auto", "unrolled", "dot"]

UNROLLED_POINTS = 32  # longest sums that "auto" writes out: the compile time grows with them
UNROLLED_RANK = 16


def attend(
    q: Float[Array, "H r m b"],
    k: Float[Array, "H r n b"],
    v: Float[Array, "H v n b"],
    scores: Scores = "softmax",
    self_mask: bool = False,
    products: Products = "auto",
) -> Float[Array, "H v m b"]:
    """sum_j v_j phi(<k_j, q_i>) for every head and query i, phi over the keys j.

    Hardmax shares the weight among keys that tie; linear takes the scores as weights; under
    `self_mask` key i has weight zero for query i.
    """
    if products == "auto":
        short = max(q.shape[2], k.shape[2]) <= UNROLLED_POINTS
        low = max(q.shape[1], v.shape[1]) <= UNROLLED_RANK
        products = "unrolled" if short and low else "dot"
    if products == "unrolled":
        return _unrolled(scores, self_mask, q, k, v)
    s = jnp.einsum("hrib,hrjb->hijb", q, k, precision="highest")
    w = _normalised(scores, s, self_mask, _whole_max, _whole_sum)
    return jnp.einsum("hijb,hvjb->hvib", w, v, precision="highest")


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _unrolled(scores: Scores, self_mask: bool, q: Array, k: Array, v: Array) -> Array:
    return _unrolled_forward(scores, self_mask, q, k, v)[0]


def _unrolled_forward(scores: Scores, self_mask: bool, q: Array, k: Array, v: Array):
    s = _kept(_over_rank(q, k))
    w = _kept(_normalised(scores, s, self_mask, _unrolled_max, _unrolled_sum))
    return _total([w[:, None, :, j] * v[:, :, None, j] for j in range(v.shape[2])]), (q, k, v, w)


def _unrolled_backward(scores: Scores, self_mask: bool, saved, g: Array):
    q, k, v, w = saved
    queries, keys = w.shape[1], w.shape[2]
    dw = _kept(_over_rank(g, v))
    if scores == "softmax":
        ds = w * (dw - _unrolled_sum(w * dw))
    elif scores == "hardmax":
        ds = jnp.zeros_like(w)
    else:
        ds = jnp.where(_own(w), 0, dw) if self_mask else dw
    ds = _kept(ds)
    dq = _total([ds[:, None, :, j] * k[:, :, None, j] for j in range(keys)])
    dk = _total([ds[:, None, i, :] * q[:, :, i, None] for i in range(queries)])
    dv = _total([w[:, None, i, :] * g[:, :, i, None] for i in range(queries)])
    return dq, dk, dv


_unrolled.defvjp(_unrolled_forward, _unrolled_backward)


def _normalised(scores: Scores, s: Array, self_mask: bool, largest, total) -> Array:
    own = _own(s) if self_mask else None
    if scores == "linear":
        return s if own is None else jnp.where(own, 0, s)
    if own is not None:
        s = jnp.where(own, -jnp.inf, s)
    top = jax.lax.stop_gradient(largest(s))
    u = (s == top).astype(s.dtype) if scores == "hardmax" else jnp.exp(s - top)
    return u / total(_kept(u))


def _own(s: Array) -> Bool[Array, "H m n b"]:
    return jnp.broadcast_to(jnp.eye(s.shape[1], s.shape[2], dtype=bool)[None, :, :, None], s.shape)


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


def _kept(array: Array) -> Array:
    # Without it the compiler computes the array anew for every term that reads it.
    return jax.lax.optimization_barrier(array)
