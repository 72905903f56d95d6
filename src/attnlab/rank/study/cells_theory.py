"""Cells around the theorems: the decay of Theorem 4, the bound's adversary, published sizes.

Constructions are in `cells_built`, the bounds themselves in `cells_bounds`.
"""

from __future__ import annotations

from dataclasses import dataclass

from attnlab import arguments
from attnlab.lab.cell import CellKind, Outcome
from attnlab.rank.theory.public_sizes import PUBLIC_SIZES


@dataclass(frozen=True)
class DecayCurve:
    """Theorem 4: the correlation of the periodic threshold with what heads of rank r see."""

    d: int = 32
    """Dimension."""
    checked: bool = True
    """Whether the ranks d - 2, d - 4 and d - 8 are computed a second time, from thresholds."""


@dataclass(frozen=True)
class DecayRow:
    """The correlation at one rank."""

    gap: int  # d - r
    correlation: float
    by_thresholds: float | None


def run_decay(config: DecayCurve) -> Outcome[DecayRow]:
    """One row per rank, from d - 2 down to 1."""
    from attnlab.rank.theory.decay import correlation, correlation_by_thresholds

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
    """Prompts per step."""
    samples: int = 50_000
    """Fresh prompts on which the error is estimated."""
    seed: int = 0
    """Seed of everything."""


@dataclass(frozen=True)
class AdversaryResult:
    """The error on fresh prompts, and the bound."""

    error: float
    standard_error: float
    bound: float


def run_adversary(config: Adversary) -> AdversaryResult:
    """Train the heads, then estimate their error on fresh prompts."""
    from attnlab.rank.study.compute_adversary import adversary_result

    return adversary_result(config)


@dataclass(frozen=True)
class PublicSizes:
    """Width, heads and rank of published models (Appendix A)."""


@dataclass(frozen=True)
class SizeRow:
    """One published model."""

    model: str
    d: int
    heads: int
    rank: int
    share: float  # H r / d
    least_angle: float  # of a form of that rank to the identity, in degrees


def run_sizes(config: PublicSizes) -> Outcome[SizeRow]:
    """One row per model."""
    return Outcome(
        [
            SizeRow(name, size.d, size.heads, size.rank, size.share, size.least_angle)
            for name, size in PUBLIC_SIZES.items()
        ]
    )


decay = CellKind("rank_decay", DecayCurve, DecayRow, run_decay)
adversary = CellKind("rank_adversary", Adversary, AdversaryResult, run_adversary, version=2)
sizes = CellKind("rank_sizes", PublicSizes, SizeRow, run_sizes)
