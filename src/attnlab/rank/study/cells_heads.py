"""What the explorers ask for: bounds and constructions at one size, and a small training.

The closed forms are those of `cells_bounds`, with the heads built by hand beside them. The training
reports its loss while it runs (`attnlab.lab.watch`), and ends with the heads that it found.
"""

from __future__ import annotations

from dataclasses import dataclass

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.lab.cell import CellKind, Outcome, seed_of
from attnlab.rank.study.cells_bounds import Bounds, run_bounds
from attnlab.rank.study.questions_heads import HeadTraining, HeadTrainingRow

MOST_HEADS = 128  # rank-1 heads whose exact error is computed


@dataclass(frozen=True)
class HeadsAt:
    """H heads of rank r in dimension d: what they cannot reach, and what built ones do."""

    d: int = 32
    """Dimension, at least 4."""
    rank: int = 1
    """Rank r of every head."""
    heads: int = 65
    """Number of heads H."""
    N: int = 2
    """Number of points of the head of full rank."""
    scale: float = 64.0
    """c of the head of full rank, K Q^T = c I."""
    seed: int = 0
    """Seed of the random rank-1 heads."""


@dataclass(frozen=True)
class HeadsFound:
    """Squared errors on the nearest neighbour; None where a number does not apply.

    All but `full_rank` are about two orthonormal points (one layer) or two independent ones (the
    vote). `full_rank` is exact for two orthonormal points, and the leading order in 1 / c for more
    independent ones.
    """

    lower_a: float
    lower_b: float
    lower_c: float
    vote: float | None  # two layers with H voting heads of rank 1, H odd
    rank_one: float | None  # the best values of H random rank-1 heads: an upper bound
    full_rank: float  # one head of rank d with a softmax
    mean: float  # the mean of the points: a head of rank 0


def run_heads(config: HeadsAt) -> HeadsFound:
    """Compute the closed forms."""
    from attnlab.rank.models.rank_one_heads import random_heads
    from attnlab.rank.theory.full_rank import full_rank_error, softmax_limit
    from attnlab.rank.theory.upper_bound import exact_error

    d, N, c = arguments.integer("d", config.d, 4), config.N, config.scale
    arguments.integer("N", N, 2)
    arguments.positive("scale", c)
    found = run_bounds(Bounds(d, config.rank, config.heads))
    rank_one = None
    if config.rank == 1 and config.heads <= MOST_HEADS:
        rank_one = exact_error(random_heads(d, config.heads, seed_of(config, ("N", "scale")))).value
    return HeadsFound(
        lower_a=found.lower_a,
        lower_b=found.lower_b,
        lower_c=found.lower_c,
        vote=found.vote,
        rank_one=rank_one,
        full_rank=full_rank_error(d, c).value if N == 2 else softmax_limit(d, [0.0] * N) / c,
        mean=0.5,
    )


def run_training(config: HeadTraining) -> Outcome[HeadTrainingRow]:
    """Train, and read the heads of the first layer."""
    if config.d % arguments.integer("rank", config.rank, 1):
        raise UserError(f"rank must be a divisor of d = {config.d}, got {config.rank}.")
    from attnlab.rank.study.compute_heads import training_rows

    return Outcome(training_rows(config))


heads = CellKind("rank_heads", HeadsAt, HeadsFound, run_heads)
head_training = CellKind("rank_head_training", HeadTraining, HeadTrainingRow, run_training)
