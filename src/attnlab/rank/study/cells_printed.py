"""Closed forms about the theorems as printed: Theorems 2 and 4, Appendix B.8, the distance of D_2.

Each cell is one table. The bounds for given numbers of heads are in `cells_bounds`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from attnlab.lab.cell import CellKind, Outcome

CONSTANTS_I = (1.0, 8.0, 64.0)  # C of Theorem 2 (i)
CONSTANT_II = 0.18  # C' of Theorem 2 (ii)
DIMENSIONS_I = (*range(4, 33), 40, 48, 64, 96, 128)
DIMENSIONS_II = (32, 64, 128, 256, 512, 1024)
RANKS_II = (1, 2, 4, 8, 16, 32, 64)
ERRORS_II = (0.48, 0.47, 0.46, 0.45, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.07, 0.05)
CONSTANTS_II = (0.18, 0.1, 0.05, 0.02)  # C' for which the printed form is tried near 1/2
DIMENSIONS_ONE = (64, 1024, 16_384)
ERRORS_ONE = (0.4, 0.3, 0.24, 0.22, 0.2, 0.19, 0.18, 0.15, 0.1, 0.07, 0.06, 0.05, 0.03)
DEGREE = 201  # of the sums in high dimension, where large degrees do not matter


@dataclass(frozen=True)
class HighAccuracy:
    """Theorem 2 (i): our bound (B) at the number of heads that it allows."""


@dataclass(frozen=True)
class HighAccuracyRow:
    """One dimension, rank and constant C."""

    d: int
    rank: int
    constant: float
    log2_heads: float
    lower_b: float
    log2_needed: float  # heads that bound (B) asks for at the error 1 / (2 (d + 1))


def run_high_accuracy(config: HighAccuracy) -> Outcome[HighAccuracyRow]:
    """One row per dimension, rank and constant, wherever the printed number is at least 1."""
    from attnlab.rank.theory.lower_bound import heads_needed, lower_bound
    from attnlab.rank.theory.printed_bounds import log2_heads_high_accuracy

    rows = []
    for d in DIMENSIONS_I:
        # All ranks up to d = 32, and some of them beyond.
        for r in sorted({*range(1, min(d - 2, 9)), *range(1, d - 2, max(1, d // 24)), d - 3}):
            needed = math.log2(heads_needed(d, r, 0.5 / (d + 1)))
            for constant in CONSTANTS_I:
                power = log2_heads_high_accuracy(d, r, constant)
                if power >= 0:
                    bound = lower_bound(d, r, math.floor(2**power)).value
                    rows.append(HighAccuracyRow(d, r, constant, power, bound, needed))
    return Outcome(rows)


@dataclass(frozen=True)
class HighDimension:
    """Theorem 2 (ii), and its form for r = 1: our bounds at the number of heads that they allow."""

    rank_one: bool = False
    """H = d^(1 / (4 eps)) heads of rank 1, or part (ii) at several ranks."""


@dataclass(frozen=True)
class HighDimensionRow:
    """One dimension, rank and error."""

    d: int
    rank: int
    epsilon: float
    log2_heads: float
    lower_b: float
    lower_c: float
    limit: float  # of the bound for d to infinity at the same power of d / r
    informal_limit: float  # the same at the power 1 / eps


def run_high_dimension(config: HighDimension) -> Outcome[HighDimensionRow]:
    """One row per dimension, rank and error in the range of the statement."""
    from attnlab.rank.theory.lower_bound import lower_bound
    from attnlab.rank.theory.printed_bounds import (
        least_dimension,
        limit_bound,
        log2_heads_high_dimension,
    )

    if config.rank_one:
        sizes = [(d, 1, e) for d in DIMENSIONS_ONE for e in ERRORS_ONE]
    else:
        # The least d with at least one head is where the statement is nearest to false.
        sizes = [
            (d, r, e)
            for e in ERRORS_II
            for r in RANKS_II
            for d in sorted({*DIMENSIONS_II, least_dimension(r, e, CONSTANT_II)})
            if r < d
        ]
    rows = []
    for d, r, epsilon in sizes:
        exponent = 1 / (4 * epsilon) if config.rank_one else CONSTANT_II / epsilon
        power = (
            exponent * math.log2(d)
            if config.rank_one
            else log2_heads_high_dimension(d, r, epsilon, CONSTANT_II)
        )
        if power is not None and power >= 0:
            heads = math.floor(2**power)
            b, c = (lower_bound(d, r, heads, name, degree=DEGREE).value for name in ("B", "C"))
            limits = limit_bound(exponent), limit_bound(1 / epsilon)
            rows.append(HighDimensionRow(d, r, epsilon, power, b, c, *limits))
    return Outcome(rows)


@dataclass(frozen=True)
class OneHead:
    """Theorem 2 (ii) as printed, near eps = 1/2: one head that has a smaller error."""


@dataclass(frozen=True)
class OneHeadRow:
    """One constant C', and a dimension, rank and error that the printed form allows."""

    constant: float
    d: int
    rank: int
    epsilon: float
    log2_heads: float  # that are allowed, at least 0
    error: float  # of one head, at most


def run_one_head(config: OneHead) -> Outcome[OneHeadRow]:
    """One row per constant C', and one at rank 5."""
    from attnlab.rank.theory.printed_bounds import least_dimension, log2_heads_high_dimension
    from attnlab.rank.theory.spectral_tail import one_head_error

    # At this d one head is allowed for every eps that is near to 1/2.
    sizes = [(c, 2 * least_dimension(1, 0.5, c), 1) for c in CONSTANTS_II]
    rows = []
    for constant, d, r in [*sizes, (CONSTANT_II, 200, 5)]:
        error = one_head_error(d, r)
        epsilon = (error + 0.5) / 2
        power = log2_heads_high_dimension(d, r, epsilon, constant)
        if power is not None and power >= 0:
            rows.append(OneHeadRow(constant, d, r, epsilon, power, error))
    return Outcome(rows)


@dataclass(frozen=True)
class BiasedNeed:
    """Theorem 4: how many heads and how much weight an error of 1/20 needs at least."""

    near_full: bool = False
    """Ranks of 99 d / 100 at large d, or all ranks at moderate d."""


@dataclass(frozen=True)
class BiasedNeedRow:
    """One dimension and rank; natural logarithms."""

    d: int
    rank: int
    log_heads: float
    log_weight: float  # of H max ||V_h||


def run_biased_need(config: BiasedNeed) -> Outcome[BiasedNeedRow]:
    """One row per dimension and rank."""
    from attnlab.rank.theory.biased_bound import needed

    if config.near_full:
        sizes = [(d, 99 * d // 100) for d in (200, 400, 800, 1600, 3200, 6400)]
    else:
        sizes = [
            (d, r)
            for d in (3, 4, 5, 6, 8, 12, 16, 32, 64, 128, 256)
            for r in sorted({*range(1, d - 1, max(1, d // 8)), *range(d - 4, d + 1)})
            if r >= 1
        ]
    return Outcome([BiasedNeedRow(d, r, *needed(d, r)) for d, r in sizes])


@dataclass(frozen=True)
class RandomFeatures:
    """Appendix B.8: how many random heads of rank 1 are enough."""


@dataclass(frozen=True)
class RandomFeaturesRow:
    """One dimension and error; a natural logarithm."""

    d: int
    epsilon: float
    log_features: float


def run_random_features(config: RandomFeatures) -> Outcome[RandomFeaturesRow]:
    """One row per dimension and error."""
    from attnlab.rank.theory.random_features import log_features

    errors = (0.4, 0.3, 0.2, 0.15, 0.1, 0.07, 0.05)
    return Outcome(
        [
            RandomFeaturesRow(d, epsilon, log_features(d, epsilon))
            for d in (4, 8, 16, 32, 64, 128, 256)
            for epsilon in errors
        ]
    )


@dataclass(frozen=True)
class PairDistances:
    """How far orthonormal pairs are from independent ones."""


@dataclass(frozen=True)
class PairDistanceRow:
    """Bounds on Wasserstein's distance at one dimension."""

    d: int
    below: float
    above: float


def run_pair_distances(config: PairDistances) -> Outcome[PairDistanceRow]:
    """One row per dimension."""
    from attnlab.rank.theory.pair_distance import pair_distance

    dimensions = (3, 4, 8, 16, 64, 256, 1024)
    return Outcome([PairDistanceRow(d, *pair_distance(d)) for d in dimensions])


high_accuracy = CellKind(
    "rank_theorem_2i", HighAccuracy, HighAccuracyRow, run_high_accuracy, version=2
)
high_dimension = CellKind(
    "rank_theorem_2ii", HighDimension, HighDimensionRow, run_high_dimension, version=2
)
one_head = CellKind("rank_theorem_2ii_one_head", OneHead, OneHeadRow, run_one_head)
biased_need = CellKind("rank_theorem_4", BiasedNeed, BiasedNeedRow, run_biased_need, version=2)
features = CellKind("rank_random_features", RandomFeatures, RandomFeaturesRow, run_random_features)
pair_distances = CellKind("rank_pair_distance", PairDistances, PairDistanceRow, run_pair_distances)
KINDS = (high_accuracy, high_dimension, one_head, biased_need, features, pair_distances)
