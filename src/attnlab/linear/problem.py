"""Noisy linear regression with an unknown noise level, and three ways to draw from it.

Source: Vladymyrov et al. (arXiv 2402.14180). w ~ N(0, I_d); x_i ~ N(0, variance I_d);
y_i = <w, x_i> + sigma xi_i, with one sigma per sequence; the query's label <w, x_t> has no noise.
All that a linear transformer or a ridge regression uses of the context is its Gram matrix
G = [X y]^T [X y], which can be summed from tokens or drawn directly at a cost that does not depend
on n.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.linear.noise import NoiseLaw, Uniform

TRIES = 8  # candidates for each chi-square variable


class Prompt(NamedTuple):
    """One sequence: the context (X, y), the query, and w and sigma, which a predictor may not use.

    A predictor answers it with its prediction for the query's label.
    """

    X: Float[Array, "n d"]
    y: Float[Array, " n"]
    query: Float[Array, " d"]
    w: Float[Array, " d"]
    sigma: Float[Array, ""]

    @property
    def label(self) -> Float[Array, ""]:
        """The query's label <w, x_t>, which has no noise."""
        return jnp.vdot(self.w, self.query, precision="highest")


class GramPrompt(NamedTuple):
    """One sequence without its tokens: G = [X y]^T [X y]."""

    G: Float[Array, "d+1 d+1"]
    w: Float[Array, " d"]
    sigma: Float[Array, ""]


class Sums(NamedTuple):
    """The blocks of G: Sigma = sum x x^T, alpha = sum y x, lambda = sum y^2."""

    Sigma: Float[Array, "d d"]
    alpha: Float[Array, " d"]
    lam: Float[Array, ""]


@dataclass(frozen=True)
class NoisyRegression:
    """The problem: d inputs, n context tokens, a noise law, and the variance of the inputs.

    The samplers draw in JAX's default precision unless `dtype` is given. Their argument `sigma`
    replaces the draw from the noise law; a profile over sigma then needs no recompilation.

    Parameters
    ----------
    d
        Dimension of an input.
    n
        Number of tokens in the context.
    noise
        Law of the noise level sigma, such as `Uniform(5)`.
    variance
        One number, or d of them: the diagonal of the inputs' covariance. Theorem 5.2 takes 1 / n.
    """

    d: int = 10
    n: int = 20
    noise: NoiseLaw = Uniform(5)  # noqa: RUF009 (frozen)
    variance: float | tuple[float, ...] = 1.0

    def __post_init__(self) -> None:
        arguments.integer("d", self.d, 1)
        arguments.integer("n", self.n, 1)
        if not isinstance(self.noise, NoiseLaw):
            raise UserError(
                "noise must be a noise law such as Uniform(5), Categorical((1, 3)) or Fixed(2), "
                f"got {self.noise!r}."
            )
        if not isinstance(self.variance, tuple):
            object.__setattr__(self, "variance", arguments.positive("variance", self.variance))
            return
        if len(self.variance) != self.d:
            raise UserError(
                f"variance must be one number or d = {self.d} of them, got {len(self.variance)}."
            )
        given = tuple(arguments.positive("variance", value) for value in self.variance)
        object.__setattr__(self, "variance", given)

    def variances(self, dtype: Any = float) -> Float[Array, " d"]:
        """The diagonal of the inputs' covariance."""
        return jnp.broadcast_to(jnp.asarray(self.variance, dtype), (self.d,))

    def sample(
        self, key: PRNGKeyArray, dtype: Any = float, sigma: Float[Array, ""] | None = None
    ) -> Prompt:
        """Draw one sequence with its tokens."""
        for_sigma, for_normals = jax.random.split(key)
        # One call: the generator's code is most of what there is to compile.
        normals = jax.random.normal(for_normals, (self.n + 2, self.d + 1), dtype)
        scale = jnp.sqrt(self.variances(dtype))
        w, query = normals[0, :-1], normals[1, :-1] * scale
        X, xi = normals[2:, :-1] * scale[None, :], normals[2:, -1]
        sigma = self._sigma(for_sigma, dtype, sigma)
        return Prompt(X, jnp.dot(X, w, precision="highest") + sigma * xi, query, w, sigma)

    def sample_gram(
        self, key: PRNGKeyArray, dtype: Any = float, sigma: Float[Array, ""] | None = None
    ) -> GramPrompt:
        """The Gram matrix of `sample(key)`: the same sequence, summed."""
        prompt = self.sample(key, dtype, sigma)
        return GramPrompt(gram(prompt.X, prompt.y), prompt.w, prompt.sigma)

    def direct_gram(
        self, key: PRNGKeyArray, dtype: Any = float, sigma: Float[Array, ""] | None = None
    ) -> GramPrompt:
        """Draw a Gram matrix of the same law without tokens: G = C W C^T, W Wishart(n, I_{d+1}).

        C = [[D, 0], [w^T D, sigma]] with D the inputs' standard deviations, and W = B B^T with
        Bartlett's factor B.
        """
        for_sigma, for_rest = jax.random.split(key)
        w, B = _vector_and_factor(for_rest, self.d, self.d + 1, self.n, dtype)
        sigma = self._sigma(for_sigma, dtype, sigma)
        inputs = jnp.sqrt(self.variances(dtype))[:, None] * B[:-1]
        labels = jnp.dot(w, inputs, precision="highest") + sigma * B[-1]
        factor = jnp.concatenate([inputs, labels[None]])
        return GramPrompt(jnp.dot(factor, factor.T, precision="highest"), w, sigma)

    def _sigma(
        self, key: PRNGKeyArray, dtype: Any, sigma: Float[Array, ""] | None
    ) -> Float[Array, ""]:
        return self.noise.sample(key, dtype) if sigma is None else jnp.asarray(sigma, dtype)


def gram(X: Float[Array, "n d"], y: Float[Array, " n"]) -> Float[Array, "d+1 d+1"]:
    """G = [X y]^T [X y]."""
    E = jnp.concatenate([X, y[:, None]], axis=1)
    return jnp.dot(E.T, E, precision="highest")


def sums(G: Float[Array, "p p"]) -> Sums:
    """Sigma, alpha and lambda, read from G."""
    return Sums(G[:-1, :-1], G[:-1, -1], G[-1, -1])


def _vector_and_factor(
    key: PRNGKeyArray, d: int, p: int, n: int, dtype: Any
) -> tuple[Float[Array, " d"], Float[Array, "p k"]]:
    """d normals and Bartlett's factor B, from one call of each generator.

    B B^T ~ Wishart_p(n, I) with k = min(n, p) columns, lower trapezoidal where n < p:
    B_ii^2 ~ chi^2 with n - i degrees of freedom (i = 0, 1, ...), B_ij ~ N(0, 1) below.
    """
    k = min(n, p)
    for_normals, for_uniforms = jax.random.split(key)
    normals = jax.random.normal(for_normals, (d + (p + TRIES) * k,), dtype)
    uniforms = jax.random.uniform(for_uniforms, (TRIES, k), dtype)
    vector, below, tries = jnp.split(normals, [d, d + p * k])
    freedom = n - jnp.arange(k, dtype=dtype)
    diagonal = jnp.sqrt(_chi_square(freedom[None, :], tries.reshape(TRIES, k), uniforms))
    factor = jnp.tril(below.reshape(p, k), -1) + jnp.eye(p, k, dtype=dtype) * diagonal[None, :]
    return vector, factor


def _chi_square(freedom: Array, normals: Array, uniforms: Array) -> Array:
    """chi^2 by Marsaglia and Tsang's rejection: the first of TRIES candidates that is accepted.

    A candidate is rejected with probability .05 at 2 degrees of freedom and less above. All are
    rejected, and the last one taken anyway, with probability below 1e-10. One degree of freedom is
    a squared normal.
    """
    a = jnp.maximum(freedom, 2) / 2 - 1 / 3
    v = (1 + normals / jnp.sqrt(9 * a)) ** 3
    positive = v > 0
    v = jnp.where(positive, v, 1)
    accepted = positive & (jnp.log(uniforms) < normals**2 / 2 + a - a * v + a * jnp.log(v))
    first = jnp.argmax(accepted.at[-1].set(True), axis=0)
    chosen = jnp.take_along_axis(2 * a * v, first[None, :], axis=0)[0]
    return jnp.where(freedom[0] == 1, normals[0] ** 2, chosen)


def context_with_spectrum(
    key: PRNGKeyArray, eigenvalues: Float[Array, " d"], n: int
) -> Float[Array, "n d"]:
    """Inputs X in general position whose Sigma = X^T X has exactly these eigenvalues (n >= d).

    X = U diag(sqrt(s)) V^T with independent Haar-distributed U (n x d) and V (d x d). Theorem 5.1
    is about such fixed contexts.
    """
    d = eigenvalues.size
    if n < d:
        raise UserError(f"n must be at least the number of eigenvalues, {d}, got {n!r}.")
    for_U, for_V = jax.random.split(key)
    dtype = eigenvalues.dtype
    U = jnp.linalg.qr(jax.random.normal(for_U, (n, d), dtype))[0]
    V = jnp.linalg.qr(jax.random.normal(for_V, (d, d), dtype))[0]
    return jnp.dot(U * jnp.sqrt(eigenvalues)[None, :], V.T, precision="highest")
