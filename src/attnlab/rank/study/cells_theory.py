"""Cells that are closed forms or counts: the decay of Theorem 4, sizes, library rules, labels.

The bounds are in `cells_bounds`; what needs JAX is in `cells`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from attnlab import arguments
from attnlab.lab.cell import CellKind, Outcome, seed_of
from attnlab.rank.theory.architectures import LIBRARY, attention_shapes
from attnlab.rank.theory.library_rules import RULES
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


@dataclass(frozen=True)
class Architectures:
    """The attention layers of all architectures of one library, with their default settings."""

    library: str = LIBRARY
    """The library and its version."""


@dataclass(frozen=True)
class ArchitectureRow:
    """Attention layers of one shape in one architecture."""

    architecture: str
    layer: str
    d: int
    heads: int
    rank: float
    share: float  # H r / d
    layers: int  # of this shape


def run_architectures(config: Architectures) -> Outcome[ArchitectureRow]:
    """One row per architecture and shape."""
    arguments.one_of("library", config.library, [LIBRARY])
    return Outcome(
        [
            ArchitectureRow(
                shape.architecture,
                shape.layer,
                shape.d,
                shape.heads,
                shape.rank,
                shape.share,
                shape.layers,
            )
            for shape in attention_shapes()
        ]
    )


@dataclass(frozen=True)
class LibraryRules:
    """The layers that PyTorch and xFormers accept, over all small sizes (Section 1)."""

    largest: int = 48
    """Largest dimension d, number of heads H and width H r of all keys."""


@dataclass(frozen=True)
class LibraryRow:
    """What one library accepts, with its default rank or with a width of the keys asked for."""

    library: str
    asked: bool  # whether the width H r of all keys is given
    accepted: int  # layers
    standard: int  # of these, with H r = d
    least_share: float | None  # smallest H r / d; None where nothing is accepted
    largest_share: float | None


def run_library_rules(config: LibraryRules) -> Outcome[LibraryRow]:
    """Two rows per library."""
    sizes = range(1, arguments.integer("largest", config.largest, 1) + 1)
    rows = []
    for library, rule in RULES.items():
        for asked in (False, True):
            shares = [
                heads * rank / d
                for d in sizes
                for heads in sizes
                for keys in (sizes if asked else (None,))
                if (rank := rule(d, heads, keys)) is not None
            ]
            standard = sum(share == 1 for share in shares)
            ends = (min(shares, default=None), max(shares, default=None))
            rows.append(LibraryRow(library, asked, len(shares), standard, *ends))
    return Outcome(rows)


@dataclass(frozen=True)
class MajorityCodes:
    """Labels of N terms with which one sum tells the majority of a fixed number of votes."""

    votes: int = 3
    """Number of votes H, odd."""
    seed: int = 0
    """Seed of the labels."""


@dataclass(frozen=True)
class MajorityCodesRow:
    """One number of terms."""

    terms: int
    dimension: int  # of the labels
    coherence: float  # the largest |c_i . c_j| / dimension over pairs of labels


CODE_TERMS = (16, 64, 256, 1024, 4096)


def run_majority_codes(config: MajorityCodes) -> Outcome[MajorityCodesRow]:
    """One row per number of terms: random signs, drawn until no two labels are too near."""
    import numpy as np

    votes = arguments.integer("votes", config.votes, 1)
    rng = np.random.default_rng(seed_of(config))
    rows = []
    for terms in CODE_TERMS:
        dimension = math.floor(4 * votes**2 * math.log(terms)) + 1
        coherence = 1.0
        while coherence >= 1 / votes:  # by the union bound some labels are good
            labels = rng.choice(np.array([-1.0, 1.0], np.float32), (terms, dimension))
            products = np.abs(labels @ labels.T)  # sums of signs: float32 is exact
            np.fill_diagonal(products, 0)
            coherence = float(products.max()) / dimension
        rows.append(MajorityCodesRow(terms, dimension, coherence))
    return Outcome(rows)


decay = CellKind("rank_decay", DecayCurve, DecayRow, run_decay)
sizes = CellKind("rank_sizes", PublicSizes, SizeRow, run_sizes, version=2)
architectures = CellKind("rank_architectures", Architectures, ArchitectureRow, run_architectures)
library_rules = CellKind("rank_library_rules", LibraryRules, LibraryRow, run_library_rules)
majority_codes = CellKind(
    "rank_majority_codes", MajorityCodes, MajorityCodesRow, run_majority_codes
)
