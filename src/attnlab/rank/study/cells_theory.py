"""Cells around the theorems: the decay of Theorem 4, the bound's adversary, published sizes.

Constructions are in `cells_built`, the bounds themselves in `cells_bounds`. The mathematics is in
`attnlab.rank.theory`; the samples are in `attnlab.rank.simulation`.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from attnlab import arguments
from attnlab.lab.cell import CellKind, Outcome
from attnlab.rank.problem import Neighbours
from attnlab.rank.simulation import squared_error
from attnlab.rank.study.training import key_seed
from attnlab.rank.theory.adversary import train_adversary
from attnlab.rank.theory.decay import correlation, correlation_by_thresholds
from attnlab.rank.theory.lower_bound import lower_bound
from attnlab.rank.theory.public_sizes import PUBLIC_SIZES


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


decay = CellKind("rank_decay", DecayCurve, DecayRow, run_decay)
adversary = CellKind("rank_adversary", Adversary, AdversaryResult, run_adversary)
sizes = CellKind("rank_sizes", PublicSizes, SizeRow, run_sizes)
