"""Losses of predictors on noisy regression, as means over sequences with standard errors.

Losses are HALF the squared error, as in Vladymyrov et al. (arXiv 2402.14180); the adjusted loss
subtracts that of the oracle, ridge with the sequence's own sigma. The expectation over the query
and over w given the context is known, so the adjusted loss is 1/2 E ||w^L - w_oracle||^2 exactly
(in the metric of the inputs' variance); sampling the query as the paper does is here to compare.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.linear.models.predictors import EveryLayer, Predictor, ridge_weights
from attnlab.linear.models.weights import Weights
from attnlab.linear.problem import GramPrompt, NoisyRegression, gram
from attnlab.stats.estimate import Estimate

Kind = Literal["adjusted", "unadjusted", "sampled query"]
BLOCK = 8192  # sequences computed at once, whatever the number asked for


def adjusted_loss(
    predictor: Predictor,
    problem: NoisyRegression,
    key: PRNGKeyArray,
    samples: int = 20_000,
    *,
    block: int = BLOCK,
    dtype: Any = float,
) -> Estimate:
    """1/2 E ||w - w_oracle||^2 over the problem."""
    return estimate(losses(predictor, problem, key, samples, block=block, dtype=dtype))


def sampled_query_loss(
    predictor: Predictor,
    problem: NoisyRegression,
    key: PRNGKeyArray,
    samples: int = 20_000,
    *,
    block: int = BLOCK,
    dtype: Any = float,
) -> Estimate:
    """The same expectation as the paper takes it: one sampled query a sequence, loss minus loss."""
    kind: Kind = "sampled query"
    return estimate(losses(predictor, problem, key, samples, kind=kind, block=block, dtype=dtype))


def unadjusted_loss(
    predictor: Predictor,
    problem: NoisyRegression,
    key: PRNGKeyArray,
    samples: int = 20_000,
    *,
    block: int = BLOCK,
    dtype: Any = float,
) -> Estimate:
    """1/2 E ||w^L - w||^2, the plain loss, with the expectation over the query in closed form."""
    kind: Kind = "unadjusted"
    return estimate(losses(predictor, problem, key, samples, kind=kind, block=block, dtype=dtype))


def loss_profile(
    predictor: Predictor,
    problem: NoisyRegression,
    sigmas: Sequence[float],
    key: PRNGKeyArray,
    samples: int = 20_000,
    *,
    kind: Kind = "adjusted",
    block: int = BLOCK,
    dtype: Any = float,
) -> tuple[Estimate, ...]:
    """The loss at every sigma in place of the problem's law; all see the same X, w and xi."""
    levels = [arguments.non_negative("sigmas", sigma) for sigma in sigmas]
    return tuple(
        estimate(
            losses(
                predictor, problem, key, samples, kind=kind, sigma=sigma, block=block, dtype=dtype
            )
        )
        for sigma in levels
    )


def adjusted_loss_by_layer(
    network: Weights,
    problem: NoisyRegression,
    key: PRNGKeyArray,
    samples: int = 20_000,
    *,
    sigma: float | None = None,
    block: int = BLOCK,
    dtype: Any = float,
) -> tuple[Estimate, ...]:
    """The adjusted loss of the prediction read after K = 0, 1, ..., L layers."""
    values = losses(
        EveryLayer(network), problem, key, samples, sigma=sigma, block=block, dtype=dtype
    )
    return tuple(estimate(values[:, stage]) for stage in range(values.shape[1]))


def losses(
    predictor: Predictor,
    problem: NoisyRegression,
    key: PRNGKeyArray,
    samples: int,
    *,
    kind: Kind = "adjusted",
    sigma: float | None = None,
    block: int = BLOCK,
    dtype: Any = float,
) -> Float[np.ndarray, "samples *stages"]:
    """The loss of every sequence; sequence i has the key fold_in(key, i), whatever the block."""
    samples = arguments.integer("samples", samples, 1)
    block = arguments.integer("block", block, 1)
    arguments.one_of("kind", kind, ("adjusted", "unadjusted", "sampled query"))
    level = None if sigma is None else jnp.asarray(sigma, dtype)
    parts = []
    for start in range(0, samples, block):
        # A short last block is computed in full: one shape, one compilation. The draw is compiled
        # apart from the predictor, because it is the larger program and all predictors share it.
        drawn = _draw(
            problem, key, jnp.asarray(start), level, block, kind == "sampled query", dtype
        )
        part = _losses(predictor, problem, drawn, kind)
        parts.append(np.asarray(part, np.float64)[: samples - start])
    return np.concatenate(parts)


def sequence_loss(
    predictor: Predictor,
    problem: NoisyRegression,
    prompt: GramPrompt,
    query: Float[Array, " d"] | None = None,
    kind: Kind = "adjusted",
) -> Float[Array, "*stages"]:
    """The loss of one sequence; only "sampled query" looks at the query."""
    G, w, sigma = prompt
    answer = predictor.weights(G, problem.n)
    oracle = ridge_weights(G, sigma**2)
    if kind == "sampled query":
        if query is None:
            raise UserError('query must be given for the kind "sampled query", got None.')
        asked = [jnp.dot(v, query, precision="highest") for v in (answer, oracle, w)]
        return ((asked[0] - asked[2]) ** 2 - (asked[1] - asked[2]) ** 2) / 2
    aim = oracle if kind == "adjusted" else w
    # Rank promotion spelled out: answer is (d,) or (stages, d).
    error = jnp.square(answer - jnp.broadcast_to(aim, answer.shape))
    return jnp.dot(error, problem.variances(G.dtype), precision="highest") / 2


def estimate(values: Float[np.ndarray, " samples"]) -> Estimate:
    """The mean of a sample with its standard error; infinite where a sequence overflowed."""
    if not np.isfinite(values).all():
        return Estimate(math.inf, math.inf, len(values))
    error = values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.inf
    return Estimate(float(values.mean()), float(error), len(values))


@eqx.filter_jit
def _draw(problem, key, start, sigma, block, tokens, dtype):
    keys = jax.vmap(jax.random.fold_in, (None, 0))(key, start + jnp.arange(block))

    def one(key):
        if not tokens:
            return problem.direct_gram(key, dtype, sigma), None
        X, y, query, w, level = problem.sample(key, dtype, sigma)
        return GramPrompt(gram(X, y), w, level), query

    return jax.vmap(one)(keys)


@eqx.filter_jit
def _losses(predictor, problem, drawn, kind):
    def one(prompt, query):
        return sequence_loss(predictor, problem, prompt, query, kind)

    return jax.vmap(one)(*drawn)
