"""Batches of sequences whose noise level is chosen afterwards, so that all laws share one program.

A batch is drawn with unit noise and one uniform number u per sequence. A noise law is a table of
its quantiles, which is data rather than code: sigma is the quantile at u, and `with_noise` puts it
into the Gram matrices. Members of a population that are given the same key therefore have the same
inputs and differ in sigma only.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from attnlab.errors import UserError
from attnlab.linear.noise import NoiseLaw, Uniform
from attnlab.linear.problem import NoisyRegression, sums


class NoiseTable(NamedTuple):
    """The quantile function of a law in pieces: linear from `low` to `high` up to each of `ends`.

    `ends` are cumulative probabilities. For a uniform u, quantile(u) has the law.
    """

    ends: Float[Array, "*members pieces"]
    low: Float[Array, "*members pieces"]
    high: Float[Array, "*members pieces"]

    def quantile(self, u: Float[Array, ""]) -> Float[Array, ""]:
        """The sigma that is not exceeded with probability u."""
        piece = (u >= self.ends[:-1]).sum()
        start = jnp.where(piece > 0, self.ends[piece - 1], 0)
        within = (u - start) / jnp.maximum(self.ends[piece] - start, jnp.finfo(u.dtype).tiny)
        return self.low[piece] + (self.high[piece] - self.low[piece]) * within


def noise_tables(laws: Sequence[NoiseLaw], dtype: Any = float) -> NoiseTable:
    """One table per law, along the first axis. U(0, high) and discrete laws are exact.

    Another continuous law is replaced by its quadrature rule, which has the same moments.
    """
    pieces = [_pieces(law) for law in laws]
    longest = max(ends.size for ends, _, _ in pieces)

    def padded(column: int) -> Array:
        rows = [np.pad(law[column], (0, longest - law[column].size), "edge") for law in pieces]
        return jnp.asarray(np.stack(rows), dtype)

    return NoiseTable(padded(0), padded(1), padded(2))


class Batch(NamedTuple):
    """Sequences without a noise level: [X xi]^T [X xi] with the unit noise xi."""

    G: Float[Array, "batch p p"]
    w: Float[Array, "batch d"]
    query: Float[Array, "batch d"]
    u: Float[Array, " batch"]  # sigma is the quantile of the noise law at u


def draw_batch(problem: NoisyRegression, key: Any, batch: int, dtype: Any) -> Batch:
    """Draw a batch by one call of each generator, whose code takes most of the compile time."""
    for_normals, for_uniforms = jax.random.split(key)
    d, n = problem.d, problem.n
    normals = jax.random.normal(for_normals, (batch, n + 2, d + 1), dtype)
    scale = jnp.sqrt(problem.variances(dtype))
    tokens = normals[:, 2:] * jnp.append(scale, 1)[None, None, :]
    return Batch(
        jnp.einsum("bni,bnj->bij", tokens, tokens, precision="highest"),
        normals[:, 0, :-1],
        normals[:, 1, :-1] * scale[None, :],
        jax.random.uniform(for_uniforms, (batch,), dtype),
    )


def with_noise(
    G: Float[Array, "p p"], w: Float[Array, " d"], sigma: Float[Array, ""] | float
) -> Float[Array, "p p"]:
    """C G C^T with C = [[I, 0], [w^T, sigma]]: the Gram matrix of [X y] from that of [X xi].

    It is written so that everything except sigma is computed once for all members of a batch.
    """
    Sigma, b, r = sums(G)
    a = jnp.dot(Sigma, w, precision="highest")
    p, q = (jnp.dot(w, vector, precision="highest") for vector in (a, b))
    alpha, lam = a + sigma * b, p + 2 * sigma * q + sigma**2 * r
    top = jnp.concatenate([Sigma, alpha[:, None]], axis=1)
    return jnp.concatenate([top, jnp.append(alpha, lam)[None, :]])


def _pieces(law: NoiseLaw) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if isinstance(law, Uniform):
        return np.ones(1), np.zeros(1), np.array([law.high])
    levels, weights = law.quadrature()
    if (weights < 0).any() or (levels < 0).any():
        raise UserError(f"The levels and weights of the law {law.name} must be 0 or more.")
    kept = weights > 0
    ends = np.cumsum(weights[kept]) / weights.sum()
    ends[-1] = 1.0
    return ends, levels[kept], levels[kept]
