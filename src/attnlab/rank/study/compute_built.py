"""What `questions_built` computes: constructions on fresh prompts, and their laws.

Constructions of the same sizes get the same prompts and biases: a corrected head and the printed
one are compared on the same draws, by the same compiled program.
"""

from __future__ import annotations

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from attnlab import arguments
from attnlab.lab.cell import seed_of
from attnlab.rank.models.constructions import (
    BiasedHead,
    ConcatenatedHead,
    FullRankHead,
    UniformAttention,
    offsets_of,
)
from attnlab.rank.models.majority_vote import majority_vote
from attnlab.rank.models.vote_by_mlp import vote_by_mlp
from attnlab.rank.problem import Neighbours, Points
from attnlab.rank.simulation import agreement_rate, error, random_network_error, random_vote
from attnlab.rank.study.draws import in_single_precision, key_of
from attnlab.rank.study.questions_built import CONSTRUCTIONS, Built, BuiltResult
from attnlab.rank.theory.full_rank import full_rank_error
from attnlab.rank.theory.majority_vote import majority_vote_error, odd_heads

SHARED_DRAWS = ("construction",)


@in_single_precision
def built_result(config: Built) -> BuiltResult:
    """The error of the construction, or how often it finds the biased neighbour."""
    name = arguments.one_of("construction", config.construction, CONSTRUCTIONS)
    points: Points = "orthonormal" if config.orthonormal else "iid"
    scale = math.inf if config.scale is None else arguments.positive("scale", config.scale)
    for_error, for_agreement = jax.random.split(key_of(config, SHARED_DRAWS))
    if name in ("biased", "biased as printed", "concatenated"):
        return _biased(config, points, scale, for_agreement)
    problem = Neighbours(config.d, config.N, points=points)
    if name in ("vote", "vote by MLP"):
        network = majority_vote if name == "vote" else vote_by_mlp
        # A fresh network for every prompt: the law averages over the directions too.
        build = partial(random_vote, network, config.d, odd_heads(config.heads), scale)
        found = random_network_error(build, problem, for_error, config.samples)
    else:
        predictor = UniformAttention() if name == "uniform" else FullRankHead(scale)
        found = error(predictor, problem, for_error, config.samples)
    return BuiltResult(found.value, found.standard_error, None, _law(config, scale))


def _biased(config: Built, points: Points, scale: float, key: jax.Array) -> BuiltResult:
    rng = np.random.default_rng(seed_of(config, SHARED_DRAWS))
    bias = tuple(rng.uniform(size=config.N).tolist())
    problem = Neighbours(config.d, config.N, "biased", points, bias)
    sign = "printed" if config.construction == "biased as printed" else "corrected"
    head = ConcatenatedHead if config.construction == "concatenated" else BiasedHead
    predictor = head(offsets_of(jnp.asarray(bias), sign), scale)
    found = agreement_rate(predictor, problem, key, config.samples)
    return BuiltResult(None, None, found.value, None)


def _law(config: Built, scale: float) -> float | None:
    """The exact error, where a law is known."""
    hardmax, pair = math.isinf(scale), config.N == 2 and config.orthonormal
    if config.construction in ("vote", "vote by MLP"):
        known = hardmax and not config.orthonormal
        return majority_vote_error(config.d, config.heads).value if known else None
    if config.construction == "uniform":
        return 0.5 if pair else None
    if hardmax:
        return 0.0
    return full_rank_error(config.d, scale).value if pair else None
