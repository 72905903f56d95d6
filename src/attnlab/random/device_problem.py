"""Prompts of single-index regression drawn on JAX's device: the law of `single_index`, own numbers.

An accelerator would wait for prompts drawn on the host. Groups of prompts have keys of their own,
so that fewer prompts are the leading ones of more; the task pool is the host's own. All kinds of
prompts are drawn by one map over their groups, so that one program draws them.
"""

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from attnlab.maths.hermite import activation_function
from attnlab.random.problem import GROUP, Prompts, SingleIndexRegression


def device_prompts(
    problem: SingleIndexRegression,
    kinds: Sequence[tuple[Any, bool, int]],
    pool: Float[Any, "k d"] | None,
    dtype: str = "float32",
) -> list[Prompts]:
    """Prompts for each kind: its key, whether tasks are fresh (else the pool's), and how many."""
    groups = [-(-count // GROUP) for _, _, count in kinds]
    keys = jnp.concatenate(
        [
            jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.arange(size))
            for (key, _, _), size in zip(kinds, groups, strict=True)
        ]
    )
    fresh = np.repeat([kind[1] for kind in kinds], groups)
    drawn = jax.vmap(lambda own, new: _group(problem, own, new, pool, dtype))(keys, fresh)
    found, start = [], 0
    for (_, _, count), size in zip(kinds, groups, strict=True):
        own = (part[start : start + size] for part in drawn)
        found.append(Prompts(*(part.reshape(-1, *part.shape[2:])[:count] for part in own)))
        start += size
    return found


def _group(
    problem: SingleIndexRegression, key: Any, fresh: Any, pool: Any, dtype: str
) -> tuple[Array, ...]:
    """GROUP prompts; given its task, a context enters b through 2 l + d numbers."""
    d, length, target = problem.d, problem.length, activation_function(problem.target)
    spread = math.sqrt(problem.noise)
    keys = iter(jax.random.split(key, 7))

    def normal(*shape: int) -> Array:
        return jax.random.normal(next(keys), (GROUP, *shape), dtype)

    task = normal(d)
    if pool is not None:
        chosen = jax.random.randint(next(keys), (GROUP,), 0, len(pool))
        task = jnp.where(fresh, task, pool.astype(dtype)[chosen])
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
