"""What the tests of training share: a population on quadratics, where every answer is known.

One loss, one rate and one score with traced switches, so that few programs serve all the tests.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from attnlab.training.options import TrainingOptions
from attnlab.training.outcome import Trained
from attnlab.training.population import member_keys, train

WIDTH = 3
SGD = optax.sgd(1.0)
ADAM = optax.adam(1.0)
CURVATURE = np.array([1.0, 0.5, 0.25])
OPTIMUM = np.array([1.0, 2.0, 3.0])


class Bowl(NamedTuple):
    """1/2 sum c (x - x*)^2 + noise <g, x> with g ~ N(0, I) from the step's key."""

    curvature: Any
    rate: Any
    noise: Any
    burst: Any  # the step from which on the rate is 1e6
    overflow: Any  # the part of the steps whose gradient is infinite
    aim: Any  # the score is |x_1 - aim|; NaN makes it the loss without its noise


def bowls(
    rates: list[float],
    noise: float = 0.0,
    *,
    burst: float = np.inf,
    overflow: float = 0.0,
    aim: float = np.nan,
    dtype: Any = np.float32,
) -> Bowl:
    count = len(rates)
    columns = [np.full(count, value, dtype) for value in (noise, burst, overflow, aim)]
    return Bowl(np.tile(CURVATURE.astype(dtype), (count, 1)), np.array(rates, dtype), *columns)


def bowl_loss(x: Any, key: Any, bowl: Bowl) -> Any:
    for_pull, for_slope = jax.random.split(key)
    pull = bowl.noise * jax.random.normal(for_pull, (WIDTH,), x.dtype)
    hit = jax.random.uniform(for_slope) < bowl.overflow
    slope = jnp.where(hit, jnp.finfo(x.dtype).max, 0) * (x - jax.lax.stop_gradient(x)).sum()
    return quadratic(x, bowl) + (pull * x).sum() + slope * 10


def quadratic(x: Any, bowl: Bowl) -> Any:
    return (bowl.curvature * (x - jnp.asarray(OPTIMUM, x.dtype)) ** 2).sum() / 2


def bowl_rate(bowl: Bowl, step: Any) -> Any:
    return jnp.where(step < bowl.burst, bowl.rate, 1e6)


def bowl_score(x: Any, bowl: Bowl) -> Any:
    return jnp.where(jnp.isnan(bowl.aim), quadratic(x, bowl), jnp.abs(x[0] - bowl.aim))


def descent(rate: float, steps: int) -> np.ndarray:
    """x after every step of noise-free gradient descent from 0: x* (1 - (1 - rate c)^t)."""
    left = (1 - rate * CURVATURE) ** np.arange(1, steps + 1)[:, None]
    return OPTIMUM * (1 - left)


WATCHED = ("progress", "reached", "checkpoint", "stop", "devices")


def run(bowls: Bowl, steps: int, seed: int = 0, **given: Any) -> Trained:
    """Train bowls from 0; `given` are arguments and options of `train`, in one dictionary."""
    count, dtype = len(bowls.rate), bowls.rate.dtype
    watched = {name: given.pop(name) for name in WATCHED if name in given}
    optimiser = given.pop("optimiser", SGD)
    key = given.pop("key", None)
    key = member_keys(jax.random.key(seed), count) if key is None else key
    options = TrainingOptions(**{"chunk": 8, "rate": bowl_rate, "fast_compile": True} | given)
    start = np.zeros((count, WIDTH), dtype)
    return train(bowl_loss, start, bowls, key, optimiser, steps=steps, options=options, **watched)
