"""Prompts and random networks that the tests of the linear transformers share.

They are drawn with NumPy: the programs that draw with JAX take longer to compile than most tests
take to run, and have tests of their own.
"""

import jax.numpy as jnp
import numpy as np

from attnlab.linear.models.weights import DiagWeights, FullWeights
from attnlab.linear.problem import Prompt


def prompt(seed: int, d: int = 4, n: int = 9) -> Prompt:
    """A context with Sigma of order one, and noise that matters."""
    rng = np.random.default_rng((seed, d, n))
    X, w, query = rng.standard_normal((n, d)), rng.standard_normal(d), rng.standard_normal(d)
    X, query, sigma = X / np.sqrt(n), query / np.sqrt(n), 0.5 * rng.random()
    y = X @ w + sigma * rng.standard_normal(n)
    return Prompt(*map(jnp.asarray, (X, y, query, w, np.asarray(sigma))))


def gram_matrix(seed: int, d: int = 4, n: int = 9) -> np.ndarray:
    """The Gram matrix of `prompt`."""
    X, y, *_ = map(np.asarray, prompt(seed, d, n))
    E = np.column_stack([X, y])
    return E.T @ E


def full_weights(seed: int, depth: int, heads: int, d: int = 4) -> FullWeights:
    """Random weights of a size that keeps tokens of order one over the layers."""
    rng = np.random.default_rng((seed, 1000, depth, heads, d))
    P, Q = 0.1 * rng.standard_normal((2, depth, heads, d + 1, d + 1))
    return FullWeights(jnp.asarray(P), jnp.asarray(Q))


def diag_weights(seed: int, depth: int, heads: int) -> DiagWeights:
    """Random diagonal weights of the same size."""
    rng = np.random.default_rng((seed, 2000, depth, heads))
    return DiagWeights(*map(jnp.asarray, 0.1 * rng.standard_normal((4, depth, heads))))


def difference(left, right) -> float:
    """The largest difference relative to the largest entry."""
    left, right = np.asarray(left), np.asarray(right)
    return float(np.abs(left - right).max() / np.abs(right).max())
