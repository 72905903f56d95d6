"""An adversary of the lower bound: generalised heads of rank r, trained to violate it.

phi_h is an MLP of (K_h^T x_1, K_h^T x_2, y) and V_h is free, or a multiple of the identity for
variant (C). Everything is trained by Adam on fresh prompts; a trained error below
`theory.lower_bound.lower_bound` would refute the theorem.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Key, PRNGKeyArray

from attnlab import arguments
from attnlab.compiling import fast_compile
from attnlab.rank.models.generalised_heads import GeneralisedHeads, random_generalised_heads
from attnlab.rank.problem import Neighbours
from attnlab.rank.theory.lower_bound import check_head


def train_adversary(
    key: PRNGKeyArray,
    d: int,
    r: int,
    heads: int,
    *,
    scalar_values: bool = False,
    width: int = 32,
    steps: int = 2000,
    batch: int = 512,
    rate: float = 0.01,
    starts: int = 2,
    dtype: Any = float,
) -> GeneralisedHeads:
    """The best of `starts` adversaries trained together, each on its own stream of fresh prompts.

    Adam with a cosine to rate 0; the best is chosen by the loss over the last tenth of the steps,
    so that its error has to be estimated on fresh prompts (`simulation.error`).

    Parameters
    ----------
    key
        Key of all random numbers.
    d, r, heads
        Dimension, rank of every K_h, and number of heads.
    scalar_values
        Whether every V_h is c_h I.
    width
        Width of the hidden layer of every phi_h.
    steps, batch
        Training steps, and prompts per step.
    rate
        Learning rate at the start.
    starts
        How many adversaries are trained.
    dtype
        Precision of training.
    """
    d, r, heads = check_head(d, r, heads)
    arguments.integer("steps", steps, 10)
    arguments.integer("batch", batch, 1)
    arguments.positive("rate", rate)
    keys = jax.random.split(key, arguments.integer("starts", starts, 1))
    sizes = {"d": d, "r": r, "heads": heads, "scalar_values": scalar_values, "width": width}
    models, losses = _train(keys, sizes, steps, batch, rate, dtype)
    best = int(jnp.argmin(losses))
    return jax.tree.map(lambda leaf: leaf[best], models)


@fast_compile
def _train(
    keys: Key[Array, " starts"],
    sizes: dict[str, Any],
    steps: int,
    batch: int,
    rate: float,
    dtype: Any,
) -> tuple[GeneralisedHeads, Array]:
    """The trained adversaries and their losses over the last tenth of the steps."""
    problem = Neighbours(sizes["d"], 2, points="orthonormal")
    optimiser: Any = optax.adam(optax.cosine_decay_schedule(rate, steps))

    def loss(model: GeneralisedHeads, key: PRNGKeyArray) -> Array:
        prompts = problem.sample_batch(key, batch, dtype)
        return jnp.mean(jnp.sum((prompts.target - jax.vmap(model)(prompts)) ** 2, axis=1))

    def run(key: PRNGKeyArray) -> tuple[GeneralisedHeads, Array]:
        start = random_generalised_heads(key, **sizes, dtype=dtype)

        def step(state: tuple[GeneralisedHeads, Any], t: Array):
            model, memory = state
            value, gradient = jax.value_and_grad(loss)(model, jax.random.fold_in(key, t))
            updates, memory = optimiser.update(gradient, memory)
            return (eqx.apply_updates(model, updates), memory), value

        (model, _), losses = jax.lax.scan(step, (start, optimiser.init(start)), jnp.arange(steps))
        return model, jnp.mean(losses[-(steps // 10) :])

    return jax.vmap(run)(keys)
