"""What the tests of the linear transformers share: prompts and random networks."""

import jax

from attnlab.linear.models.weights import DiagWeights, FullWeights
from attnlab.linear.noise import Uniform
from attnlab.linear.problem import NoisyRegression, Prompt


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
