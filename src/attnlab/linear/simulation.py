"""Losses of predictors on noisy regression, as means over sequences with standard errors.

Losses are HALF the squared error, as in Vladymyrov et al. (arXiv 2402.14180). The adjusted loss
subtracts the loss of the oracle, ridge with the sequence's own sigma. The expectation over the
query and over w given the context is known in closed form: the adjusted loss is
1/2 E ||w^L - w_oracle||^2 exactly, in the metric of the inputs' variance. A query is sampled, as
in the paper, for predictors that only answer whole prompts, and to compare.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab import arguments
from attnlab.compiling import fast_compile
from attnlab.errors import UserError
from attnlab.linear.models.network import Network
from attnlab.linear.models.predictors import (
    EveryLayer,
    LinearPredictor,
    LinearTransformer,
    ridge_weights,
)
from attnlab.linear.models.weights import FAMILIES, Weights
from attnlab.linear.noise import Fixed
from attnlab.linear.problem import GramPrompt, NoisyRegression, Prompt, gram
from attnlab.stats.estimate import Estimate

Kind = Literal["adjusted", "unadjusted", "sampled query"]
KINDS = ("adjusted", "unadjusted", "sampled query")
Answerer = LinearPredictor | Network | Weights | Callable[[Prompt], Any]
BLOCK = 8192  # sequences computed at once, whatever the number of samples


def loss(
    predictor: Answerer,
    problem: NoisyRegression,
    samples: int = 20_000,
    *,
    seed: int = 0,
    kind: Kind = "adjusted",
    sigma: float | None = None,
) -> Estimate:
    """The mean loss of a predictor over a problem, in double precision.

    Parameters
    ----------
    predictor
        A predictor of this package, a network, weights, or any function of a `Prompt`. A function
        answers with its prediction for `prompt.query`, and is evaluated with sampled queries.
    problem
        The distribution of the prompts.
    samples
        The number of sequences.
    seed
        The seed of the draws; equal seeds give equal sequences to all predictors.
    kind
        "adjusted" subtracts the loss of the oracle, with the expectation over the query in closed
        form; "sampled query" has the same expectation, with one sampled query per sequence;
        "unadjusted" is the loss itself.
    sigma
        A noise level in place of the problem's noise law.
    """
    key = jax.random.key(arguments.integer("seed", seed, 0))
    if sigma is not None:
        sigma = arguments.non_negative("sigma", sigma)
    answerer = as_predictor(predictor)
    with jax.enable_x64(True):
        if isinstance(answerer, LinearPredictor):
            values = losses(answerer, problem, key, samples, kind=kind, sigma=sigma)
        else:
            values = prompt_losses(answerer, problem, key, samples, kind=kind, sigma=sigma)
    return Estimate.of(values)


def loss_profile(
    predictor: Answerer,
    problem: NoisyRegression,
    sigmas: Sequence[float],
    samples: int = 20_000,
    *,
    seed: int = 0,
    kind: Kind = "adjusted",
) -> tuple[Estimate, ...]:
    """The loss at every noise level of `sigmas`; all levels have the same X, w and xi.

    The other arguments are those of `loss`.
    """
    levels = [arguments.non_negative("sigmas", sigma) for sigma in sigmas]
    return tuple(
        loss(predictor, problem, samples, seed=seed, kind=kind, sigma=sigma) for sigma in levels
    )


def loss_by_layer(
    network: Network | Weights,
    problem: NoisyRegression,
    samples: int = 20_000,
    *,
    seed: int = 0,
    sigma: float | None = None,
) -> tuple[Estimate, ...]:
    """The adjusted loss of the prediction read after K = 0, 1, ..., L layers.

    The other arguments are those of `loss`.
    """
    weights = network.weights if isinstance(network, Network) else network
    key = jax.random.key(arguments.integer("seed", seed, 0))
    with jax.enable_x64(True):
        values = losses(EveryLayer(weights), problem, key, samples, sigma=sigma)
    return tuple(Estimate.of(values[:, stage]) for stage in range(values.shape[1]))


def as_predictor(given: Any) -> LinearPredictor | Callable[[Prompt], Any]:
    """The predictor of a network or of weights; anything else that can be called stays as it is."""
    if isinstance(given, Network):
        return given.predictor
    if isinstance(given, tuple(FAMILIES.values())):
        return LinearTransformer(given)
    if not callable(given):
        raise UserError(f"predictor must answer a prompt, got {type(given).__name__}.")
    return given


def losses(
    predictor: LinearPredictor,
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
    arguments.one_of("kind", kind, KINDS)
    # A predictor refuses a problem that it cannot solve; this asks it before anything is drawn.
    side = jax.ShapeDtypeStruct((problem.d + 1,) * 2, jnp.zeros((), dtype).dtype)
    jax.eval_shape(lambda G: predictor.weights(G, problem.n), side)
    tokens = kind == "sampled query"
    any_law = dataclasses.replace(problem, noise=Fixed(0.0))
    parts = []
    # Drawing is compiled apart from the predictor, because it is the larger program and all
    # predictors share it. The losses do not depend on the noise law, and all laws share theirs.
    for drawn, count in drawn_blocks(problem, key, samples, sigma, block, tokens, dtype):
        part = _losses(predictor, any_law, drawn, kind)
        parts.append(np.asarray(part, np.float64)[:count])
    return np.concatenate(parts)


def prompt_losses(
    predictor: Callable[[Prompt], Any],
    problem: NoisyRegression,
    key: PRNGKeyArray,
    samples: int,
    *,
    kind: Kind = "adjusted",
    sigma: float | None = None,
    block: int = BLOCK,
) -> Float[np.ndarray, " samples"]:
    """The loss of every sequence for a predictor that only answers prompts, on sampled queries.

    The predictor is compiled if JAX can trace it, and otherwise called once per sequence with
    NumPy arrays.
    """
    samples = arguments.integer("samples", samples, 1)
    arguments.one_of("kind", kind, KINDS)
    parts = []
    for (prompts, oracle), count in drawn_blocks(problem, key, samples, sigma, block, None, float):
        found = _answers(predictor, prompts, count) - np.asarray(jax.vmap(_label)(prompts))[:count]
        part = np.square(found)
        if kind != "unadjusted":
            part = part - np.square(np.asarray(oracle)[:count])
        parts.append(part / 2)
    return np.concatenate(parts)


def sequence_loss(
    predictor: LinearPredictor,
    problem: NoisyRegression,
    prompt: GramPrompt,
    query: Float[Array, " d"] | None = None,
    kind: Kind = "adjusted",
) -> Float[Array, "*stages"]:
    """The loss of one sequence; the query is used for the kind "sampled query" only."""
    G, w, sigma = prompt
    answer = predictor.weights(G, problem.n)
    oracle = ridge_weights(G, sigma**2)
    if kind == "sampled query":
        if query is None:
            raise UserError('query must be given for the kind "sampled query", got None.')
        ours, best, label = (jnp.dot(v, query, precision="highest") for v in (answer, oracle, w))
        return ((ours - label) ** 2 - (best - label) ** 2) / 2
    aim = oracle if kind == "adjusted" else w
    # Broadcast explicitly, since the answer has the shape (d,) or (stages, d).
    error = jnp.square(answer - jnp.broadcast_to(aim, answer.shape))
    return jnp.dot(error, problem.variances(G.dtype), precision="highest") / 2


def drawn_blocks(
    problem: NoisyRegression,
    key: PRNGKeyArray,
    samples: int,
    sigma: float | None,
    block: int,
    tokens: bool | None,
    dtype: Any,
) -> Iterator[tuple[Any, int]]:
    """The draws of every block, and how many of them count.

    Sequence i has the key fold_in(key, i). A short last block is drawn in full, so that one
    compiled program serves all blocks. `tokens` is False for Gram matrices alone, True for Gram
    matrices and queries, and None for whole prompts with the oracle's error on each.
    """
    level = None if sigma is None else jnp.asarray(sigma, dtype)
    for start in range(0, samples, block):
        drawn = _draw(problem, key, jnp.asarray(start), level, block, tokens, dtype)
        yield drawn, min(block, samples - start)


@fast_compile
def _draw(problem, key, start, sigma, block, tokens, dtype):
    keys = jax.vmap(jax.random.fold_in, (None, 0))(key, start + jnp.arange(block))

    def one(key):
        if tokens is False:
            return problem.direct_gram(key, dtype, sigma), None
        prompt = problem.sample(key, dtype, sigma)
        G = gram(prompt.X, prompt.y)
        if tokens:
            return GramPrompt(G, prompt.w, prompt.sigma), prompt.query
        oracle = ridge_weights(G, prompt.sigma**2) - prompt.w
        return prompt, jnp.dot(oracle, prompt.query, precision="highest")

    return jax.vmap(one)(keys)


@eqx.filter_jit
def _losses(predictor, problem, drawn, kind):
    def one(prompt, query):
        return sequence_loss(predictor, problem, prompt, query, kind)

    return jax.vmap(one)(*drawn)


def _label(prompt: Prompt) -> Float[Array, ""]:
    return prompt.label


def _answers(predictor: Callable[[Prompt], Any], prompts: Prompt, count: int) -> np.ndarray:
    try:
        found = np.asarray(jax.jit(jax.vmap(predictor))(prompts), np.float64)[:count]
    except (jax.errors.TracerArrayConversionError, jax.errors.ConcretizationTypeError):
        whole = jax.tree.map(np.asarray, prompts)
        each = (jax.tree.map(lambda part, i=i: part[i], whole) for i in range(count))
        found = np.array([np.asarray(predictor(prompt), np.float64) for prompt in each])
    if found.shape != (count,):
        raise UserError(
            "predictor must answer a prompt with one number, got an answer of shape "
            f"{found.shape[1:]}."
        )
    return found
