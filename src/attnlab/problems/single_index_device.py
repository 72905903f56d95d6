"""Prompts of single-index regression drawn on JAX's device: the law of `single_index`, own numbers.

An accelerator would wait for prompts drawn on the host. Groups of prompts have keys of their own,
so that fewer prompts are the leading ones of more; the task pool is the host's own.
"""

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from attnlab.models.hermite import activation_function
from attnlab.problems.single_index import GROUP, SingleIndexRegression


def device_prompts(
    problem: SingleIndexRegression,
    key: Any,
    count: int,
    pool: Float[Array, "k d"] | None,
    dtype: str = "float32",
) -> tuple[Array, Array, Array, Array]:
    """query, memory, label and signal of `count` prompts, as in `single_index.Prompts`."""
    drawn = _drawn(problem, key, pool, -(-count // GROUP), dtype)
    return tuple(part[:count] for part in drawn)  # pyright: ignore[reportReturnType]


@partial(jax.jit, static_argnums=(0, 3, 4))
def _drawn(problem: SingleIndexRegression, key: Any, pool: Any, groups: int, dtype: str) -> Any:
    keys = jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.arange(groups))
    parts = jax.vmap(lambda own: _group(problem, own, pool, dtype))(keys)
    return tuple(part.reshape(groups * GROUP, *part.shape[2:]) for part in parts)


def _group(problem: SingleIndexRegression, key: Any, pool: Any, dtype: str) -> tuple[Array, ...]:
    """GROUP prompts; given its task, a context enters b through 2 l + d numbers."""
    d, length, target = problem.d, problem.length, activation_function(problem.target)
    spread = math.sqrt(problem.noise)
    keys = iter(jax.random.split(key, 6))

    def normal(*shape: int) -> Array:
        return jax.random.normal(next(keys), (GROUP, *shape), dtype)

    if pool is None:
        task = normal(d)
    else:
        task = pool.astype(dtype)[jax.random.randint(next(keys), (GROUP,), 0, len(pool))]
    query = normal(d) / math.sqrt(d)
    signal = (task * query).sum(1)
    label = target(signal) + spread * normal()
    norm = (task**2).sum(1, keepdims=True)
    u = normal(length) * jnp.sqrt(norm / d)
    y = target(u) + spread * normal(length)
    g = normal(d)
    g = g - (g * task).sum(1, keepdims=True) / norm * task
    squares = (y * y).sum(1, keepdims=True)
    along = (y * u).sum(1, keepdims=True) / norm * task
    first = d / length * (along + jnp.sqrt(squares / d) * g)
    return query, jnp.concatenate([first, squares / length], axis=1), label, signal
