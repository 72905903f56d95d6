"""The Jacobian of w^L in the omegas of a diagonal linear transformer, many sequences at once.

Forward mode written out: a layer acts on (Sigma, alpha, lambda), and the tangents of all earlier
omegas pass through it together. The sequences are the first axis, so that the K tangents of one
sequence meet its matrices in one tall product (K d x d times d x d): that, blocks that fit the
cache, and one program a layer in place of one a depth make it fast on a CPU. The network itself is
`attnlab.models.linear_transformer`; the recursion here is of Vladymyrov et al. (arXiv 2402.14180).
"""

from operator import itemgetter
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


class Moments(NamedTuple):
    """Sigma, alpha and lambda of every sequence, before a layer."""

    Sigma: Float[Array, "N d d"]
    alpha: Float[Array, "N d"]
    lam: Float[Array, " N"]


class Layer(NamedTuple):
    """What the tangents need of one layer.

    `left` is the last row of T_L ... T_{l+1}, and `right` is T_{l-1} ... T_1 without its last
    column: a change of T_l moves -w^L by left dT_l right.
    """

    omega: Float[Array, " 4"]
    moments: Moments
    left: Float[Array, "N d+1"]
    right: Float[Array, "N d+1 d"]


Omega = Float[Array, " 4"]  # xx, xy, yx, yy of one layer
Tangents = Moments  # with an axis K after that of the sequences


def diagonal_jacobian(
    omegas: Float[Array, "layers 4"], G: Float[Array, "N p p"]
) -> tuple[Float[Array, "N d"], Float[Array, "N 4*layers d"]]:
    """w^L and its derivatives in xx, xy, yx, yy of layer 1, then of layer 2, and so on."""
    layers, w, tangents, J = _trace(omegas, G)
    for layer in layers[:-1]:
        J = _read(layer, tangents, J)
        tangents = _push(layer, tangents)
    return w, _read(layers[-1], tangents, J)


@jax.jit
def _trace(omegas: Float[Array, "layers 4"], G: Float[Array, "N p p"]):
    """The layers, w^L, and the start of the tangents and of J: K = 0 of them."""
    N, d = G.shape[0], G.shape[-1] - 1
    start = Moments(G[:, :d, :d], G[:, :d, d], G[:, d, d])

    def layer(carry, omega):
        moments, right = carry
        S = _increment(omega, moments)
        return (_advance(omega, moments), right + _matmul(S, right)), (moments, right, S)

    def backward(left, S):
        return left + _apply_left(left, S), left

    eye = jnp.broadcast_to(jnp.eye(d + 1, d, dtype=G.dtype), (N, d + 1, d))
    (_, last), (moments, rights, S) = jax.lax.scan(layer, (start, eye), omegas)
    row = jnp.broadcast_to(jnp.eye(1, d + 1, d, dtype=G.dtype), (N, d + 1))
    _, lefts = jax.lax.scan(backward, row, S, reverse=True)
    stacked = Layer(omegas, moments, lefts, rights)
    layers = [jax.tree.map(itemgetter(place), stacked) for place in range(len(omegas))]
    tangents = Moments(*(jnp.zeros((N, 0, *rest), G.dtype) for rest in ((d, d), (d,), ())))
    return layers, -last[:, -1], tangents, jnp.zeros((N, 0, d), G.dtype)


def _advance(omega: Omega, moments: Moments) -> Moments:
    """The sums after the layer, with A = I + xx Sigma and t = 1 + yy lambda.

    Sigma' = A Sigma A + xy (gamma alpha^T + alpha gamma^T), gamma = A alpha + xy lambda alpha / 2;
    alpha' = t (A alpha + xy lambda alpha) + yx (A Sigma alpha + xy |alpha|^2 alpha);
    lambda' = t^2 lambda + 2 t yx |alpha|^2 + yx^2 alpha^T Sigma alpha.
    """
    _, xy, yx, yy = omega
    Sigma, alpha, lam = moments
    A, A_alpha, gamma, Sa = _shared(omega, moments)
    t, square = _column(1 + yy * lam), _column(_dot(alpha, alpha))
    half = _matmul(_matmul(A, Sigma), A) / 2 + xy * _outer(gamma, alpha)
    moved = t * (A_alpha + xy * _column(lam) * alpha)
    moved += yx * (_apply_left(Sa, A) + xy * square * alpha)
    square, t = square[:, 0], t[:, 0]
    after = t**2 * lam + 2 * t * yx * square + yx**2 * _dot(alpha, Sa)
    return Moments(half + _transpose(half), moved, after)


@jax.jit
def _push(layer: Layer, tangents: Tangents) -> Tangents:
    """The tangents after the layer: those that came, then those of this layer's four omegas."""
    omega, moments, _, _ = layer
    pairs = zip(_push_old(omega, moments, tangents), _push_new(omega, moments), strict=True)
    return Moments(*(jnp.concatenate(pair, axis=1) for pair in pairs))


def _push_old(omega: Omega, moments: Moments, tangents: Tangents) -> Tangents:
    """The derivative of `_advance` along K tangents of its moments.

    With E = dSigma A, d(A Sigma A) = H + H^T for H = (E + E^T / 2) A - E: two tall products.
    """
    xx, xy, yx, yy = omega
    Sigma, alpha, lam = moments
    d_Sigma, d_alpha, d_lam = tangents
    A, A_alpha, gamma, Sa = _shared(omega, moments)
    t, square, lam1 = _column(1 + yy * lam), _column(_dot(alpha, alpha)), _column(lam)
    d_Sigma_alpha, d_Sigma_Sa = _along_rows(d_Sigma, alpha), _along_rows(d_Sigma, Sa)
    d_Sa = d_Sigma_alpha + _matmul(d_alpha, Sigma)
    d_lam_alpha = d_lam[..., None] * alpha[:, None] + lam1[..., None] * d_alpha
    d_A_alpha = d_alpha + xx * d_Sa
    d_gamma = d_A_alpha + xy / 2 * d_lam_alpha

    E = _tall(d_Sigma, A)
    half = _tall(E + _transpose(E) / 2, A) - E
    half += xy * d_gamma[..., None] * alpha[:, None, None]
    half += xy * d_alpha[..., None] * gamma[:, None, None]

    d_square = 2 * _along(d_alpha, alpha)
    d_t = yy * d_lam
    d_A_Sa = d_Sa + xx * (d_Sigma_Sa + _matmul(d_Sa, Sigma))
    moved = d_t[..., None] * (A_alpha + xy * lam1 * alpha)[:, None]
    moved += t[..., None] * (d_A_alpha + xy * d_lam_alpha)
    moved += yx * d_A_Sa
    moved += yx * xy * (d_square[..., None] * alpha[:, None] + square[..., None] * d_alpha)
    d_quadratic = 2 * _along(d_alpha, Sa) + _along(d_Sigma_alpha, alpha)
    after = 2 * t * lam1 * d_t + t**2 * d_lam
    after += 2 * yx * (d_t * square + t * d_square) + yx**2 * d_quadratic
    return Moments(half + _transpose(half), moved, after)


def _push_new(omega: Omega, moments: Moments) -> Tangents:
    """The derivative of `_advance` in the layer's own four omegas."""
    _, xy, yx, yy = omega
    Sigma, alpha, lam = moments
    A, A_alpha, gamma, Sa = _shared(omega, moments)
    t, square, lam1 = _column(1 + yy * lam), _column(_dot(alpha, alpha)), _column(lam)
    SSa, zero = _apply_left(Sa, Sigma), jnp.zeros_like(lam)
    half_xx = _matmul(_matmul(Sigma, Sigma), A) + xy * _outer(Sa, alpha)
    half_xy = _outer(gamma + xy / 2 * lam1 * alpha, alpha)
    none = jnp.zeros_like(Sigma)
    half = jnp.stack([half_xx, half_xy, none, none], axis=1)
    moved = [
        t * Sa + yx * SSa,
        (t * lam1 + yx * square) * alpha,
        _apply_left(Sa, A) + xy * square * alpha,
        lam1 * (A_alpha + xy * lam1 * alpha),
    ]
    square, t = square[:, 0], t[:, 0]
    by_yx = 2 * t * square + 2 * yx * _dot(alpha, Sa)
    by_yy = 2 * t * lam**2 + 2 * yx * square * lam
    after = jnp.stack([zero, zero, by_yx, by_yy], axis=1)
    return Moments(half + _transpose(half), jnp.stack(moved, axis=1), after)


@jax.jit
def _read(layer: Layer, tangents: Tangents, J: Float[Array, "N K d"]) -> Float[Array, "N K+4 d"]:
    """J with the layer's own part added: dw = -left dS right for every change dS of S(G)."""
    (xx, xy, yx, yy), (Sigma, alpha, lam), left, right = layer
    d_Sigma, d_alpha, d_lam = tangents
    to_x, to_y = left[:, :-1], left[:, -1:]
    none, zero = jnp.zeros_like(alpha), jnp.zeros_like(lam)
    own_x = jnp.stack([_apply_left(to_x, Sigma), none, to_y * alpha, none], axis=1)
    own_y = jnp.stack([zero, _dot(to_x, alpha), zero, to_y[:, 0] * lam], axis=1)
    old_x = xx * _along_rows(d_Sigma, to_x) + yx * to_y[..., None] * d_alpha
    old_y = xy * _along(d_alpha, to_x) + yy * to_y * d_lam
    rows = jnp.concatenate(
        [
            jnp.concatenate([old_x, own_x], axis=1),
            jnp.concatenate([old_y, own_y], axis=1)[..., None],
        ],
        axis=2,
    )
    J = jnp.concatenate([J, jnp.zeros((len(J), 4, J.shape[2]), J.dtype)], axis=1)
    return J - _matmul(rows, right)


def _shared(omega: Omega, moments: Moments) -> tuple[Array, Array, Array, Array]:
    """A, A alpha, gamma and Sigma alpha."""
    xx, xy = omega[0], omega[1]
    Sigma, alpha, lam = moments
    Sa = _apply_left(alpha, Sigma)
    A = jnp.eye(alpha.shape[1], dtype=Sigma.dtype)[None] + xx * Sigma
    A_alpha = alpha + xx * Sa
    return A, A_alpha, A_alpha + xy / 2 * _column(lam) * alpha, Sa


def _increment(omega: Omega, moments: Moments) -> Array:
    """S(G), the elementwise product of G with the omegas in blocks."""
    xx, xy, yx, yy = omega
    Sigma, alpha, lam = moments
    top = jnp.concatenate([xx * Sigma, xy * alpha[:, :, None]], axis=2)
    bottom = jnp.concatenate([yx * alpha, yy * _column(lam)], axis=1)
    return jnp.concatenate([top, bottom[:, None]], axis=1)


def _tall(tangents: Float[Array, "N K d k"], matrix: Float[Array, "N k m"]) -> Array:
    """Every tangent of a sequence times the sequence's matrix, as one product a sequence."""
    N, K, d, k = tangents.shape
    return _matmul(tangents.reshape(N, K * d, k), matrix).reshape(N, K, d, matrix.shape[2])


def _matmul(left: Array, right: Array) -> Array:
    return jnp.matmul(left, right, precision="highest")


def _apply_left(row: Float[Array, "N k"], matrix: Float[Array, "N k m"]) -> Float[Array, "N m"]:
    return _matmul(row[:, None], matrix)[:, 0]


def _along(tangents: Float[Array, "N K d"], vector: Float[Array, "N d"]) -> Float[Array, "N K"]:
    return _matmul(tangents, vector[..., None])[..., 0]


def _along_rows(
    tangents: Float[Array, "N K d d"], vector: Float[Array, "N d"]
) -> Float[Array, "N K d"]:
    return jnp.einsum("nkij,nj->nki", tangents, vector, precision="highest")


def _dot(left: Float[Array, "N d"], right: Float[Array, "N d"]) -> Float[Array, " N"]:
    return (left * right).sum(-1)


def _outer(left: Float[Array, "N d"], right: Float[Array, "N d"]) -> Float[Array, "N d d"]:
    return left[:, :, None] * right[:, None, :]


def _column(values: Float[Array, " N"]) -> Float[Array, "N 1"]:
    return values[:, None]


def _transpose(matrices: Array) -> Array:
    return jnp.swapaxes(matrices, -1, -2)
