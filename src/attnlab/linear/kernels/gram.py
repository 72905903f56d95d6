"""Loss and gradient of a FULL linear transformer over a batch of Gram matrices, written for speed.

Source: Vladymyrov et al. (arXiv 2402.14180); the mathematics is that of `final_weights` in
`linear_transformer` with the reverse pass by hand, and `jax.vmap` of that function is its test.
A batch of (d+1) x (d+1) products is slow as such; here the sequences are the innermost axis, a
few lanes of them at a time, so that a product is d + 1 vector multiply-adds that stay in cache.
"""

from collections.abc import Callable, Iterable
from functools import partial, reduce
from operator import add

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from attnlab.errors import UserError
from attnlab.linear.models.weights import FullWeights

LANE_BYTES = 128
"""Bytes of the innermost axis: two operands of 11 x 11 such lanes fit a first-level cache."""

Matrices = Float[Array, "blocks p p lanes"]


@partial(jax.jit, static_argnames="chunk")
def loss_and_gradient(
    weights: FullWeights,
    G: Float[Array, "batch p p"],
    targets: Float[Array, "batch d"],
    chunk: int | None = None,
) -> tuple[Float[Array, ""], FullWeights]:
    """The mean of 1/2 ||w^L(G) - target||^2 over the batch and its gradient in the weights.

    G must be symmetric, as a Gram matrix is. The batch is worked off `chunk` sequences at a time
    (512, or half of a smaller batch), so memory beyond the batch itself does not grow with it. For
    a population, `jax.vmap` over the weights, with a `chunk` that many times smaller on a CPU; on a
    GPU, take the whole batch as one. Compile time grows with the depth.
    """
    batch, p = _check(weights, G, targets)
    lanes = LANE_BYTES // G.dtype.itemsize
    # Two chunks at least: XLA undoes a loop of one, and then sees through a G that is a constant.
    chunk = min(512, -(-batch // 2)) if chunk is None else min(chunk, batch)
    blocks = -(-chunk // lanes)
    # A sequence of zeros answers w = 0: added ones cost no loss and have no gradient.
    added = -batch % (blocks * lanes)
    G = jnp.pad(G, ((0, added), (0, 0), (0, 0))).reshape(-1, blocks, lanes, p, p)
    targets = jnp.pad(targets, ((0, added), (0, 0))).reshape(-1, blocks, lanes, p - 1)

    def one(total: tuple[Array, FullWeights], chunk: tuple[Array, Array]):
        lanes_last = (jnp.moveaxis(part, 1, -1) for part in chunk)
        return jax.tree.map(jnp.add, total, _sums(weights, *lanes_last)), None

    zero = jnp.zeros((), G.dtype), jax.tree.map(jnp.zeros_like, weights)
    total, _ = jax.lax.scan(one, zero, (G, targets))
    return jax.tree.map(lambda part: part / batch, total)


def _sums(
    weights: FullWeights, G: Matrices, targets: Float[Array, "blocks d lanes"]
) -> tuple[Float[Array, ""], FullWeights]:
    """Loss and gradient summed over the sequences.

    A layer is S = sum_k P_k G Q_k, T = I + S, G' = T G T^T. With H = dl/dG' (symmetric), and for
    the last row R of T_L ... T_1 with row = (T_L ... T_{l+1})[-1], column = T_{l-1} ... T_1 dl/dR:
    dl/dS = 2 H T G + row column^T, dl/dP_k = dl/dS (G Q_k)^T, dl/dQ_k = G P_k^T dl/dS, and for the
    layer before dl/dG = T^T H T + sym(sum_k P_k^T dl/dS Q_k^T).
    """
    run = partial(_run, G[0, 0, 0, 0])
    layers = range(weights.depth)
    P, Q = (_per_head(factor) for factor in (weights.P, weights.Q))
    Gs, GQ, T = [G], [], []
    for i in layers:
        GQ.append([run(_product, Gs[i], Q_k) for Q_k in Q[i]])
        T.append(run(_transfer, P[i], GQ[i]))
        if i < weights.depth - 1:
            Gs.append(run(_times_transposed, run(_product, T[i], Gs[i]), T[i]))
    rows = [jnp.zeros_like(G[:, 0]).at[:, -1].set(1)]
    for T_l in reversed(T):
        rows.insert(0, run(_row_product, rows[0], T_l))
    residual = -rows[0][:, :-1] - targets
    column = jnp.concatenate([-residual, jnp.zeros_like(residual[:, :1])], axis=1)
    columns = [column]
    for T_l in T[:-1]:
        columns.append(run(_column_product, T_l, columns[-1]))

    H, dP, dQ = None, [], []
    for i in reversed(layers):
        HT = None if H is None else run(_product, H, T[i])
        dS = run(_increment_gradient, HT, Gs[i], rows[i + 1], columns[i])
        PdS = [run(_transposed_times, P_k, dS) for P_k in P[i]]
        dP.insert(0, jnp.stack([_contract(dS, GQ_k) for GQ_k in GQ[i]]))
        dQ.insert(0, jnp.stack([_contract(Gs[i], _transpose(PdS_k)) for PdS_k in PdS]))
        if i:
            H = run(_gram_gradient, T[i], HT, run(_summed, PdS, Q[i]))
    return jnp.sum(residual**2) / 2, FullWeights(jnp.stack(dP), jnp.stack(dQ))


def _transfer(P: list[Array], GQ: list[Array]) -> Matrices:
    """T = I + sum_k P_k G Q_k."""
    S = _total(_product(P_k, GQ_k) for P_k, GQ_k in zip(P, GQ, strict=True))
    return jnp.eye(S.shape[1], dtype=S.dtype)[None, :, :, None] + S


def _increment_gradient(HT: Array | None, G: Array, row: Array, column: Array) -> Matrices:
    """dl/dS = 2 H T G + row column^T; no G comes after the last layer, so no H."""
    read = row[:, :, None] * column[:, None, :]
    return read if HT is None else 2 * _product(HT, G) + read


def _summed(PdS: list[Array], Q: list[Array]) -> Matrices:
    """sum_k P_k^T dl/dS Q_k^T."""
    return _total(_times_transposed(PdS_k, Q_k) for PdS_k, Q_k in zip(PdS, Q, strict=True))


def _gram_gradient(T: Array, HT: Array | None, dG: Array) -> Matrices:
    """dl/dG = T^T H T + sym(what comes through S)."""
    through = (dG + _transpose(dG)) / 2
    return through if HT is None else _transposed_times(T, HT) + through


def _product(A: Array, B: Array) -> Array:
    """A B, sequence by sequence, as d + 1 multiply-adds of whole lanes."""
    return _total(A[:, :, k, None] * B[:, None, k] for k in range(B.shape[1]))


def _times_transposed(A: Array, B: Array) -> Array:
    return _product(A, _transpose(B))


def _transposed_times(A: Array, B: Array) -> Array:
    return _product(_transpose(A), B)


def _row_product(row: Array, T: Array) -> Array:
    return _total(row[:, k, None] * T[:, k] for k in range(T.shape[1]))


def _column_product(T: Array, column: Array) -> Array:
    return _total(T[:, :, k] * column[:, k, None] for k in range(T.shape[1]))


def _contract(A: Matrices, B: Matrices) -> Float[Array, "p p"]:
    """The sum over the sequences of A B^T."""
    A, B = (part.reshape(*part.shape[:2], -1) for part in (A, B))
    return jnp.einsum("nic,nkc->nik", A, B, precision="highest").sum(0)


def _total(terms: Iterable[Array]) -> Array:
    return reduce(add, terms)


def _transpose(X: Array) -> Array:
    return X.swapaxes(1, 2)


def _per_head(factors: Float[Array, "layers heads p p"]) -> list[list[Array]]:
    return [[factor[None, :, :, None] for factor in layer] for layer in factors]


def _run(witness: Float[Array, ""], product: Callable[..., Array], *operands) -> Array:
    """`product(*operands)`, computed once and kept in memory.

    On a CPU, XLA merges a product into the next one and then computes it anew for each of the
    d + 1 terms there; `jax.lax.optimization_barrier` is dropped before that. A branch is not
    merged, and this one is always taken but for an input that is NaN, whose answer is NaN.
    """
    shape = jax.eval_shape(product, *operands)

    def undefined(*_) -> Array:
        return jnp.full(shape.shape, jnp.nan, shape.dtype)

    def branched(witness: Array, *operands) -> Array:
        return jax.lax.cond(witness == witness, product, undefined, *operands)

    def plain(_: Array, *operands) -> Array:
        return product(*operands)

    return jax.lax.platform_dependent(witness, *operands, cpu=branched, default=plain)


def _check(weights: FullWeights, G: Array, targets: Array) -> tuple[int, int]:
    p = weights.P.shape[-1]
    if G.shape[1:] != (p, p) or targets.shape != (len(G), p - 1):
        raise UserError(
            f"G and targets must have shapes (batch, {p}, {p}) and (batch, {p - 1}) for these "
            f"weights, got {G.shape} and {targets.shape}."
        )
    return len(G), p
