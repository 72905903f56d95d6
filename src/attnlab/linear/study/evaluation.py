"""Adjusted losses on fresh sequences, which are the same for all models of a noise law.

The loss is 1/2 E ||w - w_oracle||^2 (Vladymyrov et al., arXiv 2402.14180, with the expectations
over the query and over w in closed form). Networks are read after every layer at once. A profile
has a fixed noise level in place of the law, and the same X, w and xi at every level.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from attnlab.lab.cell import seed_of
from attnlab.linear.models.predictors import LinearPredictor
from attnlab.linear.models.transformer import gram_layer
from attnlab.linear.models.weights import FullWeights, GDPlusPlus, Weights
from attnlab.linear.noise import Fixed
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.study.rare_eigenvalues import standard_errors
from attnlab.linear.training.fixed_sample import Sample, draw
from attnlab.stats import Estimate

BLOCK = 1024  # sequences at once
PROGRAM_LAYERS = 8  # networks of up to so many layers share a compiled program
WORST = 0.001  # share of the sequences that make up the tail of a loss


@dataclass(frozen=True)
class Evaluation:
    """The problem, the number of sequences, and the noise levels of the profile."""

    problem: NoisyRegression
    sequences: int
    levels: tuple[float, ...]
    level_sequences: int
    seed: int

    def samples(self, profile: bool) -> Iterator[tuple[float | None, Sample]]:
        """The sequences of the noise law, and those of every level if there is a profile."""
        yield None, drawn(self.problem, self.seed, self.sequences)
        for level in self.levels if profile else ():
            fixed = NoisyRegression(self.problem.d, self.problem.n, Fixed(level))
            yield level, drawn(fixed, self.seed, self.level_sequences)


@dataclass(frozen=True)
class MeanLoss:
    """A mean loss with its standard error; None and a diagnosis where a sequence overflowed.

    `largest` is the loss of a single sequence, and `worst_share` the share of the mean that the
    worst 0.1% of the sequences carry (at least one of them).
    """

    sigma: float | None
    read: int
    loss: float | None
    error: float | None
    samples: int
    diagnosis: str
    largest: float | None = None
    worst_share: float | None = None


@dataclass(frozen=True)
class EvaluationDraws:
    """Everything that the sequences of an evaluation depend on besides their number."""

    noise: str
    d: int
    n: int
    seed: int


def noise_levels(largest: float, points: int) -> tuple[float, ...]:
    """`points` noise levels from 0 to `largest`, or none if `largest` is 0."""
    if largest == 0:
        return ()
    return tuple(float(level) for level in np.round(np.linspace(0.0, largest, points), 6))


def of_network(network: Weights, at: Evaluation, *, profile: bool) -> list[MeanLoss]:
    """The losses of a network that is read after K = 0, 1, ..., L layers."""
    given = network
    if not isinstance(network, FullWeights):
        network = network.omegas()  # one compiled program for all diagonal families
    network, depth = _same_size(network)
    found = []
    for sigma, sample in at.samples(profile):
        losses = _in_blocks(partial(_network_losses, network, depth), sample)[:, : depth + 1]
        own = [_mean(sigma, read, losses[:, read]) for read in range(losses.shape[1])]
        noiseless = at.problem.noise.second_moment() == 0 if sigma is None else sigma == 0
        if isinstance(given, GDPlusPlus) and noiseless:
            least = standard_errors(given, at.problem, len(losses))
            own = [_with_error(each, float(error)) for each, error in zip(own, least, strict=True)]
        found += own
    return found


def sequence_losses(network: Weights, sample: Sample) -> np.ndarray:
    """The loss of a network on every sequence, read after its last layer."""
    network, depth = _same_size(network)
    return _in_blocks(partial(_network_losses, network, depth), sample)[:, depth]


def of_predictor(
    predictor: LinearPredictor, at: Evaluation, *, profile: bool = True
) -> list[MeanLoss]:
    """The losses of a predictor without layers, which counts as read after layer 0."""
    n = at.problem.n
    found = []
    for sigma, sample in at.samples(profile):
        losses = _in_blocks(partial(_predictor_losses, predictor, n), sample)
        found.append(_mean(sigma, 0, losses))
    return found


def _mean(sigma: float | None, read: int, losses: np.ndarray) -> MeanLoss:
    count = len(losses)
    overflowed = int(count - np.isfinite(losses).sum())
    if overflowed:
        diagnosis = f"overflow in {overflowed} of {count} sequences"
        return MeanLoss(sigma, read, None, None, count, diagnosis)
    # Far beyond the trained noise levels the square of a loss can overflow where the loss does
    # not. Dividing by a power of two avoids this and changes no other result.
    unit = math.ldexp(1.0, int(np.frexp(losses.max())[1]) - 1)
    found = Estimate.of(losses / unit)
    value, error = float(unit * found.value), float(unit * found.standard_error)
    worst = np.sort(losses)[-max(1, round(WORST * count)) :]
    share = float((worst / unit).sum() / (count * found.value)) if found.value else None
    return MeanLoss(sigma, read, value, error, count, "", float(worst[-1]), share)


def _with_error(found: MeanLoss, least: float) -> MeanLoss:
    """The same with a standard error that is at least the given one."""
    return found if found.error is None else replace(found, error=max(found.error, least))


@lru_cache(maxsize=32)
def drawn(problem: NoisyRegression, seed: int, count: int) -> Sample:
    """The sequences on which every model is evaluated."""
    # The seed does not depend on a fixed level, so that a profile has the same X, w and xi.
    noise = "level" if isinstance(problem.noise, Fixed) else problem.noise.name
    draws = EvaluationDraws(noise, problem.d, problem.n, seed)
    return draw(problem, jax.random.key(seed_of(draws)), count)


def _in_blocks(losses: Any, sample: Sample) -> np.ndarray:
    parts, count = [], len(sample.weight)
    for start in range(0, count, BLOCK):
        places = np.arange(start, start + BLOCK) % count  # one shape, one compilation
        found = np.asarray(losses(sample.G[places], sample.oracle[places]))
        parts.append(found[: count - start])
    return np.concatenate(parts)


@jax.jit
def _network_losses(network: Weights, depth: Any, G: Any, oracle: Any) -> Any:
    """The losses after 0, 1, ..., `depth` layers; those of the empty layers after them are NaN.

    The number of layers is not part of the program, which takes seconds to compile.
    """

    def layer(index: Any, state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        R, G, losses = state
        own = jax.tree.map(lambda part: part[index], network)
        R, G = jax.vmap(partial(gram_layer, own))(R, G)
        return R, G, losses.at[index + 1].set(_distance(-R[:, -1, :-1], oracle))

    start = jnp.broadcast_to(jnp.eye(G.shape[-1], dtype=G.dtype), G.shape)
    before = jnp.full((jax.tree.leaves(network)[0].shape[0] + 1, len(G)), jnp.nan, G.dtype)
    first = before.at[0].set(_distance(jnp.zeros_like(oracle), oracle))
    return jax.lax.fori_loop(0, depth, layer, (start, G, first))[2].T


def _distance(w: Any, oracle: Any) -> Any:
    return jnp.square(w - oracle).sum(-1) / 2


def _same_size(network: Weights) -> tuple[Weights, int]:
    """The network with empty layers up to a multiple of `PROGRAM_LAYERS`, and its own depth."""
    depth = network.depth
    more = -depth % PROGRAM_LAYERS

    def longer(part: Any) -> Any:
        return np.concatenate([part, np.zeros((more, *part.shape[1:]), part.dtype)])

    return jax.tree.map(lambda part: jnp.asarray(longer(np.asarray(part))), network), depth


@eqx.filter_jit
def _predictor_losses(predictor: LinearPredictor, n: int, G: Any, oracle: Any) -> Any:
    w = jax.vmap(lambda G: predictor.weights(G, n))(G)
    return jnp.square(w - oracle).sum(-1) / 2


def by_layer(found: Sequence[MeanLoss], sigma: float | None = None) -> dict[int, MeanLoss]:
    """The losses at one noise level, by the layer after which the model was read."""
    return {each.read: each for each in found if each.sigma == sigma}
