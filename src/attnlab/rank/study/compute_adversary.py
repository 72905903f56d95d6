"""What the cell `rank_adversary` computes: heads trained against the bound, on fresh prompts."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from attnlab.rank.problem import Neighbours
from attnlab.rank.simulation import error
from attnlab.rank.study.draws import in_single_precision, key_of
from attnlab.rank.study.questions_adversary import Adversary, AdversaryResult
from attnlab.rank.theory.lower_bound import lower_bound
from attnlab.rank.training.adversary import train_adversary


@in_single_precision
def adversary_result(config: Adversary) -> AdversaryResult:
    """The best of two trained adversaries, its error on fresh prompts, and the bound."""
    for_training, for_error = jax.random.split(key_of(config))
    heads = train_adversary(
        for_training,
        config.d,
        config.rank,
        config.heads,
        scalar_values=config.scalar_values,
        steps=config.steps,
        batch=config.batch,
        dtype=jnp.float32,
    )
    problem = Neighbours(config.d, 2, points="orthonormal")
    found = error(heads, problem, for_error, config.samples)
    variant = "C" if config.scalar_values else "B"
    bound = lower_bound(config.d, config.rank, config.heads, variant).value
    return AdversaryResult(found.value, found.standard_error, bound)
