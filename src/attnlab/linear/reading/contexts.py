"""Contexts on which a linear transformer is read, and the answers of predictors to them.

All noise levels have the same X, w and unit noise. The sequences are those of
`attnlab.linear.simulation` for the same key, so that a reading and a loss profile agree.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from attnlab.errors import UserError
from attnlab.linear.models.predictors import LinearPredictor, ridge_weights
from attnlab.linear.noise import Fixed, NoiseLaw, Uniform
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.simulation import drawn_blocks

BLOCK = 4096  # sequences computed at once
LEVELS = 6  # noise levels of a continuous law

Answer = TypeVar("Answer")


class Contexts(NamedTuple):
    """Sequences on the host: the Gram matrices, and the noise levels, which predictors ignore."""

    G: Float[np.ndarray, "samples p p"]
    sigma: Float[np.ndarray, " samples"]


class Units(NamedTuple):
    """The largest eigenvalue of Sigma, and lambda, of every context that a network is given."""

    largest_eigenvalue: float
    label_square_sum: float


def noise_range(noise: NoiseLaw) -> tuple[float, float]:
    """The smallest and the largest noise level of a law."""
    if isinstance(noise, Uniform):
        return 0.0, noise.high
    levels, _ = noise.quadrature()
    return float(levels.min()), float(levels.max())


def noise_levels(noise: NoiseLaw) -> tuple[float, ...]:
    """The levels of a discrete law, or six levels over the range of a continuous one."""
    levels, _ = noise.quadrature()
    if len(levels) <= LEVELS:
        return tuple(sorted(map(float, levels)))
    return tuple(map(float, np.linspace(*noise_range(noise), LEVELS)))


def contexts(
    problem: NoisyRegression, key: PRNGKeyArray, samples: int, sigma: float | None, dtype: Any
) -> Contexts:
    """`samples` sequences; sequence i has the key fold_in(key, i)."""
    if sigma is not None:
        # The noise law is not used then, and one compiled program serves all laws.
        problem = dataclasses.replace(problem, noise=Fixed(0))
    block = min(samples, BLOCK)
    drawn = drawn_blocks(problem, key, samples, sigma, block, False, dtype)
    parts = [part for (part, _), _ in drawn]
    return Contexts(
        np.concatenate([part.G for part in parts])[:samples],
        np.concatenate([part.sigma for part in parts])[:samples],
    )


def units_of(about: Mapping[str, Any]) -> Units | None:
    """The units in which a file's network was trained; None where it was trained on raw contexts.

    The regressor's networks answer contexts that were scaled to them (`attnlab.linear.regressor`).
    """
    if not {"largest_eigenvalue", "label_square_sum"} <= about.keys():
        return None
    return Units(float(about["largest_eigenvalue"]), float(about["label_square_sum"]))


def in_units(
    G: Float[np.ndarray, "samples p p"], units: Units | None
) -> tuple[Float[np.ndarray, "samples p p"], Float[np.ndarray, "samples 1"]]:
    """Contexts scaled to the units of a network, and what its answers to them are multiplied by."""
    if units is None:
        return G, np.ones((len(G), 1), G.dtype)
    top, square_sum = np.linalg.eigvalsh(G[:, :-1, :-1])[:, -1], G[:, -1, -1]
    x, y = np.sqrt(units.largest_eigenvalue / top), np.sqrt(units.label_square_sum / square_sum)
    scale = np.repeat(x[:, None], G.shape[1], axis=1)
    scale[:, -1] = y
    return G * scale[:, :, None] * scale[:, None], (x / y)[:, None]


def in_blocks(answer: Callable[..., Answer], *arrays: Float[np.ndarray, "samples *_"]) -> Answer:
    """Apply a batched function to all sequences, one block at a time."""
    samples = len(arrays[0])
    parts = [
        jax.tree.map(np.asarray, answer(*block)) for block in _blocks(arrays, min(samples, BLOCK))
    ]
    return jax.tree.map(lambda *part: np.concatenate(part)[:samples], *parts)


def answers(
    predictor: LinearPredictor, n: int, G: Float[np.ndarray, "samples p p"]
) -> Float[np.ndarray, "samples d"]:
    """The weights w of a predictor's answer to every context."""
    return in_blocks(lambda block: _answers(predictor, n, block), G)


def oracle_answers(drawn: Contexts) -> Float[np.ndarray, "samples d"]:
    """The weights of ridge with every sequence's own sigma."""
    return in_blocks(_oracle, drawn.G, drawn.sigma)


def check_noise_free(problem: NoisyRegression, sigmas: tuple[float, ...]) -> None:
    """Raise a UserError where n < d and a level is 0, since there is no oracle then."""
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
def _answers(predictor: LinearPredictor, n: int, G: Any) -> Any:
    return jax.vmap(lambda each: predictor.weights(each, n))(G)


@jax.jit
def _oracle(G: Any, sigma: Any) -> Any:
    return jax.vmap(lambda each, level: ridge_weights(each, level**2))(G, sigma)
