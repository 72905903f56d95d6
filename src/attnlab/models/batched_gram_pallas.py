"""The loss and gradient of `batched_gram` as one GPU kernel, through Pallas and Triton.

A program holds a few sequences, one after the other: G and T of all layers stay in registers as
16 x 16 tiles (d + 1 is padded), so that memory is read once for G and written once for the
gradient. The mathematics, and the names, are those of `batched_gram._sums`.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jaxtyping import Array, Float

from attnlab.errors import UserError
from attnlab.models.linear_weights import FullWeights

TILE = 16
"""The smallest side of a tile that Triton multiplies."""


@partial(jax.jit, static_argnames=("sequences", "warps", "interpret"))
def loss_and_gradient(
    weights: FullWeights,
    G: Float[Array, "batch p p"],
    targets: Float[Array, "batch d"],
    sequences: int = 8,
    warps: int = 2,
    interpret: bool = False,
) -> tuple[Float[Array, ""], FullWeights]:
    """As `batched_gram.loss_and_gradient`, for d <= 15; `sequences` go to one program.

    `interpret` runs the kernel as plain JAX, which is for tests on a machine without a GPU.
    """
    batch, p = G.shape[:2]
    if p > TILE:
        raise UserError(f"d must be at most {TILE - 1} for the fused kernel, got {p - 1}.")
    side, added = (0, TILE - p), (0, -batch % sequences)
    factors = [jnp.pad(part, ((0, 0), (0, 0), side, side)) for part in (weights.P, weights.Q)]
    G = jnp.pad(G, (added, side, side))
    targets = jnp.pad(targets, (added, (0, TILE - p + 1)))
    programs = len(G) // sequences
    shape = (weights.depth, weights.heads, TILE, TILE)
    whole = pl.BlockSpec(shape, lambda i: (0, 0, 0, 0))
    part = pl.BlockSpec((1, *shape), lambda i: (i, 0, 0, 0, 0))
    call = pl.pallas_call(
        partial(_kernel, p=p, sequences=sequences),
        grid=(programs,),
        in_specs=[
            whole,
            whole,
            pl.BlockSpec((sequences, TILE, TILE), lambda i: (i, 0, 0)),
            pl.BlockSpec((sequences, TILE), lambda i: (i, 0)),
        ],
        out_specs=[pl.BlockSpec((1,), lambda i: (i,)), part, part],
        out_shape=[
            jax.ShapeDtypeStruct((programs,), G.dtype),
            *[jax.ShapeDtypeStruct((programs, *shape), G.dtype)] * 2,
        ],
        compiler_params=None if interpret else _triton(warps),
        interpret=interpret,
    )
    loss, dP, dQ = (jnp.sum(part, axis=0) / batch for part in call(*factors, G, targets))
    return loss, FullWeights(dP[..., :p, :p], dQ[..., :p, :p])


def _kernel(P, Q, G, targets, loss, dP, dQ, *, p: int, sequences: int) -> None:
    depth, heads = P.shape[:2]
    index = jax.lax.broadcasted_iota(jnp.int32, (TILE, TILE), 0)
    identity = (index == jax.lax.broadcasted_iota(jnp.int32, (TILE, TILE), 1)).astype(G.dtype)
    position = jax.lax.iota(jnp.int32, TILE)
    last = (position == p - 1).astype(G.dtype)

    def one(s, total):
        loss, dP, dQ = total
        Gs, T, rows = [G[s]], [], [last]
        for i in range(depth):
            S = sum(_dot(P[i, k], _dot(Gs[i], Q[i, k])) for k in range(heads))
            T.append(identity + S)
            Gs.append(_dot(_dot(T[i], Gs[i]), T[i].T))
        for T_l in reversed(T):
            rows.insert(0, jnp.sum(rows[0][:, None] * T_l, axis=0))
        residual = jnp.where(position < p - 1, -rows[0] - targets[s], jnp.zeros_like(last))
        columns = [-residual]
        for T_l in T:
            columns.append(jnp.sum(T_l * columns[-1][None, :], axis=1))
        H, dP, dQ = jnp.zeros_like(identity), list(dP), list(dQ)
        for i in reversed(range(depth)):
            HT = _dot(H, T[i])
            dS = 2 * _dot(HT, Gs[i]) + rows[i + 1][:, None] * columns[i][None, :]
            H = _dot(T[i].T, HT)
            for k in range(heads):
                GQ, PdS = _dot(Gs[i], Q[i, k]), _dot(P[i, k].T, dS)
                dP[i * heads + k] += _dot(dS, GQ.T)
                dQ[i * heads + k] += _dot(Gs[i], PdS)
                dG = _dot(PdS, Q[i, k].T)
                H += (dG + dG.T) / 2
        return loss + jnp.sum(residual * residual) / 2, tuple(dP), tuple(dQ)

    zeros = (jnp.zeros_like(identity),) * (depth * heads)
    total = jax.lax.fori_loop(0, sequences, one, (jnp.zeros((), G.dtype), zeros, zeros))
    loss[0] = total[0]
    for i in range(depth):
        for k in range(heads):
            dP[0, i, k] = total[1][i * heads + k]
            dQ[0, i, k] = total[2][i * heads + k]


def _dot(left: Array, right: Array) -> Array:
    # TF32 would lose a polynomial of this degree.
    return jnp.dot(left, right, precision="highest")


def _triton(warps: int):
    # Imported here: a machine without the GPU plugin needs no Triton.
    from jax.experimental.pallas import triton

    return triton.CompilerParams(num_warps=warps, num_stages=1)
