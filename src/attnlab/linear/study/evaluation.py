"""Adjusted losses on fresh sequences: every model of a law sees the same ones.

The loss is 1/2 E ||w - w_oracle||^2 (Vladymyrov et al., arXiv 2402.14180, with the expectations
over the query and over w in closed form). Networks are read after every layer at once; a profile
puts one noise level in the place of the law and keeps X, w and xi from level to level.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from attnlab import arguments
from attnlab.linear.models.bayes import posterior_mean
from attnlab.linear.models.predictors import Predictor
from attnlab.linear.models.transformer import implicit_weights
from attnlab.linear.models.tuned_ridge import RidgeSample
from attnlab.linear.models.weights import FullWeights, GDPlusPlus, Weights
from attnlab.linear.noise import Fixed
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.study.rare_eigenvalues import standard_errors
from attnlab.linear.training.fixed_sample import Sample, draw

BLOCK = 1024  # sequences at once
ENORMOUS = 1e140


@dataclass(frozen=True)
class Evaluation:
    """What is evaluated: the problem, how many sequences, and the noise levels of a profile."""

    problem: NoisyRegression
    sequences: int
    levels: tuple[float, ...]
    level_sequences: int
    seed: int

    def __post_init__(self) -> None:
        arguments.integer("sequences", self.sequences, 2)
        arguments.integer("level_sequences", self.level_sequences, 2)

    def samples(self, profile: bool) -> Iterator[tuple[float | None, Sample]]:
        """The law's own sequences, then those of every level if a profile is wanted."""
        law = (self.problem, self.seed, self.sequences)
        yield None, drawn(*law)
        for level in self.levels if profile else ():
            fixed = NoisyRegression(self.problem.d, self.problem.n, Fixed(level))
            yield level, drawn(fixed, self.seed, self.level_sequences)


@dataclass(frozen=True)
class Found:
    """A mean loss; None and a diagnosis where a sequence overflowed."""

    sigma: float | None
    read: int
    loss: float | None
    error: float | None
    samples: int
    diagnosis: str


def levels(largest: float, points: int) -> tuple[float, ...]:
    """`points` levels from 0 to `largest`; none for a largest of 0."""
    largest = arguments.non_negative("sigma_max", largest)
    if largest == 0:
        return ()
    given = np.linspace(0.0, largest, arguments.integer("sigma_points", points, 2))
    return tuple(float(level) for level in np.round(given, 6))


def of_network(network: Weights, at: Evaluation, *, profile: bool) -> list[Found]:
    """The losses read after K = 0, 1, ..., L layers."""
    given = network
    if not isinstance(network, FullWeights):
        network = network.omegas()  # one compiled program for all the diagonal families
    network = jax.tree.map(jnp.asarray, network)
    found = []
    for sigma, sample in at.samples(profile):
        losses = _in_blocks(partial(_network_losses, network), sample)
        own = [_mean(sigma, read, losses[:, read]) for read in range(losses.shape[1])]
        silent = at.problem.noise.second_moment() == 0 if sigma is None else sigma == 0
        if isinstance(given, GDPlusPlus) and silent:
            least = standard_errors(given, at.problem, len(losses))
            own = [_with_error(each, float(error)) for each, error in zip(own, least, strict=True)]
        found += own
    return found


def of_predictor(predictor: Predictor, at: Evaluation, *, profile: bool = True) -> list[Found]:
    """The losses of a predictor that has no layers; they count as read after layer 0."""
    n = at.problem.n
    found = []
    for sigma, sample in at.samples(profile):
        losses = _in_blocks(partial(_predictor_losses, predictor, n), sample)
        found.append(_mean(sigma, 0, losses))
    return found


def _mean(sigma: float | None, read: int, losses: np.ndarray) -> Found:
    count = len(losses)
    overflowed = int(count - np.isfinite(losses).sum())
    if overflowed:
        told = f"overflow in {overflowed} of {count} sequences"
        return Found(sigma, read, None, None, count, told)
    # Far beyond the trained levels a loss has a square that overflows where the loss does not.
    unit = losses.max() if losses.max() > ENORMOUS else 1.0
    losses = losses / unit
    error = float(unit * losses.std(ddof=1)) / math.sqrt(count)
    return Found(sigma, read, float(unit * losses.mean()), error, count, "")


def _with_error(found: Found, least: float) -> Found:
    """The same with an error no smaller than the one that is known."""
    return found if found.error is None else replace(found, error=max(found.error, least))


@lru_cache(maxsize=32)
def drawn(problem: NoisyRegression, seed: int, count: int) -> Sample:
    # A level's key does not depend on the level, so that a profile keeps X, w and xi.
    noise = "level" if isinstance(problem.noise, Fixed) else problem.noise.name
    name = f"linear evaluation {noise} {problem.d} {problem.n} {seed}"
    number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:7])
    return draw(problem, jax.random.key(number), count)


def _in_blocks(losses: Any, sample: Sample) -> np.ndarray:
    parts, count = [], len(sample.weight)
    for start in range(0, count, BLOCK):
        places = np.arange(start, start + BLOCK) % count  # one shape, one compilation
        found = np.asarray(losses(sample.G[places], sample.oracle[places]))
        parts.append(found[: count - start])
    return np.concatenate(parts)


@jax.jit
def _network_losses(network: Weights, G: Any, oracle: Any) -> Any:
    w = jax.vmap(partial(implicit_weights, network))(G)
    return jnp.square(w - oracle[:, None, :]).sum(-1) / 2


@eqx.filter_jit
def _predictor_losses(predictor: Predictor, n: int, G: Any, oracle: Any) -> Any:
    w = jax.vmap(lambda G: predictor.weights(G, n))(G)
    return jnp.square(w - oracle).sum(-1) / 2


class Posterior(Predictor):
    """BAYES with its quadrature as arrays: laws with as many levels share one program."""

    levels: Any
    prior: Any

    def weights(self, G: Any, n: int) -> Any:
        return posterior_mean(G, n, self.levels, self.prior)


def ridge_sample_of(sample: Sample, n: int) -> RidgeSample:
    """A drawn sample as the tuning of a ridge sees it."""
    s, V = np.linalg.eigh(sample.G[:, :-1, :-1])
    alpha, d = sample.G[:, :-1, -1], V.shape[-1]
    b = np.einsum("nij,ni->nj", V, alpha)
    residual = sample.G[:, -1, -1] - (b**2 / s).sum(1)
    oracle = np.einsum("nij,ni->nj", V, sample.oracle)
    return RidgeSample(s, b, oracle, np.maximum(residual, 0) / (n - d))


def means(found: Sequence[Found], sigma: float | None = None) -> dict[int, Found]:
    """Of these, those at one level, by the layer read."""
    return {each.read: each for each in found if each.sigma == sigma}
