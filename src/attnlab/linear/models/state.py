"""The linear regression that is implicit in every layer of a linear transformer.

Source: Vladymyrov et al. (arXiv 2402.14180), Theorem 4.1, Lemmas 4.3, 4.4 and A.1. After every
layer x_i = M x_i(0) + y_i(0) u, y_i = a y_i(0) - <w, x_i(0)>; for a query x = M x_t, y = -<w, x_t>.
Two formulas of the text do not follow from its algebra. The functions named `printed_...` compute
them as printed, so that the difference can be measured.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from attnlab.linear.models.transformer import gram_form
from attnlab.linear.models.weights import DiagonalWeights, Omegas, Weights
from attnlab.linear.problem import sums


class State(NamedTuple):
    """M, u, w and a at one stage, or at all stages along a first axis of layers + 1 entries."""

    M: Float[Array, "*stages d d"]
    u: Float[Array, "*stages d"]
    w: Float[Array, "*stages d"]
    a: Float[Array, "*stages"]

    def matrix(self) -> Float[Array, "*stages p p"]:
        """R = [[M, u], [-w^T, a]]: the matrix by which the layers so far multiply every token."""
        top = jnp.concatenate([self.M, self.u[..., None]], axis=-1)
        bottom = jnp.concatenate([-self.w, self.a[..., None]], axis=-1)
        return jnp.concatenate([top, bottom[..., None, :]], axis=-2)


class LeastSquaresSolution(NamedTuple):
    """Sigma, the solution w* of Sigma w* = alpha, and the residual sum of squares rho."""

    Sigma: Float[Array, "d d"]
    w: Float[Array, " d"]
    rho: Float[Array, ""]


class MomentumForm(NamedTuple):
    """u' = (I - Lambda) u + Gamma Sigma g, w' = (1 + s) w - Pi Sigma g - Phi u, g = a w* - w."""

    Lambda: Float[Array, "*layers d d"]
    Gamma: Float[Array, "*layers d d"]
    s: Float[Array, "*layers"]
    Pi: Float[Array, "*layers d d"]
    Phi: Float[Array, "*layers d d"]


def from_product(R: Float[Array, "*stages p p"]) -> State:
    """The state that R = T_l ... T_1 contains."""
    return State(R[..., :-1, :-1], R[..., :-1, -1], -R[..., -1, :-1], R[..., -1, -1])


@jax.jit
def implicit_states(weights: Weights, G: Float[Array, "p p"]) -> State:
    """The state at every stage by Lemma 4.3, with the sign that the algebra gives.

    It stays beside `gram_form`, which gives the same state as R, because the lemma is this
    recursion: the study compares the two.

    With [[A, b], [c^T, e]] = sum_k P_k G^l Q_k: M' = (I + A) M - b w^T, u' = (I + A) u + a b,
    a' = (1 + e) a + <c, u>, w' = (1 + e) w - M^T c; from M = I, u = 0, a = 1, w = 0.
    """
    return _recursion(weights, G, -1)


@jax.jit
def printed_states(weights: Weights, G: Float[Array, "p p"]) -> State:
    """The same recursion with M' = (I + A) M + b w^T, as the text prints it."""
    return _recursion(weights, G, 1)


@jax.jit
def least_squares(G: Float[Array, "p p"]) -> LeastSquaresSolution:
    """w* (the one of least norm where Sigma is singular) and the residual sum of squares."""
    Sigma, alpha, lam = sums(G)
    w = _dot(jnp.linalg.pinv(Sigma, hermitian=True), alpha)
    return LeastSquaresSolution(Sigma, w, jnp.maximum(lam - _dot(alpha, w), 0))


@jax.jit
def alpha(state: State, context: LeastSquaresSolution) -> Float[Array, " d"]:
    """alpha^l = (M + u w*^T) Sigma (a w* - w) + a rho u at one stage: Lemma A.1, corrected."""
    gradient = _dot(context.Sigma, state.a * context.w - state.w)
    moved = _dot(state.M, gradient) + state.u * _dot(context.w, gradient)
    return moved + state.a * context.rho * state.u


@jax.jit
def printed_alpha(state: State, context: LeastSquaresSolution) -> Float[Array, " d"]:
    """alpha^l = (M + a u w*^T) Sigma (a w* - w) + a rho u at one stage, as the text prints it."""
    gradient = _dot(context.Sigma, state.a * context.w - state.w)
    moved = _dot(state.M, gradient) + state.a * state.u * _dot(context.w, gradient)
    return moved + state.a * context.rho * state.u


@jax.jit
def momentum_form(weights: DiagonalWeights, G: Float[Array, "p p"]) -> MomentumForm:
    """The exact effect of every layer of a diagonal network on u and w, for this context.

    With b = omega_xy alpha^l, c = omega_yx alpha^l, e = omega_yy lambda^l and the corrected alpha:
    Lambda = -omega_xx Sigma^l - omega_xy a^2 rho I, Gamma = omega_xy a (M + u w*^T),
    s = omega_yy lambda^l, Pi = omega_yx M^T (M + u w*^T), Phi = omega_yx a rho M^T.
    """
    trace, context = gram_form(weights, G), least_squares(G)

    def layer(omega: Omegas, R: Array, Gl: Array) -> MomentumForm:
        state, (Sigma, _, lam) = from_product(R), sums(Gl)
        mixed = state.M + jnp.outer(state.u, context.w)
        identity = jnp.eye(len(Sigma), dtype=Sigma.dtype)
        xx, xy, yx, yy = map(jnp.asarray, (omega.xx, omega.xy, omega.yx, omega.yy))
        return MomentumForm(
            Lambda=-xx * Sigma - xy * state.a**2 * context.rho * identity,
            Gamma=xy * state.a * mixed,
            s=yy * lam,
            Pi=yx * _dot(state.M.T, mixed),
            Phi=yx * state.a * context.rho * state.M.T,
        )

    return jax.vmap(layer)(weights.omegas(), trace.R[:-1], trace.G[:-1])


@jax.jit
def momentum_step(
    form: MomentumForm, state: State, context: LeastSquaresSolution
) -> tuple[Float[Array, " d"], Float[Array, " d"]]:
    """(u', w') of one layer from its momentum form."""
    gradient = _dot(context.Sigma, state.a * context.w - state.w)
    u = state.u - _dot(form.Lambda, state.u) + _dot(form.Gamma, gradient)
    w = (1 + form.s) * state.w - _dot(form.Pi, gradient) - _dot(form.Phi, state.u)
    return u, w


def isotropic_part(
    matrix: Float[Array, "*layers d d"],
) -> tuple[Float[Array, "*layers"], Float[Array, "*layers"]]:
    """The c of the nearest multiple c I, and the share of the Frobenius norm outside of it."""
    d = matrix.shape[-1]
    c = jnp.trace(matrix, axis1=-2, axis2=-1) / d
    total = jnp.sum(matrix**2, axis=(-2, -1))
    left = jnp.maximum(total - d * c**2, 0)
    return c, jnp.sqrt(left / jnp.where(total > 0, total, 1))


def _recursion(weights: Weights, G: Array, sign: int) -> State:
    grams = gram_form(weights, G).G[:-1]

    def step(state: State, layer: tuple[Weights, Array]) -> tuple[State, State]:
        M, u, w, a = state
        S = layer[0].increment(layer[1])
        A, b, c, e = S[:-1, :-1], S[:-1, -1], S[-1, :-1], S[-1, -1]
        after = State(
            M=M + _dot(A, M) + sign * jnp.outer(b, w),
            u=u + _dot(A, u) + a * b,
            w=(1 + e) * w - _dot(M.T, c),
            a=(1 + e) * a + _dot(c, u),
        )
        return after, after

    d = len(G) - 1
    zero = jnp.zeros(d, G.dtype)
    start = State(jnp.eye(d, dtype=G.dtype), zero, zero, jnp.ones((), G.dtype))
    _, after = jax.lax.scan(step, start, (weights, grams))
    return jax.tree.map(lambda first, rest: jnp.concatenate([first[None], rest]), start, after)


def _dot(left: Array, right: Array) -> Array:
    return jnp.dot(left, right, precision="highest")
