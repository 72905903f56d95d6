"""Reference predictors of noisy regression: each answers `predictor(X, y, queries)`.

Source: Vladymyrov et al. (arXiv 2402.14180), Section 6. All that any of them uses of the context is
its Gram matrix, so `predictor.weights(G, n)` is the whole of it; a linear transformer answers the
same two calls. The Bayes predictor is in `bayes_regression`, the tuning in `tuned_ridge`.
"""

from abc import abstractmethod
from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.linear.models.transformer import final_weights, implicit_weights
from attnlab.linear.models.weights import Weights
from attnlab.linear.noise import NoiseLaw
from attnlab.linear.problem import gram, sums

Scalar = float | Float[Array, ""]


class Predictor(eqx.Module):
    """Anything that answers a prompt with a linear function of the query."""

    @abstractmethod
    def weights(self, G: Float[Array, "p p"], n: int) -> Float[Array, "*stages d"]:
        """The w of the prediction <w, x_t>, from the Gram matrix of n context tokens."""

    def __call__(
        self, X: Float[Array, "n d"], y: Float[Array, " n"], queries: Float[Array, "q d"]
    ) -> Float[Array, "*stages q"]:
        """The predictions for every query, from the tokens."""
        check_prompt(X, y, queries)
        try:
            return _answers(self, X, y, queries)
        except UserError as error:
            # The compiler appends a note on its own frames, which is nothing to tell a user.
            raise UserError(str(error)) from None


@final
class OLS(Predictor):
    """w* = Sigma^-1 alpha."""

    def weights(self, G: Float[Array, "p p"], n: int) -> Float[Array, " d"]:
        require_more_tokens("OLS", G, n, 0)
        return ridge_weights(G, 0)


@final
class Ridge(Predictor):
    """Ridge with a known noise level, (Sigma + sigma^2 I)^-1 alpha: the oracle where it is true."""

    sigma: Scalar

    def weights(self, G: Float[Array, "p p"], n: int) -> Float[Array, " d"]:
        if not isinstance(self.sigma, jax.Array) and self.sigma == 0:
            return OLS().weights(G, n)
        return ridge_weights(G, self.sigma**2)


@final
class ConstRidge(Predictor):
    """CONSTRR: ridge with one constant for all sequences."""

    penalty: Scalar

    @staticmethod
    def optimal(noise: NoiseLaw) -> "ConstRidge":
        """The best constant, E sigma^2: it minimises (f - 1)^2 + f^2 E sigma^2 / s at every s."""
        return ConstRidge(noise.second_moment())

    def weights(self, G: Float[Array, "p p"], n: int) -> Float[Array, " d"]:
        if not isinstance(self.penalty, jax.Array) and self.penalty == 0:
            return OLS().weights(G, n)
        return ridge_weights(G, self.penalty)


@final
class AdaRidge(Predictor):
    """ADARR: ridge with the estimate RSS / (n - d) of sigma^2 that OLS gives."""

    def weights(self, G: Float[Array, "p p"], n: int) -> Float[Array, " d"]:
        return ridge_weights(G, noise_estimate(G, n))


@final
class TunedRidge(Predictor):
    """TUNEDRR: ridge with min(estimate, t) m for the noise estimate of ADARR."""

    m: Scalar
    t: Scalar

    def weights(self, G: Float[Array, "p p"], n: int) -> Float[Array, " d"]:
        return ridge_weights(G, jnp.minimum(noise_estimate(G, n), self.t) * self.m)


@final
class IterativeAdaRidge(Predictor):
    """ADARR without inverses: K gradient steps on OLS estimate the noise, then K on ridge.

    Both start from 0. The paper takes about 100 steps of size 1 / 100.
    """

    steps: int = eqx.field(static=True, default=100)
    step: Scalar = 0.01

    def weights(self, G: Float[Array, "p p"], n: int) -> Float[Array, " d"]:
        require_more_tokens("the noise estimate RSS / (n - d)", G, n, 1)
        Sigma, alpha, lam = sums(G)
        w = descent(G, jnp.zeros((), G.dtype), self.steps, self.step)
        gradient = alpha - _dot(Sigma, w)
        rss = jnp.maximum(lam - _dot(alpha, w) - _dot(gradient, w), 0)
        return descent(G, rss / (n - len(alpha)), self.steps, self.step)


@final
class GradientDescent(Predictor):
    """k steps of gradient descent on 1/2 ||y - X w||^2 from 0."""

    steps: int = eqx.field(static=True)
    step: Scalar

    def weights(self, G: Float[Array, "p p"], n: int) -> Float[Array, " d"]:
        return descent(G, jnp.zeros((), G.dtype), self.steps, self.step)


@final
class LinearTransformer(Predictor):
    """A linear transformer as a predictor, read after its last layer."""

    network: Weights

    def weights(self, G: Float[Array, "p p"], n: int) -> Float[Array, " d"]:
        return final_weights(self.network, G)


@final
class EveryLayer(Predictor):
    """A linear transformer read before layer 1 and after every layer: layers + 1 predictors."""

    network: Weights

    def weights(self, G: Float[Array, "p p"], n: int) -> Float[Array, "stages d"]:
        return implicit_weights(self.network, G)


@jax.jit
def ridge_weights(G: Float[Array, "p p"], penalty: Any) -> Float[Array, " d"]:
    """(Sigma + penalty I)^-1 alpha, by Gauss-Jordan elimination.

    A positive definite system needs no pivoting. LAPACK is avoided on purpose: XLA's CPU backend
    can deadlock when two batched LAPACK calls of one program meet on a machine with few cores, and
    on a GPU its batched solvers are slower than these few small updates.
    """
    Sigma, alpha, _ = sums(G)
    d = len(alpha)
    system = jnp.concatenate([Sigma + penalty * jnp.eye(d, dtype=G.dtype), alpha[:, None]], axis=1)

    def eliminate(j: Any, system: Array) -> Array:
        row = system[j] / system[j, j]
        cleared = system - jnp.outer(system[:, j], row)
        return jnp.where((jnp.arange(d) == j)[:, None], row[None, :], cleared)

    return jax.lax.fori_loop(0, d, eliminate, system)[:, -1]


def noise_estimate(G: Float[Array, "p p"], n: int) -> Float[Array, ""]:
    """RSS / (n - d) of OLS; it exists from n = d + 1 on."""
    require_more_tokens("the noise estimate RSS / (n - d)", G, n, 1)
    _, alpha, lam = sums(G)
    # The difference of two large numbers can come out below 0 where there is no noise.
    return jnp.maximum(lam - _dot(alpha, ridge_weights(G, 0)), 0) / (n - len(alpha))


def descent(
    G: Float[Array, "p p"], penalty: Float[Array, ""], steps: int, step: Scalar
) -> Float[Array, " d"]:
    """Gradient descent on 1/2 ||y - X w||^2 + penalty/2 ||w||^2 from 0."""
    Sigma, alpha, _ = sums(G)

    def one(_: Any, w: Array) -> Array:
        return w + step * (alpha - _dot(Sigma, w) - penalty * w)

    return jax.lax.fori_loop(0, arguments.integer("steps", steps, 0), one, jnp.zeros_like(alpha))


def require_more_tokens(what: str, G: Float[Array, "p p"], n: int, more: int) -> None:
    """A sentence where n < d + more."""
    d = len(G) - 1
    if n < d + more:
        needed = f"d + {more} = {d + more}" if more else f"d = {d}"
        raise UserError(f"n must be at least {needed} for {what}, got {n!r}.")


def check_prompt(X: Any, y: Any, queries: Any) -> None:
    """One sentence for shapes that do not fit and, outside of compiled code, for NaN and inf."""
    shapes = [jnp.shape(part) for part in (X, y, queries)]
    fits = [len(shape) for shape in shapes] == [2, 1, 2]
    if not fits or shapes[0][0] != shapes[1][0] or shapes[0][1] != shapes[2][1]:
        raise UserError(
            f"X, y and queries must have shapes (n, d), (n,) and (q, d), got {shapes[0]}, "
            f"{shapes[1]} and {shapes[2]}."
        )
    for name, part in (("X", X), ("y", y), ("queries", queries)):
        if not _finite(part):
            raise UserError(f"{name} must hold finite numbers only, got NaN or infinity in it.")


def _finite(part: Any) -> bool:
    try:
        return bool(np.isfinite(np.asarray(part)).all())
    except jax.errors.TracerArrayConversionError:
        return True  # inside of compiled code there are no values to look at


@eqx.filter_jit
def _answers(predictor: Predictor, X: Array, y: Array, queries: Array) -> Array:
    w = predictor.weights(gram(X, y), len(X))
    return jnp.matmul(w, queries.T, precision="highest")


def _dot(left: Array, right: Array) -> Array:
    return jnp.dot(left, right, precision="highest")
