"""Predictors of noisy regression: each answers a prompt, `predictor(prompt)`.

Source: Vladymyrov et al. (arXiv 2402.14180), Section 6. All of them, linear transformers included,
predict with a linear function of the query and use nothing of the context but its Gram matrix.
`predictor.weights(G, n)` is therefore the whole predictor, and the fast way to call it on many
sequences. The Bayes predictor is in `attnlab.linear.models.bayes`, and the tuning of the ridge
constants in `attnlab.linear.models.tuned_ridge`.
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
from attnlab.linear.problem import Prompt, gram, sums

Scalar = float | Float[Array, ""]


class LinearPredictor(eqx.Module):
    """Anything that answers a prompt with a linear function of the query."""

    @abstractmethod
    def weights(self, G: Float[Array, "p p"], n: int) -> Float[Array, "*stages d"]:
        """The w of the prediction <w, x_t>, from the Gram matrix of n context tokens."""

    def __call__(self, prompt: Prompt) -> Float[Array, "*stages"]:
        """The prediction for the query of one prompt."""
        return self.predict(prompt.X, prompt.y, prompt.query[None])[..., 0]

    def predict(
        self, X: Float[Array, "n d"], y: Float[Array, " n"], queries: Float[Array, "q d"]
    ) -> Float[Array, "*stages q"]:
        """The predictions for several queries of one context."""
        check_prompt(X, y, queries)
        try:
            return _predictions(self, X, y, queries)
        except UserError as error:
            # Equinox appends a note about its own stack frames, which does not help a user.
            raise UserError(str(error)) from None


@final
class OLS(LinearPredictor):
    """Ordinary least squares, w* = Sigma^-1 alpha."""

    def weights(self, G: Float[Array, "p p"], n: int) -> Float[Array, " d"]:
        require_more_tokens("OLS", G, n, 0)
        return ridge_weights(G, 0)


@final
class Ridge(LinearPredictor):
    """Ridge with a given noise level, (Sigma + sigma^2 I)^-1 alpha.

    It is the oracle on sequences that have this noise level.
    """

    sigma: Scalar

    def weights(self, G: Float[Array, "p p"], n: int) -> Float[Array, " d"]:
        if not isinstance(self.sigma, jax.Array) and self.sigma == 0:
            return OLS().weights(G, n)
        return ridge_weights(G, self.sigma**2)


@final
class ConstRidge(LinearPredictor):
    """CONSTRR: ridge with one penalty for all sequences."""

    penalty: Scalar

    @staticmethod
    def optimal(noise: NoiseLaw) -> "ConstRidge":
        """The best penalty, E sigma^2: it minimises (f - 1)^2 + f^2 E sigma^2 / s at every s."""
        return ConstRidge(noise.second_moment())

    def weights(self, G: Float[Array, "p p"], n: int) -> Float[Array, " d"]:
        if not isinstance(self.penalty, jax.Array) and self.penalty == 0:
            return OLS().weights(G, n)
        return ridge_weights(G, self.penalty)


@final
class AdaRidge(LinearPredictor):
    """ADARR: ridge with the noise estimate RSS / (n - d) of least squares as its penalty."""

    def weights(self, G: Float[Array, "p p"], n: int) -> Float[Array, " d"]:
        return ridge_weights(G, noise_estimate(G, n))


@final
class TunedRidge(LinearPredictor):
    """TUNEDRR: ridge with the penalty min(estimate, t) m, for the noise estimate of ADARR."""

    m: Scalar
    t: Scalar

    def weights(self, G: Float[Array, "p p"], n: int) -> Float[Array, " d"]:
        return ridge_weights(G, jnp.minimum(noise_estimate(G, n), self.t) * self.m)


@final
class IterativeAdaRidge(LinearPredictor):
    """ADARR without inverses.

    `steps` gradient steps on least squares estimate the noise, and as many on ridge give w; both
    start from 0. The paper says that about 100 iterations are needed, and names no step.
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
class GradientDescent(LinearPredictor):
    """`steps` steps of gradient descent on 1/2 ||y - X w||^2, from w = 0."""

    steps: int = eqx.field(static=True)
    step: Scalar

    def weights(self, G: Float[Array, "p p"], n: int) -> Float[Array, " d"]:
        return descent(G, jnp.zeros((), G.dtype), self.steps, self.step)


@final
class LinearTransformer(LinearPredictor):
    """A linear transformer as a predictor, read after its last layer."""

    network: Weights

    def weights(self, G: Float[Array, "p p"], n: int) -> Float[Array, " d"]:
        return final_weights(self.network, G)


@final
class EveryLayer(LinearPredictor):
    """A linear transformer read before layer 1 and after every layer: layers + 1 predictions."""

    network: Weights

    def weights(self, G: Float[Array, "p p"], n: int) -> Float[Array, "stages d"]:
        return implicit_weights(self.network, G)


@jax.jit
def ridge_weights(G: Float[Array, "p p"], penalty: Any) -> Float[Array, " d"]:
    """(Sigma + penalty I)^-1 alpha, by Gauss-Jordan elimination.

    A positive definite system needs no pivoting. LAPACK is avoided for two reasons: XLA's CPU
    backend can deadlock when two batched LAPACK calls of one program run at the same time on a
    machine with few cores, and on a GPU its batched solvers are slower than these small updates.
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
    """The noise estimate RSS / (n - d) of least squares, which needs n >= d + 1."""
    require_more_tokens("the noise estimate RSS / (n - d)", G, n, 1)
    _, alpha, lam = sums(G)
    # Where there is no noise, rounding can make this difference of two large numbers negative.
    return jnp.maximum(lam - _dot(alpha, ridge_weights(G, 0)), 0) / (n - len(alpha))


def descent(
    G: Float[Array, "p p"], penalty: Float[Array, ""], steps: int, step: Scalar
) -> Float[Array, " d"]:
    """Gradient descent on 1/2 ||y - X w||^2 + penalty/2 ||w||^2, from w = 0."""
    Sigma, alpha, _ = sums(G)

    def one(_: Any, w: Array) -> Array:
        return w + step * (alpha - _dot(Sigma, w) - penalty * w)

    return jax.lax.fori_loop(0, arguments.integer("steps", steps, 0), one, jnp.zeros_like(alpha))


def require_more_tokens(what: str, G: Float[Array, "p p"], n: int, more: int) -> None:
    """Raise a UserError where n < d + more."""
    d = len(G) - 1
    if n < d + more:
        needed = f"d + {more} = {d + more}" if more else f"d = {d}"
        raise UserError(f"n must be at least {needed} for {what}, got {n!r}.")


def check_prompt(X: Any, y: Any, queries: Any) -> None:
    """Raise a UserError for shapes that do not fit and for NaN or infinity.

    Inside of compiled code the values are unknown, and only the shapes are checked.
    """
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
        return True


@eqx.filter_jit
def _predictions(predictor: LinearPredictor, X: Array, y: Array, queries: Array) -> Array:
    w = predictor.weights(gram(X, y), len(X))
    return jnp.matmul(w, queries.T, precision="highest")


def _dot(left: Array, right: Array) -> Array:
    return jnp.dot(left, right, precision="highest")
