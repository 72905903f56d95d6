"""Loss and gradient of FULL linear transformers over a batch of Gram matrices, for CPUs.

Source: Vladymyrov et al. (arXiv 2402.14180). The mathematics is that of `final_weights` in
`attnlab.linear.models.transformer`, with the reverse pass written by hand; `jax.vmap` of that
function is its test. It stays for its speed on a CPU, which `benchmarks/linear.py` measures against
plain XLA and PyTorch, and as the test of the fused GPU kernel in `gram_cuda`. The layout is that of
`simd_layout`: the sequences are the innermost axis, and a product stays in the cache.
"""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from attnlab.errors import UserError
from attnlab.linear.kernels.simd_layout import Matrices, matrix_product, sum_terms
from attnlab.linear.models.weights import FullWeights

SIMD_BYTES = 128
"""Bytes of the innermost axis: two operands of 11 x 11 such rows fit into a first-level cache."""


@partial(jax.jit, static_argnames="chunk")
def loss_and_gradient(
    weights: FullWeights,
    G: Float[Array, "batch p p"],
    targets: Float[Array, "batch d"],
    chunk: int | None = None,
) -> tuple[Float[Array, ""], FullWeights]:
    """The mean of 1/2 ||w^L(G) - target||^2 over the batch, and its gradient in the weights.

    For a population use `jax.vmap` over the weights. Compile time grows with the depth.

    Parameters
    ----------
    weights
        One FULL network.
    G
        Gram matrices, which must be symmetric.
    targets
        The weights that the network should answer with, one row per sequence.
    chunk
        Sequences computed at once: 512, or half of a smaller batch, unless given. Memory beyond
        the batch itself does not grow with the batch. For a population on a CPU, divide it by the
        number of members; on a GPU, take the whole batch.
    """
    batch, p = _check(weights, G, targets)
    width = SIMD_BYTES // G.dtype.itemsize
    # At least two chunks, because XLA unrolls a loop of one and folds a constant G into it.
    chunk = min(512, -(-batch // 2)) if chunk is None else min(chunk, batch)
    blocks = -(-chunk // width)
    # The network answers a sequence of zeros with w = 0: padding changes neither loss nor gradient.
    added = -batch % (blocks * width)
    G = jnp.pad(G, ((0, added), (0, 0), (0, 0))).reshape(-1, blocks, width, p, p)
    targets = jnp.pad(targets, ((0, added), (0, 0))).reshape(-1, blocks, width, p - 1)

    def one(total: tuple[Array, FullWeights], chunk: tuple[Array, Array]):
        simd_layout = (jnp.moveaxis(part, 1, -1) for part in chunk)
        return jax.tree.map(jnp.add, total, _sums(weights, *simd_layout)), None

    zero = jnp.zeros((), G.dtype), jax.tree.map(jnp.zeros_like, weights)
    total, _ = jax.lax.scan(one, zero, (G, targets))
    return jax.tree.map(lambda part: part / batch, total)


def _sums(
    weights: FullWeights, G: Matrices, targets: Float[Array, "blocks d simd"]
) -> tuple[Float[Array, ""], FullWeights]:
    """Loss and gradient, summed over the sequences.

    A layer is S = sum_k P_k G Q_k, T = I + S, G' = T G T^T. With H = dl/dG' (symmetric), and for
    the last row R of T_L ... T_1 with row = (T_L ... T_{l+1})[-1], column = T_{l-1} ... T_1 dl/dR:
    dl/dS = 2 H T G + row column^T, dl/dP_k = dl/dS (G Q_k)^T, dl/dQ_k = G P_k^T dl/dS, and for the
    layer before dl/dG = T^T H T + sym(sum_k P_k^T dl/dS Q_k^T).
    """
    run = partial(_run, G[0, 0, 0, 0])
    layers = range(weights.depth)
    P, Q = (_per_head(jnp.asarray(factor)) for factor in (weights.P, weights.Q))
    Gs, GQ, T = [G], [], []
    for i in layers:
        GQ.append([run(matrix_product, Gs[i], Q_k) for Q_k in Q[i]])
        T.append(run(_transfer, P[i], GQ[i]))
        if i < weights.depth - 1:
            Gs.append(run(_times_transposed, run(matrix_product, T[i], Gs[i]), T[i]))
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
        HT = None if H is None else run(matrix_product, H, T[i])
        dS = run(_increment_gradient, HT, Gs[i], rows[i + 1], columns[i])
        PdS = [run(_transposed_times, P_k, dS) for P_k in P[i]]
        dP.insert(0, jnp.stack([_contract(dS, GQ_k) for GQ_k in GQ[i]]))
        dQ.insert(0, jnp.stack([_contract(Gs[i], _transpose(PdS_k)) for PdS_k in PdS]))
        if i:
            H = run(_gram_gradient, T[i], HT, run(_summed, PdS, Q[i]))
    return jnp.sum(residual**2) / 2, FullWeights(jnp.stack(dP), jnp.stack(dQ))


def _transfer(P: list[Array], GQ: list[Array]) -> Matrices:
    """T = I + sum_k P_k G Q_k."""
    S = sum_terms(matrix_product(P_k, GQ_k) for P_k, GQ_k in zip(P, GQ, strict=True))
    return jnp.eye(S.shape[1], dtype=S.dtype)[None, :, :, None] + S


def _increment_gradient(HT: Array | None, G: Array, row: Array, column: Array) -> Matrices:
    """dl/dS = 2 H T G + row column^T; there is no H after the last layer."""
    read = row[:, :, None] * column[:, None, :]
    return read if HT is None else 2 * matrix_product(HT, G) + read


def _summed(PdS: list[Array], Q: list[Array]) -> Matrices:
    """sum_k P_k^T dl/dS Q_k^T."""
    return sum_terms(_times_transposed(PdS_k, Q_k) for PdS_k, Q_k in zip(PdS, Q, strict=True))


def _gram_gradient(T: Array, HT: Array | None, dG: Array) -> Matrices:
    """dl/dG = T^T H T + sym(dl/dG through S)."""
    through = (dG + _transpose(dG)) / 2
    return through if HT is None else _transposed_times(T, HT) + through


def _times_transposed(A: Array, B: Array) -> Array:
    return matrix_product(A, _transpose(B))


def _transposed_times(A: Array, B: Array) -> Array:
    return matrix_product(_transpose(A), B)


def _row_product(row: Array, T: Array) -> Array:
    return sum_terms(row[:, k, None] * T[:, k] for k in range(T.shape[1]))


def _column_product(T: Array, column: Array) -> Array:
    return sum_terms(T[:, :, k] * column[:, k, None] for k in range(T.shape[1]))


def _contract(A: Matrices, B: Matrices) -> Float[Array, "p p"]:
    """A B^T, summed over the sequences."""
    A, B = (part.reshape(*part.shape[:2], -1) for part in (A, B))
    return jnp.einsum("nic,nkc->nik", A, B, precision="highest").sum(0)


def _transpose(X: Array) -> Array:
    return X.swapaxes(1, 2)


def _per_head(factors: Float[Array, "layers heads p p"]) -> list[list[Array]]:
    return [[factor[None, :, :, None] for factor in layer] for layer in factors]


def _run(witness: Float[Array, ""], product: Callable[..., Array], *operands) -> Array:
    """`product(*operands)`, computed once and kept in memory.

    On a CPU, XLA merges a product into the next one and computes it again for each of the d + 1
    terms there; `jax.lax.optimization_barrier` is removed before that happens. A branch is never
    merged, and this branch is always taken unless the input is NaN, where the result is NaN.
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
