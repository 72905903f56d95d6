"""Networks built by hand, sampled: Facts 1 and 3, Theorems 7 and 34.

A construction holds its law beside the Monte Carlo of the same error where a law is known. The
mathematics is in `attnlab.rank.theory`; the samples are in `attnlab.rank.simulation`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np

from attnlab import arguments
from attnlab.lab.cell import CellKind
from attnlab.rank.problem import Neighbours
from attnlab.rank.simulation import agreement_rate, paired_squared_error, squared_error
from attnlab.rank.study.training import key_seed
from attnlab.rank.theory.constructions import (
    BiasedHead,
    ConcatenatedHead,
    FullRankHead,
    UniformAttention,
    full_rank_error,
)
from attnlab.rank.theory.majority_vote import (
    majority_vote,
    majority_vote_error,
    random_directions,
    vote_by_mlp,
)

Construction = Literal[
    "full rank", "uniform", "biased", "biased as printed", "concatenated", "vote", "vote by MLP"
]
CONSTRUCTIONS: tuple[Construction, ...] = get_args(Construction)


@dataclass(frozen=True)
class Built:
    """A network built by hand, on fresh prompts."""

    construction: Construction
    """Facts 1 and 3, Theorems 7 and 34, or the mean of the points."""
    d: int = 16
    """Dimension of the points."""
    N: int = 2
    """Number of points; the votes take 2."""
    orthonormal: bool = False
    """Orthonormal points, or independent ones."""
    scale: float | None = None
    """c of K Q^T = c I; None for the hardmax."""
    heads: int = 1
    """Voting heads H, odd."""
    samples: int = 4000
    """Prompts."""
    seed: int = 0
    """Seed of the prompts, the biases and the directions."""


@dataclass(frozen=True)
class BuiltResult:
    error: float | None
    standard_error: float | None
    agreement: float | None  # biased: how often the point nearest to the answer is the target
    law: float | None


def run_built(config: Built) -> BuiltResult:
    name = arguments.one_of("construction", config.construction, CONSTRUCTIONS)
    seed = key_seed(config)
    keys = jax.random.split(jax.random.key(seed))
    points = "orthonormal" if config.orthonormal else "iid"
    scale = math.inf if config.scale is None else arguments.positive("scale", config.scale)
    problem = Neighbours(config.d, config.N, points=points)
    law, build = _construction(config, name, scale)
    if name.startswith("biased") or name == "concatenated":
        bias = tuple(np.random.default_rng(seed).uniform(size=config.N).tolist())
        problem = Neighbours(config.d, config.N, "biased", points, bias)
        values, sign = jnp.asarray(bias), "printed" if name == "biased as printed" else "corrected"
        head = ConcatenatedHead if name == "concatenated" else BiasedHead
        predictor: Any = head(values, sign, scale)
    else:
        predictor = UniformAttention() if name == "uniform" else FullRankHead(scale)
    if problem.kind == "biased":
        agree = agreement_rate(predictor, problem, keys[1], config.samples).value
        return BuiltResult(None, None, agree, None)
    if build is None:
        found = squared_error(predictor, problem, keys[0], config.samples)
    else:
        # A fresh network for every prompt: the law averages over the directions too.
        found = paired_squared_error(build, problem, keys[0], config.samples)
    return BuiltResult(found.value, found.standard_error, None, law)


def _construction(config: Built, name: str, scale: float) -> tuple[float | None, Any]:
    """The law where one is known, and for random networks how one is drawn."""
    if name in ("vote", "vote by MLP"):
        make = majority_vote if name == "vote" else vote_by_mlp
        law = None
        if not config.orthonormal and math.isinf(scale):
            law = majority_vote_error(config.d, config.heads).value
        return law, lambda key: make(
            random_directions(key, config.d, config.heads, jnp.float32), scale
        )
    if name == "full rank" and math.isinf(scale):
        return 0.0, None
    if name == "full rank" and config.N == 2 and config.orthonormal:
        return full_rank_error(config.d, scale).value, None
    if name == "uniform" and config.N == 2 and config.orthonormal:
        return 0.5, None
    return None, None


built = CellKind("rank_built", Built, BuiltResult, run_built)
