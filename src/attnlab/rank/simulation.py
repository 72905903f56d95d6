"""Monte Carlo error of any predictor of a neighbour, with its standard error.

A predictor is any function (X, y) -> R^d of one prompt: a construction, a trained layer, an
adversary. The closed forms that it is compared with are in `attnlab.rank.theory.upper_bound` and
`rank_constructions`; prompts are drawn and answered in chunks, so that memory stays small.
"""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from attnlab import arguments
from attnlab.compiling import fast_compile
from attnlab.errors import UserError
from attnlab.rank.problem import NeighbourPrompt, Neighbours
from attnlab.stats.estimate import Estimate

Predictor = Callable[[Float[Array, "N d"], Float[Array, " d"]], Float[Array, " d"]]


def squared_error(
    predictor: Predictor,
    problem: Neighbours,
    key: PRNGKeyArray,
    samples: int,
    *,
    chunk: int = 1024,
    dtype: Any = float,
) -> Estimate:
    """E ||target - predictor(X, y)||^2 over fresh prompts with a source of their own."""
    return summary(_values(_squared, predictor, problem, key, samples, chunk, dtype))


def self_squared_error(
    predictor: Predictor,
    problem: Neighbours,
    key: PRNGKeyArray,
    samples: int,
    *,
    chunk: int = 1024,
    dtype: Any = float,
) -> Estimate:
    """The error in self-attention: y is each of the points in turn, and stays among the keys.

    A sample is a sequence, whose error is the mean over its points.
    """
    return summary(_values(_self_squared, predictor, problem, key, samples, chunk, dtype))


def agreement_rate(
    predictor: Predictor,
    problem: Neighbours,
    key: PRNGKeyArray,
    samples: int,
    *,
    chunk: int = 1024,
    dtype: Any = float,
) -> Estimate:
    """How often the point nearest to what the predictor returns is the target."""
    return summary(_values(_agrees, predictor, problem, key, samples, chunk, dtype))


def paired_squared_error(
    build: Callable[[PRNGKeyArray], Predictor],
    problem: Neighbours,
    key: PRNGKeyArray,
    samples: int,
    *,
    chunk: int = 256,
    dtype: Any = float,
) -> Estimate:
    """The error averaged over random predictors as well: every prompt meets a fresh one.

    `build` makes a predictor from a key. Samples are independent, which they are not where many
    prompts share one random network.
    """
    return summary(_values(_paired, build, problem, key, samples, chunk, dtype))


def _paired(
    build: Callable[[PRNGKeyArray], Predictor], problem: Neighbours, key: PRNGKeyArray, dtype: Any
) -> Float[Array, ""]:
    for_network, for_prompt = jax.random.split(key)
    return _squared(build(for_network), problem, for_prompt, dtype)


def _squared(
    predictor: Predictor, problem: Neighbours, key: PRNGKeyArray, dtype: Any
) -> Float[Array, ""]:
    X, y, target = problem.sample(key, dtype)
    return jnp.sum((target - _answer(predictor, X, y)) ** 2)


def _self_squared(
    predictor: Predictor, problem: Neighbours, key: PRNGKeyArray, dtype: Any
) -> Float[Array, ""]:
    X, targets = problem.sample_self(key, dtype)
    answers = jax.vmap(lambda y: _answer(predictor, X, y))(X)
    return jnp.sum((targets - answers) ** 2) / len(X)


def _agrees(
    predictor: Predictor, problem: Neighbours, key: PRNGKeyArray, dtype: Any
) -> Bool[Array, ""]:
    prompt: NeighbourPrompt = problem.sample(key, dtype)
    answer = _answer(predictor, prompt.X, prompt.y)
    nearest = jnp.argmin(jnp.sum((prompt.X - answer[None, :]) ** 2, axis=1))
    return nearest == problem.answer(prompt.X, prompt.y)


def _answer(predictor: Predictor, X: Array, y: Array) -> Array:
    answer = predictor(X, y)
    if answer.shape != y.shape:
        raise UserError(
            f"predictor must return a vector of dimension {len(y)}, got shape {answer.shape}."
        )
    return answer


def _values(
    measure: Callable[..., Array],
    predictor: Any,
    problem: Neighbours,
    key: PRNGKeyArray,
    samples: int,
    chunk: int,
    dtype: Any,
) -> np.ndarray:
    samples = arguments.integer("samples", samples, 2)
    chunk = min(arguments.integer("chunk", chunk, 1), samples)
    try:
        return np.asarray(_run(measure, predictor, problem, key, samples, chunk, dtype), float)
    except UserError as error:
        raise UserError(str(error)) from None  # without JAX's note on its traceback


@fast_compile
def _run(
    measure: Callable[..., Array],
    predictor: Any,
    problem: Neighbours,
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


def summary(values: np.ndarray) -> Estimate:
    """The mean of a sample with its standard error."""
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    return Estimate(float(values.mean()), error, len(values))
