"""Closed forms about many heads: the lower bounds, the law of the vote, rank-1 heads exactly.

The exact error of rank-1 hardmax heads has a least-squares fit on samples beside it, which uses no
closed form. The mathematics is in `attnlab.rank.theory`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attnlab import arguments
from attnlab.lab.cell import CellKind
from attnlab.rank.simulation import summary
from attnlab.rank.study.training import key_seed
from attnlab.rank.theory.lower_bound import lower_bound
from attnlab.rank.theory.majority_vote import (
    majority_vote_error,
    majority_vote_rate,
    single_head_probability,
)
from attnlab.rank.theory.upper_bound import (
    Heads,
    exact_error,
    optimised_heads,
    plateau,
    random_heads,
)
from attnlab.stats.estimate import Estimate


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
    return summary(_squares(A, f, c)), summary(_squares(*_head_answers(heads, samples, rng), c))


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


bounds = CellKind("rank_bounds", Bounds, BoundsResult, run_bounds)
rank_one = CellKind("rank_one_heads", RankOne, RankOneResult, run_rank_one)
