"""Bayes predictors of noisy regression: no predictor has a smaller expected loss.

They are not in the paper. With the law p(sigma) of the noise level,
w_bayes = sum over sigma of p(sigma | X, y) (Sigma + sigma^2 I)^-1 alpha, by the quadrature rule of
the law. With Sigma = V diag(s) V^T and b = V^T alpha the log evidence of sigma is, up to a
constant, -1/2 [2 (n - d) log sigma + sum log(s_i + sigma^2)]
- 1/2 (lambda - sum b_i^2 / (s_i + sigma^2)) / sigma^2. `ScaleFreeBayes` does not know the scale of
w either.
"""

from typing import final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab.linear.models.predictors import LinearPredictor
from attnlab.linear.models.weights import Numbers
from attnlab.linear.noise import NoiseLaw
from attnlab.linear.problem import sums

Length = int | Int[Array, ""]  # a number of tokens; traced, one program serves all lengths


@final
class Bayes(LinearPredictor):
    """The posterior mean of w when sigma follows the law `noise` and is not known.

    The noise level 0 is least squares. Its evidence is taken at the smallest noise level that the
    rounding of the residuals can tell from 0, so that it wins exactly where the context has no
    noise.
    """

    noise: NoiseLaw = eqx.field(static=True)
    points: int = eqx.field(static=True, default=64)

    def weights(self, G: Float[Array, "p p"], n: int) -> Float[Array, " d"]:
        levels, prior = (jnp.asarray(part, G.dtype) for part in self.noise.quadrature(self.points))
        return posterior_mean(G, n, levels, prior)


@final
class DiscreteBayes(LinearPredictor):
    """`Bayes` for a law that is given by its levels and their probabilities, as arrays.

    Laws with equally many levels share one compiled program, where `Bayes` compiles for each law.
    """

    levels: Float[Numbers, " k"]
    prior: Float[Numbers, " k"]

    def weights(self, G: Float[Array, "p p"], n: int) -> Float[Array, " d"]:
        return posterior_mean(G, n, jnp.asarray(self.levels), jnp.asarray(self.prior))


@final
class ScaleFreeBayes(LinearPredictor):
    """The posterior mean of w when only the ratio r of noise to signal has a law, U(0, loudest).

    The scale of the labels is integrated out, so the answer is the right one for labels in any
    unit; this is the least loss that a regressor which accepts all units can have. With
    y ~ N(0, v (I + X X^T / p)) and the density 1 / v of v, the penalty p = r^2 tr(Sigma) / n has
    the evidence |I + X X^T / p|^-1/2 (lambda - alpha^T w(p))^-n/2, w(p) = (Sigma + p I)^-1 alpha.
    The labels must not all be 0.
    """

    loudest: float = eqx.field(static=True, default=3.0)
    points: int = eqx.field(static=True, default=48)

    def weights(self, G: Float[Array, "p p"], n: int) -> Float[Array, " d"]:
        Sigma, alpha, lam = sums(G)
        s, V = jnp.linalg.eigh(Sigma)
        s, b = jnp.maximum(s, 0), jnp.dot(alpha, V, precision="highest")
        nodes, prior = np.polynomial.legendre.leggauss(self.points)
        ratio = jnp.asarray(self.loudest * (nodes + 1) / 2, G.dtype)
        p = (ratio**2 * s.sum() / n)[:, None]
        shifted = s[None, :] + p
        explained = (b[None, :] ** 2 / shifted).sum(-1)
        # Without noise the difference is a rounding error, and the smallest penalty wins.
        left = jnp.maximum(lam - explained, 100 * jnp.finfo(G.dtype).eps * lam)
        evidence = jnp.asarray(np.log(prior), G.dtype) - n / 2 * jnp.log(left)
        posterior = jax.nn.softmax(evidence - 0.5 * jnp.log(shifted / p).sum(-1))
        ridge = b[None, :] / shifted
        return jnp.dot(V, jnp.dot(posterior, ridge, precision="highest"), precision="highest")


def posterior_mean(
    G: Float[Array, "p p"], n: Length, levels: Float[Array, " k"], prior: Float[Array, " k"]
) -> Float[Array, " d"]:
    """The posterior mean of w for these noise levels and their prior probabilities."""
    s, b, V, rho = _eigen(G)
    visible = _visible(G, n)
    evidence = _log_evidence(s, b, rho, n, jnp.maximum(levels**2, visible))
    posterior = jax.nn.softmax(evidence + jnp.log(prior))
    shifted = s[None, :] + levels[:, None] ** 2
    ridge = jnp.where(shifted > 0, b[None, :] / jnp.where(shifted > 0, shifted, 1), 0)
    return jnp.dot(V, jnp.dot(posterior, ridge, precision="highest"), precision="highest")


def log_evidence(G: Float[Array, "p p"], n: int, sigmas: Float[Array, " k"]) -> Float[Array, " k"]:
    """log p(y | X, sigma) up to a constant, for every sigma > 0."""
    s, b, _, rho = _eigen(G)
    return _log_evidence(s, b, rho, n, sigmas**2)


def _eigen(G: Array) -> tuple[Array, Array, Array, Array]:
    """s, b = V^T alpha, V, and rho = lambda - sum b^2 / s over the eigenvalues above 0."""
    Sigma, alpha, lam = sums(G)
    s, V = jnp.linalg.eigh(Sigma)
    b = jnp.dot(alpha, V, precision="highest")
    positive = s > len(s) * jnp.finfo(s.dtype).eps * s[-1]
    s, b = jnp.where(positive, s, 0), jnp.where(positive, b, 0)
    fitted = jnp.sum(b**2 / jnp.where(positive, s, 1))
    return s, b, V, jnp.maximum(lam - fitted, 0)


def _log_evidence(s: Array, b: Array, rho: Array, n: Length, variances: Array) -> Array:
    # (lambda - sum b^2 / (s + v)) / v = rho / v + sum b^2 / (s (s + v)), so that no difference of
    # large numbers is divided by a small v.
    v = variances[:, None]
    s, b = s[None, :], b[None, :]
    explained = jnp.where(s > 0, b**2 / (jnp.where(s > 0, s, 1) * (s + v)), 0).sum(-1)
    volume = (n - s.shape[-1]) * jnp.log(variances) + jnp.log(s + v).sum(-1)
    return -0.5 * (volume + rho / variances + explained)


def _visible(G: Array, n: Length) -> Array:
    """The smallest variance that the rounding of rho, about eps lambda, can tell from 0."""
    info = jnp.finfo(G.dtype)
    return jnp.maximum(1e3 * info.eps * G[-1, -1] / n, info.tiny)
