"""What `questions_sampled` computes."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np

from attnlab import arguments
from attnlab.compiling import fast_compile
from attnlab.lab.cell import seed_of
from attnlab.rank.models.linear_heads import linear_heads
from attnlab.rank.models.rank_one_heads import random_heads
from attnlab.rank.problem import NeighbourPrompt, Neighbours
from attnlab.rank.simulation import error
from attnlab.rank.study.draws import in_single_precision, key_of
from attnlab.rank.study.questions_sampled import (
    SETTINGS,
    CoordinateHeads,
    CoordinateHeadsRow,
    SingleHeadRow,
    SingleHeads,
    SoftmaxCurve,
    SoftmaxRow,
    TheoremFourHeads,
    TheoremFourHeadsResult,
)
from attnlab.rank.theory.full_rank import softmax_limit, softmax_limit_of_theorem_4
from attnlab.rank.theory.upper_bound import exact_error, plateau
from attnlab.stats import Estimate

SCALES = (64.0, 256.0, 1024.0)
SINGLE_DIMENSIONS = (8, 16, 64)
COORDINATE_DIMENSIONS = (8, 64)


@in_single_precision
def softmax_rows(config: SoftmaxCurve) -> list[SoftmaxRow]:
    """The error at every c, on prompts of its own."""
    setting = arguments.one_of("setting", config.setting, SETTINGS)
    rng = np.random.default_rng(seed_of(config))
    bias = np.zeros(config.N)
    if setting == "biased":
        bias = rng.uniform(size=config.N)
    if setting == "theorem 4":
        bias = np.array([math.sqrt(config.d), 0.0])
        limit = softmax_limit_of_theorem_4(config.d, bias.tolist())
        # The scores are sqrt(d) times larger than those of unit vectors, twice.
        scales = [c / config.d for c in SCALES]
    else:
        limit, scales = softmax_limit(config.d, bias.tolist()), list(SCALES)
    problem = _problem(config, tuple(bias.tolist()))
    keys = jax.random.split(key_of(config), len(scales))
    rows = []
    for c, key in zip(scales, keys, strict=True):
        prompts = _prompts(problem, key, arguments.integer("samples", config.samples, 2))
        found = Estimate.of(_softmax_errors(prompts, bias, c))
        rows.append(SoftmaxRow(c, found.value, found.standard_error, limit))
    return rows


@fast_compile
def _prompts(problem: Neighbours, key: jax.Array, samples: int) -> NeighbourPrompt:
    return problem.sample_batch(key, samples, jnp.float32)


def _problem(config: SoftmaxCurve, bias: tuple[float, ...]) -> Neighbours:
    if config.setting == "theorem 4":
        return Neighbours(config.d, 2, "biased", "orthonormal", bias, math.sqrt(config.d), "normal")
    if config.setting == "biased":
        return Neighbours(config.d, config.N, "biased", bias=bias)
    return Neighbours(config.d, config.N)


def _softmax_errors(prompts: NeighbourPrompt, bias: np.ndarray, c: float) -> np.ndarray:
    """||f - X softmax(c (X^T y - b/2))||^2 of every prompt."""
    X, y, target = (np.asarray(part, float) for part in prompts)
    scores = c * (np.einsum("snd,sd->sn", X, y) - bias / 2)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return ((np.einsum("sn,snd->sd", weights, X) - target) ** 2).sum(axis=1)


def single_head_rows(config: SingleHeads) -> list[SingleHeadRow]:
    """How many of the prompts one random head answers right, at several dimensions."""
    rng = np.random.default_rng(seed_of(config))
    samples = arguments.integer("samples", config.samples, 2)
    rows = []
    for d in SINGLE_DIMENSIONS:
        x1, x2, y, q = (_unit(rng.standard_normal((samples, d))) for _ in range(4))
        x = x1 - x2
        voted = ((x * q).sum(1) > 0) == ((y * q).sum(1) > 0)
        rows.append(SingleHeadRow(d, int((voted == ((x * y).sum(1) > 0)).sum())))
    return rows


def coordinate_rows(config: CoordinateHeads) -> list[CoordinateHeadsRow]:
    """The sampled error of d heads that see one coordinate each."""
    rng = np.random.default_rng(seed_of(config))
    samples = arguments.integer("samples", config.samples, 2)
    rows = []
    for d in COORDINATE_DIMENSIONS:
        y, first, second = (_unit(rng.standard_normal((samples, d))) for _ in range(3))
        second = _unit(second - (first * second).sum(1, keepdims=True) * first)
        X = np.stack([first, second], axis=1)
        nearest = np.einsum("snd,sd->sn", X, y).argmax(1)
        target = X[np.arange(samples), nearest]
        found = Estimate.of(((linear_heads(X, y) - target) ** 2).sum(1))
        rows.append(CoordinateHeadsRow(d, found.value, found.standard_error, plateau(d)))
    return rows


@in_single_precision
def theorem_4_result(config: TheoremFourHeads) -> TheoremFourHeadsResult:
    """The error of random heads where points have norm sqrt(d) and y is normal."""
    heads = random_heads(config.d, config.heads, seed_of(config))
    problem = Neighbours(
        config.d, 2, points="orthonormal", radius=math.sqrt(config.d), source="normal"
    )
    found = error(heads, problem, key_of(config), config.samples)
    exact = config.d * exact_error(heads).value
    return TheoremFourHeadsResult(found.value, found.standard_error, exact)


def _unit(v: np.ndarray) -> np.ndarray:
    return v / np.linalg.norm(v, axis=-1, keepdims=True)
