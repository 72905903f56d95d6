"""The Jacobian of w^L in the omegas of a diagonal linear transformer, for many sequences at once.

This is forward-mode differentiation written out. A layer acts on (Sigma, alpha, lambda), and the
tangents in the omegas of earlier layers pass through it, the four of one layer together, so that
the same programs serve every layer of every depth and their operands stay in the cache. The layout
is that of `simd_layout`; the recursion is that of Vladymyrov et al. (arXiv 2402.14180). It stays
beside JAX's own differentiation of `final_weights`, which is its test, for its speed on a CPU: the
training of DIAG spends most of its time here.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from attnlab.linear.kernels.simd_layout import (
    SIMD_WIDTH,
    Matrices,
    Pattern,
    Rows,
    from_simd_layout,
    inner_products,
    matrix_product,
    patterns,
    rows_times_vector,
    run,
    sum_terms,
    symmetric_times_vector,
    to_simd_layout,
)

Vectors = Float[Array, "blocks d simd"]
Scalars = Float[Array, "blocks simd"]
Right = Float[Array, "blocks p d simd"]
ByOmega = Float[Array, "blocks 4 simd"]
VectorsByOmega = Float[Array, "blocks 4 d simd"]
MatricesByOmega = Float[Array, "blocks 4 d d simd"]


class Layer(NamedTuple):
    """The quantities of one layer that its tangents need; A = I + xx Sigma, t = 1 + yy lambda.

    The moments after the layer are Sigma' = A Sigma A + xy (gamma alpha^T + alpha gamma^T) for
    gamma = A alpha + xy lambda alpha / 2,
    alpha' = t (A alpha + xy lambda alpha) + yx (A Sigma alpha + xy |alpha|^2 alpha) and
    lambda' = t^2 lambda + 2 t yx |alpha|^2 + yx^2 alpha^T Sigma alpha. `left` is the last row of
    T_L ... T_{l+1}, and `right` is T_{l-1} ... T_1 without its last column: a change of T_l moves
    -w^L by left dT_l right.
    """

    omega: Float[Array, " 4"]  # xx, xy, yx, yy
    Sigma: Matrices
    alpha: Vectors
    lam: Scalars
    A: Matrices
    A_alpha: Vectors
    Sigma_alpha: Vectors
    gamma: Vectors
    square: Scalars  # |alpha|^2
    t: Scalars
    left: Rows
    right: Right


class Tangents(NamedTuple):
    """The derivatives of the moments in the four omegas of one layer.

    That of Sigma is half + half^T.
    """

    half: MatricesByOmega
    alpha: VectorsByOmega
    lam: ByOmega


class Change(NamedTuple):
    """left dS, split into inputs and label, for a change dS of the layer's S(G)."""

    x: VectorsByOmega
    y: ByOmega


class Products(NamedTuple):
    """E = dSigma A, once = d(Sigma alpha) and twice = dSigma Sigma alpha."""

    E: MatricesByOmega
    once: VectorsByOmega
    twice: VectorsByOmega


def diagonal_jacobian(
    omegas: Float[Array, "layers 4"], G: Float[Array, "N p p"]
) -> tuple[Float[np.ndarray, "N d"], Float[np.ndarray, "N 4*layers d"]]:
    """w^L, and its derivatives in xx, xy, yx, yy of layer 1, then of layer 2, and so on."""
    N = len(G)
    filled = np.asarray(G)[np.arange(N + -N % SIMD_WIDTH) % N]
    layers = patterns(np.asarray(omegas), G.shape[1])
    row, J = jacobian_in_simd_layout(layers, jnp.asarray(to_simd_layout(filled)))
    return -from_simd_layout(row)[:N, :-1], np.concatenate(
        [from_simd_layout(part)[:N] for part in J], axis=1
    )


def jacobian_in_simd_layout(
    layers: list[Pattern], G: Matrices
) -> tuple[Rows, list[VectorsByOmega]]:
    """(-w^L, a), and the derivatives of w^L in the four omegas of every layer."""
    before, rows = run(layers, G)
    right = _first_right(G)
    groups: list[tuple[Tangents, VectorsByOmega]] = []  # one for every layer so far
    for pattern, G, left in zip(layers[:-1], before[:-1], rows[1:-1], strict=True):
        layer = _layer(pattern, G, left, right)
        for place, (tangents, J) in enumerate(groups):
            change, products = _contractions(layer, tangents)
            groups[place] = _propagated(layer, tangents, products), _with_layer(change, right, J)
        groups.append((_own_tangents(layer, _square_of(layer.Sigma)), _own_jacobian(layer)))
        right = _next_right(pattern, G, right)
    last = _layer(layers[-1], before[-1], rows[-1], right)
    J = [_with_layer(_change(last, tangents), right, J) for tangents, J in groups]
    return rows[0], [*J, _own_jacobian(last)]


@jax.jit
def _layer(pattern: Pattern, G: Matrices, left: Rows, right: Right) -> Layer:
    omega = jnp.stack([pattern[0, i, j, 0] for i in (0, -1) for j in (0, -1)])
    Sigma, alpha, lam = G[:, :-1, :-1], G[:, :-1, -1], G[:, -1, -1]
    Sigma_alpha = symmetric_times_vector(Sigma, alpha)
    A = jnp.eye(alpha.shape[1], dtype=G.dtype)[None, :, :, None] + omega[0] * Sigma
    A_alpha = alpha + omega[0] * Sigma_alpha
    gamma = A_alpha + omega[1] / 2 * lam[:, None] * alpha
    square, t = inner_products(alpha, alpha), 1 + omega[3] * lam
    return Layer(omega, Sigma, alpha, lam, A, A_alpha, Sigma_alpha, gamma, square, t, left, right)


@jax.jit
def _first_right(G: Matrices) -> Right:
    blocks, p, _, width = G.shape
    eye = jnp.eye(p, p - 1, dtype=G.dtype)
    return jnp.broadcast_to(eye[None, :, :, None], (blocks, p, p - 1, width))


@jax.jit
def _next_right(pattern: Pattern, G: Matrices, right: Right) -> Right:
    return right + sum_terms(
        pattern[:, :, k, None] * G[:, :, k, None] * right[:, None, k] for k in range(G.shape[1])
    )


@jax.jit
def _square_of(Sigma: Matrices) -> Matrices:
    return matrix_product(Sigma, Sigma)


@jax.jit
def _change(layer: Layer, tangents: Tangents) -> Change:
    xx, xy, yx, yy = layer.omega
    to_x, to_y = layer.left[:, :-1], layer.left[:, -1]
    x = xx * _whole_times(tangents, to_x) + yx * to_y[:, None, None] * tangents.alpha
    y = xy * rows_times_vector(tangents.alpha, to_x) + yy * to_y[:, None] * tangents.lam
    return Change(x, y)


@jax.jit
def _contractions(layer: Layer, tangents: Tangents) -> tuple[Change, Products]:
    """The sums over entries of the tangents, which `_propagated` then combines."""
    half, A = tangents.half, layer.A
    E = sum_terms(
        (half[:, :, :, k, None] + half[:, :, k, :, None]) * A[:, None, None, k]
        for k in range(A.shape[1])
    )
    products = Products(
        E,
        _whole_times(tangents, layer.alpha) + matrix_product(tangents.alpha, layer.Sigma),
        _whole_times(tangents, layer.Sigma_alpha),
    )
    return _change(layer, tangents), products


@jax.jit
def _propagated(layer: Layer, tangents: Tangents, products: Products) -> Tangents:
    """The derivative of the moments after the layer along tangents of those before it.

    With E = dSigma A, d(A Sigma A) = H + H^T for H = (E + E^T / 2) A - E.
    """
    xx, xy, yx, yy = layer.omega
    E, d_Sigma_alpha, twice = products
    d_alpha, d_lam = tangents.alpha, tangents.lam
    alpha, lam, square, t = (
        part[:, None] for part in (layer.alpha, layer.lam, layer.square, layer.t)
    )
    d_lam_alpha = d_lam[:, :, None] * alpha + lam[:, :, None] * d_alpha
    d_A_alpha = d_alpha + xx * d_Sigma_alpha
    d_gamma = d_A_alpha + xy / 2 * d_lam_alpha
    half = -E + sum_terms(
        (E[:, :, :, k, None] + E[:, :, k, :, None] / 2) * layer.A[:, None, None, k]
        for k in range(layer.A.shape[1])
    )
    half += xy * d_gamma[:, :, :, None] * alpha[:, :, None]
    half += xy * d_alpha[:, :, :, None] * layer.gamma[:, None, None]

    d_t, d_square = yy * d_lam, 2 * rows_times_vector(d_alpha, layer.alpha)
    d_A_Sigma_alpha = d_Sigma_alpha + xx * (twice + matrix_product(d_Sigma_alpha, layer.Sigma))
    moved = d_t[:, :, None] * (layer.A_alpha[:, None] + xy * lam[:, :, None] * alpha)
    moved += t[:, :, None] * (d_A_alpha + xy * d_lam_alpha) + yx * d_A_Sigma_alpha
    moved += yx * xy * (d_square[:, :, None] * alpha + square[:, :, None] * d_alpha)
    d_quadratic = rows_times_vector(d_alpha, layer.Sigma_alpha) + rows_times_vector(
        d_Sigma_alpha, layer.alpha
    )
    after = 2 * t * lam * d_t + t**2 * d_lam
    after += 2 * yx * (d_t * square + t * d_square) + yx**2 * d_quadratic
    return Tangents(half, moved, after)


@jax.jit
def _own_tangents(layer: Layer, Sigma_square: Matrices) -> Tangents:
    """The derivative of the moments after the layer in its own four omegas."""
    _, xy, yx, _ = layer.omega
    alpha, Sigma_alpha, A, gamma = layer.alpha, layer.Sigma_alpha, layer.A, layer.gamma
    lam, square, t = layer.lam[:, None], layer.square[:, None], layer.t[:, None]
    by_xx = matrix_product(Sigma_square, A)
    by_xx += xy * Sigma_alpha[:, :, None] * alpha[:, None]
    by_xy = (gamma + xy / 2 * lam * alpha)[:, :, None] * alpha[:, None]
    none = jnp.zeros_like(layer.Sigma)
    moved = [
        t * Sigma_alpha + yx * symmetric_times_vector(Sigma_square, alpha),
        (t * lam + yx * square) * alpha,
        symmetric_times_vector(A, Sigma_alpha) + xy * square * alpha,
        lam * (layer.A_alpha + xy * lam * alpha),
    ]
    by_yx = 2 * t * square + 2 * yx * inner_products(alpha, Sigma_alpha)[:, None]
    by_yy = 2 * t * lam**2 + 2 * yx * square * lam
    zero = jnp.zeros_like(lam)
    return Tangents(
        jnp.stack([by_xx, by_xy, none, none], axis=1),
        jnp.stack(moved, axis=1),
        jnp.concatenate([zero, zero, by_yx, by_yy], axis=1),
    )


@jax.jit
def _with_layer(change: Change, right: Right, J: VectorsByOmega) -> VectorsByOmega:
    """J with the contribution of a layer added: dw = -left dS right."""
    moved = matrix_product(change.x, right[:, :-1])
    return J - moved - change.y[:, :, None] * right[:, None, -1]


@jax.jit
def _own_jacobian(layer: Layer) -> VectorsByOmega:
    """The derivative of w in the layer's own omegas, through its S(G) alone."""
    to_x, to_y = layer.left[:, :-1], layer.left[:, -1]
    none, zero = jnp.zeros_like(layer.alpha), jnp.zeros_like(layer.lam)
    by_xx, by_yx = symmetric_times_vector(layer.Sigma, to_x), to_y[:, None] * layer.alpha
    by_xy, by_yy = inner_products(to_x, layer.alpha), to_y * layer.lam
    change = Change(
        jnp.stack([by_xx, none, by_yx, none], axis=1), jnp.stack([zero, by_xy, zero, by_yy], axis=1)
    )
    return _with_layer(change, layer.right, jnp.zeros_like(change.x))


def _whole_times(tangents: Tangents, vector: Vectors) -> VectorsByOmega:
    half = tangents.half
    return sum_terms(
        (half[:, :, :, k] + half[:, :, k]) * vector[:, None, k, None]
        for k in range(vector.shape[1])
    )
