"""What the tests of the linear transformers share: double precision and random networks."""

from collections.abc import Iterator
from contextlib import contextmanager

import jax
import pytest

from attnlab.models.linear_weights import DiagWeights, FullWeights
from attnlab.problems.noise import Uniform
from attnlab.problems.noisy_regression import NoisyRegression, Prompt


@contextmanager
def in_double_precision() -> Iterator[None]:
    """float64, and a rank that grows silently is an error: for fixtures that outlive a test.

    What they compile is found again in the tests only under the same settings.
    """
    with jax.enable_x64(True), jax.numpy_rank_promotion("raise"):
        yield


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    """The same in every test of the module that imports this."""
    with in_double_precision():
        yield


def prompt(seed: int, d: int = 4, n: int = 9) -> Prompt:
    """A context with Sigma of order one and a noise that matters."""
    return NoisyRegression(d, n, Uniform(0.5), 1 / n).sample(jax.random.key(seed))


def full_weights(seed: int, depth: int, heads: int, d: int = 4) -> FullWeights:
    """Ordinary weights: random, of a size that keeps tokens of order one over the layers."""
    keys = jax.random.split(jax.random.key(seed + 1000), 2)
    shape = (depth, heads, d + 1, d + 1)
    return FullWeights(*(0.1 * jax.random.normal(key, shape) for key in keys))


def diag_weights(seed: int, depth: int, heads: int) -> DiagWeights:
    keys = jax.random.split(jax.random.key(seed + 2000), 4)
    return DiagWeights(*(0.1 * jax.random.normal(key, (depth, heads)) for key in keys))
