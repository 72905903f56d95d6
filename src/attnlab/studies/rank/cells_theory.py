"""Cells without training: bounds, constructions, the decay of Theorem 4, the adversary, sizes.

A construction holds its law beside the Monte Carlo of the same error where a law is known. The
mathematics is in `attnlab.theory` (modules `rank_*`); the samples are in `attnlab.estimators`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np

from attnlab.estimate import Estimate
from attnlab.estimators.neighbour_error import (
    agreement_rate,
    paired_squared_error,
    squared_error,
)
from attnlab.lab.cell import CellKind, Outcome
from attnlab.problems import arguments
from attnlab.problems.neighbours import Neighbours
from attnlab.reading.head_ranks import PUBLIC_SIZES
from attnlab.studies.rank.training import key_seed
from attnlab.theory.rank_adversary import train_adversary
from attnlab.theory.rank_constructions import (
    BiasedHead,
    ConcatenatedHead,
    FullRankHead,
    UniformAttention,
    full_rank_error,
)
from attnlab.theory.rank_decay import correlation, correlation_by_thresholds
from attnlab.theory.rank_lower_bound import lower_bound
from attnlab.theory.rank_majority_vote import (
    majority_vote,
    majority_vote_error,
    majority_vote_rate,
    random_directions,
    single_head_probability,
    vote_by_mlp,
)
from attnlab.theory.rank_upper_bound import (
    Heads,
    exact_error,
    optimised_heads,
    plateau,
    random_heads,
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


@dataclass(frozen=True)
class Bounds:
    """The lower bounds for H heads of rank r, and the law of the vote with as many heads."""

    d: int = 64
    """Dimension."""
    rank: int = 1
    """Rank r of every head."""
    heads: int = 64
    """Number of heads H."""


@dataclass(frozen=True)
class BoundsResult:
    lower_a: float
    lower_b: float
    lower_c: float
    vote: float | None  # error of the vote of H heads, for odd H and r = 1
    vote_limit: float | None
    lower_b_vote: float | None  # bound (B) for as many heads as both layers of the vote have
    single_head: float  # how often one random head is right


def run_bounds(config: Bounds) -> BoundsResult:
    d, r, H = config.d, config.rank, config.heads
    votes = r == 1 and H % 2 == 1
    a, b, c = (lower_bound(d, r, H, variant).value for variant in ("A", "B", "C"))
    return BoundsResult(
        lower_a=a,
        lower_b=b,
        lower_c=c,
        vote=majority_vote_error(d, H).value if votes else None,
        vote_limit=majority_vote_rate(d, H) if votes else None,
        lower_b_vote=lower_bound(d, 1, H + d).value if votes else None,
        single_head=single_head_probability(d).value,
    )


@dataclass(frozen=True)
class RankOne:
    """Rank-1 hardmax heads with V_h = c_h I on an orthonormal pair: exact error, and sampled."""

    d: int = 8
    """Dimension."""
    heads: int = 64
    """Number of heads H."""
    samples: int = 0
    """Prompts of the ridge fit, and as many fresh ones; 0 leaves the fit out."""
    optimise: int = 0
    """Steps of L-BFGS on q and k; 0 leaves the heads random."""
    seed: int = 0
    """Seed of the heads and the prompts."""


@dataclass(frozen=True)
class RankOneResult:
    exact: float
    fitted: float | None  # least squares on the samples it was fitted to: low on average
    fitted_error: float | None
    fresh: float | None  # the same values on fresh samples: high on average
    fresh_error: float | None
    lower_b: float
    lower_c: float
    resting: float  # (1 - eta_1^2) / 2


def run_rank_one(config: RankOne) -> RankOneResult:
    heads = random_heads(config.d, config.heads, key_seed(config))
    if arguments.integer("optimise", config.optimise, 0):
        heads = optimised_heads(heads, config.optimise)
    fitted = fresh = None
    if arguments.integer("samples", config.samples, 0):
        fitted, fresh = sampled_ridge(heads, config.samples, key_seed(config))
    return RankOneResult(
        exact=exact_error(heads).value,
        fitted=fitted.value if fitted else None,
        fitted_error=fitted.standard_error if fitted else None,
        fresh=fresh.value if fresh else None,
        fresh_error=fresh.standard_error if fresh else None,
        lower_b=lower_bound(config.d, 1, config.heads, "B").value,
        lower_c=lower_bound(config.d, 1, config.heads, "C").value,
        resting=plateau(config.d),
    )


def sampled_ridge(heads: Heads, samples: int, seed: int) -> tuple[Estimate, Estimate]:
    """The best values by least squares on sampled vectors, its error there and on fresh samples.

    No closed form is used: the answers X phi_h of every head are regressed on the target. The
    first number is below the exact minimum on average, the second above it.
    """
    rng = np.random.default_rng(seed)
    A, f = _head_answers(heads, samples, rng)
    flat = A.transpose(0, 2, 1).reshape(-1, A.shape[1])
    gram = flat.T @ flat + 1e-9 * samples * np.eye(A.shape[1])
    c = np.linalg.solve(gram, flat.T @ f.reshape(-1))
    return _mean(_squares(A, f, c)), _mean(_squares(*_head_answers(heads, samples, rng), c))


def _head_answers(
    heads: Heads, samples: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """X phi_h of every hardmax head, (samples, H, d), and the nearest of the two points."""
    d = heads.q.shape[1]
    frames, _ = np.linalg.qr(rng.standard_normal((samples, d, 2)))
    X = np.swapaxes(frames, 1, 2) * rng.choice([-1.0, 1.0], (samples, 2, 1))
    y = rng.standard_normal((samples, d))
    scores = (X @ heads.k.T) * (y @ heads.q.T)[:, None, :]
    chosen = scores[:, 1] > scores[:, 0]
    A = np.where(chosen[..., None], X[:, None, 1], X[:, None, 0])
    nearest = np.einsum("snd,sd->sn", X, y).argmax(1)
    return A, X[np.arange(samples), nearest]


def _squares(A: np.ndarray, f: np.ndarray, c: np.ndarray) -> np.ndarray:
    return ((np.einsum("shd,h->sd", A, c) - f) ** 2).sum(1)


def _mean(values: np.ndarray) -> Estimate:
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    return Estimate(float(values.mean()), error, len(values))


@dataclass(frozen=True)
class DecayCurve:
    """Theorem 4: the correlation of the periodic threshold with what heads of rank r see."""

    d: int = 32
    """Dimension."""
    checked: bool = True
    """Whether the ranks from d - 8 on are computed a second time, from thresholds."""


@dataclass(frozen=True)
class DecayRow:
    gap: int  # d - r
    correlation: float
    by_thresholds: float | None


def run_decay(config: DecayCurve) -> Outcome[DecayRow]:
    d = arguments.integer("d", config.d, 8)
    rows = []
    for gap in range(2, d):
        again = (
            correlation_by_thresholds(d, d - gap) if config.checked and gap in (2, 4, 8) else None
        )
        rows.append(DecayRow(gap, correlation(d, d - gap).value, again))
    return Outcome(rows)


@dataclass(frozen=True)
class Adversary:
    """Generalised heads trained to pass below the lower bound."""

    d: int = 4
    """Dimension."""
    rank: int = 1
    """Rank r of every K_h."""
    heads: int = 2
    """Number of heads H."""
    scalar_values: bool = False
    """V_h = c_h I, for bound (C)."""
    steps: int = 1000
    """Training steps."""
    batch: int = 256
    """Prompts a step."""
    samples: int = 50_000
    """Fresh prompts for the error."""
    seed: int = 0
    """Seed of everything."""


@dataclass(frozen=True)
class AdversaryResult:
    error: float
    standard_error: float
    bound: float


def run_adversary(config: Adversary) -> AdversaryResult:
    keys = jax.random.split(jax.random.key(key_seed(config)))
    heads = train_adversary(
        keys[0],
        config.d,
        config.rank,
        config.heads,
        scalar_values=config.scalar_values,
        steps=config.steps,
        batch=config.batch,
        dtype=jnp.float32,
    )
    problem = Neighbours(config.d, 2, points="orthonormal")
    found = squared_error(heads, problem, keys[1], config.samples, dtype=jnp.float32)
    variant = "C" if config.scalar_values else "B"
    bound = lower_bound(config.d, config.rank, config.heads, variant).value
    return AdversaryResult(found.value, found.standard_error, bound)


@dataclass(frozen=True)
class PublicSizes:
    """Width, heads and rank of published models (Appendix A)."""


@dataclass(frozen=True)
class SizeRow:
    model: str
    d: int
    heads: int
    rank: int
    share: float  # H r / d
    least_angle: float  # of a form of that rank to the identity, in degrees


def run_sizes(config: PublicSizes) -> Outcome[SizeRow]:
    return Outcome(
        [
            SizeRow(name, size.d, size.heads, size.rank, size.share, size.least_angle)
            for name, size in PUBLIC_SIZES.items()
        ]
    )


built = CellKind("rank_built", Built, BuiltResult, run_built)
bounds = CellKind("rank_bounds", Bounds, BoundsResult, run_bounds)
rank_one = CellKind("rank_one_heads", RankOne, RankOneResult, run_rank_one)
decay = CellKind("rank_decay", DecayCurve, DecayRow, run_decay)
adversary = CellKind("rank_adversary", Adversary, AdversaryResult, run_adversary)
sizes = CellKind("rank_sizes", PublicSizes, SizeRow, run_sizes)
