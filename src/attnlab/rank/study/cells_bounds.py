"""Closed forms about many heads: the lower bounds, the law of the vote, rank-1 heads exactly.

The exact error of rank-1 hardmax heads has a least-squares fit on samples beside it, which uses no
closed form (`sampled_ridge`).
"""

from __future__ import annotations

from dataclasses import dataclass

from attnlab import arguments
from attnlab.lab.cell import CellKind, seed_of


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
    """Bounds (A), (B) and (C), and what a vote with as many heads has."""

    lower_a: float
    lower_b: float
    lower_c: float
    vote: float | None  # error of the vote of H heads, for odd H and r = 1
    vote_limit: float | None
    lower_b_vote: float | None  # bound (B) for as many heads as both layers of the vote have
    single_head: float  # how often one random head is right


def run_bounds(config: Bounds) -> BoundsResult:
    """Compute the closed forms."""
    from attnlab.rank.theory.lower_bound import lower_bound
    from attnlab.rank.theory.majority_vote import (
        majority_vote_error,
        majority_vote_rate,
        single_head_probability,
    )

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
    """The exact error of the best values, the same by least squares, and the bounds."""

    exact: float
    fitted: float | None  # least squares on the samples it was fitted to: low on average
    fitted_error: float | None  # standard error
    fresh: float | None  # the same values on fresh samples: high on average
    fresh_error: float | None  # standard error
    lower_b: float
    lower_c: float
    resting: float  # (1 - eta_1^2) / 2


def run_rank_one(config: RankOne) -> RankOneResult:
    """Draw the heads, improve them where `optimise` is not 0, and compute their error."""
    from attnlab.rank.models.rank_one_heads import optimised_heads, random_heads
    from attnlab.rank.study.sampled_ridge import sampled_ridge
    from attnlab.rank.theory.lower_bound import lower_bound
    from attnlab.rank.theory.upper_bound import exact_error, plateau

    seed = seed_of(config)
    heads = random_heads(config.d, config.heads, seed)
    if arguments.integer("optimise", config.optimise, 0):
        heads = optimised_heads(heads, config.optimise)
    fitted = fresh = None
    if arguments.integer("samples", config.samples, 0):
        fitted, fresh = sampled_ridge(heads, config.samples, seed)
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


bounds = CellKind("rank_bounds", Bounds, BoundsResult, run_bounds)
rank_one = CellKind("rank_one_heads", RankOne, RankOneResult, run_rank_one, version=2)
