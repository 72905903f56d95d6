"""Contexts on which a linear transformer is read, and the weights that predictors answer them with.

All noise levels see the same X, w and unit noise, and the sequences are those of
`attnlab.linear.simulation` for the same key, so a reading and a loss profile agree exactly.
"""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from attnlab.errors import UserError
from attnlab.linear.models.predictors import Predictor, ridge_weights
from attnlab.linear.noise import Fixed, NoiseLaw, Uniform
from attnlab.linear.problem import GramPrompt, NoisyRegression

BLOCK = 4096  # sequences computed at once
LEVELS = 6  # of a continuous law

Answer = TypeVar("Answer")


class Contexts(NamedTuple):
    """Sequences on the host: what a predictor sees of each, and the sigma that it does not."""

    G: Float[np.ndarray, "samples p p"]
    sigma: Float[np.ndarray, " samples"]


def noise_range(noise: NoiseLaw) -> tuple[float, float]:
    """The smallest and the largest level that a law can give."""
    if isinstance(noise, Uniform):
        return 0.0, noise.high
    levels, _ = noise.quadrature()
    return float(levels.min()), float(levels.max())


def noise_levels(noise: NoiseLaw) -> tuple[float, ...]:
    """The levels of a discrete law; six from end to end of a continuous one."""
    levels, _ = noise.quadrature()
    if len(levels) <= LEVELS:
        return tuple(sorted(map(float, levels)))
    return tuple(map(float, np.linspace(*noise_range(noise), LEVELS)))


def contexts(
    problem: NoisyRegression, key: PRNGKeyArray, samples: int, sigma: float | None, dtype: Any
) -> Contexts:
    """`samples` sequences; sequence i has the key fold_in(key, i)."""
    level = None
    if sigma is not None:
        # The law does not matter then, and one compiled draw serves all of them.
        level, problem = jnp.asarray(sigma, dtype), dataclasses.replace(problem, noise=Fixed(0))
    block = min(samples, BLOCK)
    parts = [
        _draw(problem, key, jnp.asarray(start), level, block, dtype)
        for start in range(0, samples, block)
    ]
    return Contexts(
        np.concatenate([part.G for part in parts])[:samples],
        np.concatenate([part.sigma for part in parts])[:samples],
    )


def in_blocks(answer: Callable[..., Answer], *arrays: Float[np.ndarray, "samples *_"]) -> Answer:
    """A batched function on all sequences, a block at a time; the last block is filled up."""
    samples = len(arrays[0])
    parts = [
        jax.tree.map(np.asarray, answer(*block)) for block in _blocks(arrays, min(samples, BLOCK))
    ]
    return jax.tree.map(lambda *part: np.concatenate(part)[:samples], *parts)


def answers(
    predictor: Predictor, n: int, G: Float[np.ndarray, "samples p p"]
) -> Float[np.ndarray, "samples d"]:
    """The w with which a predictor answers every context."""
    return in_blocks(lambda block: _answers(predictor, n, block), G)


def oracle_answers(drawn: Contexts) -> Float[np.ndarray, "samples d"]:
    """Ridge with every sequence's own sigma."""
    return in_blocks(_oracle, drawn.G, drawn.sigma)


def check_noise_free(problem: NoisyRegression, sigmas: tuple[float, ...]) -> None:
    """Where n < d the oracle does not exist without noise."""
    if problem.n < problem.d and min(sigmas) == 0:
        raise UserError(
            f"n must be at least d = {problem.d} for a reading at the noise level 0, "
            f"got {problem.n!r}."
        )


def _blocks(arrays: tuple[np.ndarray, ...], block: int) -> Iterator[tuple[np.ndarray, ...]]:
    for start in range(0, len(arrays[0]), block):
        part = [array[start : start + block] for array in arrays]
        lacking = block - len(part[0])
        yield tuple(np.concatenate([each, each[:1].repeat(lacking, 0)]) for each in part)


@eqx.filter_jit
def _draw(problem, key, start, sigma, block, dtype) -> GramPrompt:
    keys = jax.vmap(jax.random.fold_in, (None, 0))(key, start + jnp.arange(block))
    return jax.vmap(lambda each: problem.direct_gram(each, dtype, sigma))(keys)


@eqx.filter_jit
def _answers(predictor: Predictor, n: int, G: Any) -> Any:
    return jax.vmap(lambda each: predictor.weights(each, n))(G)


@jax.jit
def _oracle(G: Any, sigma: Any) -> Any:
    return jax.vmap(lambda each, level: ridge_weights(each, level**2))(G, sigma)
