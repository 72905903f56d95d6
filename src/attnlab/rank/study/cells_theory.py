"""Cells that are closed forms: the decay of Theorem 4, and published sizes.

The bounds are in `cells_bounds`; what needs JAX is in `cells`.
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
sizes = CellKind("rank_sizes", PublicSizes, SizeRow, run_sizes)
