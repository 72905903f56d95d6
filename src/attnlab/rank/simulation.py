"""Monte Carlo error of any predictor of neighbours, with its standard error.

A predictor is anything that answers a prompt of its problem: a construction, a trained layer, an
adversary. The closed forms to compare with are in `theory.full_rank`, `theory.upper_bound` and
`theory.majority_vote`. Prompts are drawn and answered in chunks, so that memory stays small.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from attnlab import arguments
from attnlab.compiling import fast_compile
from attnlab.errors import UserError
from attnlab.protocols import Predictor
from attnlab.rank.models.constructions import FullRankHead
from attnlab.rank.models.majority_vote import majority_vote, random_directions
from attnlab.rank.problem import Neighbours, SelfNeighbours
from attnlab.stats import Estimate

Problem = Neighbours | SelfNeighbours


def error(
    predictor: Predictor,
    problem: Problem,
    key: PRNGKeyArray | int = 0,
    samples: int = 10_000,
    *,
    chunk: int = 1024,
    dtype: Any = float,
) -> Estimate:
    """E ||target - answer||^2 over fresh prompts; for a `SelfPrompt`, the mean over its points.

    Parameters
    ----------
    predictor
        What answers the prompts.
    problem
        What they are drawn from.
    key
        A JAX key, or a seed.
    samples
        Number of independent prompts.
    chunk
        Prompts that are answered together: more of them need more memory.
    dtype
        Precision of the prompts.
    """
    return Estimate.of(_values(_squared, predictor, problem, key, samples, chunk, dtype))


def agreement_rate(
    predictor: Predictor,
    problem: Neighbours,
    key: PRNGKeyArray | int = 0,
    samples: int = 10_000,
    *,
    chunk: int = 1024,
    dtype: Any = float,
) -> Estimate:
    """How often the point nearest to the answer is the target; arguments as in `error`."""
    return Estimate.of(_values(_agrees, predictor, problem, key, samples, chunk, dtype))


def random_network_error(
    build: Callable[[PRNGKeyArray], Predictor],
    problem: Problem,
    key: PRNGKeyArray | int = 0,
    samples: int = 10_000,
    *,
    chunk: int = 256,
    dtype: Any = float,
) -> Estimate:
    """The error averaged over random predictors as well: every prompt meets a fresh one.

    `build(key)` draws a predictor; the other arguments are those of `error`. Samples are
    independent, which they are not where many prompts share one random network.
    """
    return Estimate.of(_values(_of_a_network, build, problem, key, samples, chunk, dtype))


def sampled_full_rank_error(
    d: int, scale: float, key: PRNGKeyArray | int = 0, samples: int = 10_000
) -> Estimate:
    """The Monte Carlo of `theory.full_rank.full_rank_error`, called in the same way.

    Parameters
    ----------
    d, scale
        Dimension, and the c of K Q^T = c I.
    key, samples
        A JAX key or a seed, and the number of prompts.
    """
    problem = Neighbours(d, 2, points="orthonormal")
    return error(FullRankHead(scale), problem, key, samples)


def sampled_majority_vote_error(
    d: int, heads: int, key: PRNGKeyArray | int = 0, samples: int = 2000
) -> Estimate:
    """The Monte Carlo of `theory.majority_vote.majority_vote_error`, called in the same way.

    Parameters
    ----------
    d, heads
        Dimension, and the odd number of voting heads.
    key, samples
        A JAX key or a seed, and the number of prompts, each with a fresh network.
    """
    build = partial(random_vote, majority_vote, d, heads, math.inf)
    return random_network_error(build, Neighbours(d, 2), key, samples)


def random_vote(
    network: Callable[..., Predictor], d: int, heads: int, scale: float, key: PRNGKeyArray
) -> Predictor:
    """A network that votes, with fresh uniform directions.

    Parameters
    ----------
    network
        `majority_vote` or `vote_by_mlp`.
    d, heads, scale
        Dimension, the odd number of voting heads, and what multiplies the scores.
    key
        Key of the directions.
    """
    return network(random_directions(key, d, heads, jnp.float32), scale)


def _squared(
    predictor: Predictor, problem: Problem, key: PRNGKeyArray, dtype: Any
) -> Float[Array, ""]:
    prompt = problem.sample(key, dtype)
    answer = _answer(predictor, prompt)
    return jnp.mean(jnp.sum((prompt.target - answer) ** 2, axis=-1))


def _agrees(
    predictor: Predictor, problem: Neighbours, key: PRNGKeyArray, dtype: Any
) -> Bool[Array, ""]:
    prompt = problem.sample(key, dtype)
    answer = _answer(predictor, prompt)
    nearest = jnp.argmin(jnp.sum((prompt.X - answer[None, :]) ** 2, axis=1))
    return nearest == problem.answer(prompt.X, prompt.y)


def _of_a_network(
    build: Callable[[PRNGKeyArray], Predictor], problem: Problem, key: PRNGKeyArray, dtype: Any
) -> Float[Array, ""]:
    for_network, for_prompt = jax.random.split(key)
    return _squared(build(for_network), problem, for_prompt, dtype)


def _answer(predictor: Predictor, prompt: Any) -> Array:
    answer = predictor(prompt)
    if answer.shape != prompt.target.shape:
        raise UserError(
            f"predictor must return an array of the target's shape, {prompt.target.shape}, "
            f"got shape {answer.shape}."
        )
    return answer


def _values(
    measure: Callable[..., Array],
    predictor: Any,
    problem: Problem,
    key: PRNGKeyArray | int,
    samples: int,
    chunk: int,
    dtype: Any,
) -> np.ndarray:
    samples = arguments.integer("samples", samples, 2)
    chunk = min(arguments.integer("chunk", chunk, 1), samples)
    if not isinstance(key, jax.Array):
        key = jax.random.key(arguments.integer("key", key, 0))
    try:
        return np.asarray(_run(measure, predictor, problem, key, samples, chunk, dtype), float)
    except UserError as refusal:
        raise UserError(str(refusal)) from None  # without JAX's note on its traceback


@fast_compile
def _run(
    measure: Callable[..., Array],
    predictor: Any,
    problem: Problem,
    key: PRNGKeyArray,
    samples: int,
    chunk: int,
    dtype: Any,
) -> Array:
    # Whole chunks only: a shorter last one would be compiled a second time.
    keys = jax.random.split(key, -(-samples // chunk) * chunk)
    values = jax.lax.map(
        lambda one: measure(predictor, problem, one, dtype), keys, batch_size=chunk
    )
    return values[:samples]
