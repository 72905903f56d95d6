"""Which spikes a1 the claims about Theorem 6.2 look at, all of them by the exact law.

Definition 6.1 has a1 >= 0.7 and no upper limit. A spike is followed at fixed a1 to large n, its
largest and its smallest value are looked for at one n, and X = I stands beside X = 1.
"""

from __future__ import annotations

import math

from attnlab.lab.cell import Cell
from attnlab.separation import theory
from attnlab.separation.study.cells_theorem import (
    OFFSET,
    LargestSpike,
    LeastSpike,
    TheoremPoint,
    largest_spike,
    least_spike,
)
from attnlab.separation.study.grids_theory import (
    DELTA,
    THEOREM_C,
    predicted_dimension,
    theorem_point,
    width,
)

SPIKES = (0.7, 1.2, 3.0, 5.0, 10.0, 15.0, 20.0, 25.0, 29.0)
SPIKE_WIDTH = 60
FIXED_SPIKES = (29.0, 100.0)  # at which the theorem is followed to large n
FIXED_SPIKE_EXPONENTS = (4, 5, 6, 7, 8, 12)
FIXED_SPIKE_D = 402
LIMIT_EXPONENTS = (4, 6, 8, 12, 16)
LIMIT_DIMENSIONS = (4, 16)  # d over the predicted dimension
IDENTITY = ((4, 202), (6, 402), (8, 402), (12, 802))  # exponent, d
IDENTITY_SPIKES = {False: (0.7,), True: (1.0, 1.2)}  # a1 below and above sqrt(1 - b^2)
# b -> exponents of n for the least spike with X = I; for b = 0.3, d would be 4e5 at n = 10^48.
SPIKE_BS = {0.1: (6, 12, 24, 48), 0.2: (6, 12, 24, 48), 0.3: (6, 12, 24)}
# d over the predicted dimension, and over n^(b^2), where a row attends to its own class with X = I.
SPIKE_DIMENSION = (1.2, 20)


def spike_limit_sweep() -> list[Cell]:
    """Growing spikes a1 at n = 10^4, d = 202, m = 60."""
    return [theorem_point(4, 202, m=SPIKE_WIDTH, a1=a1) for a1 in SPIKES]


def fixed_spike_sweep(a1: float) -> list[Cell]:
    """A large spike that stays while n grows."""
    return [theorem_point(e, FIXED_SPIKE_D, a1=a1) for e in FIXED_SPIKE_EXPONENTS]


def spike_dimension(config: TheoremPoint) -> float:
    """`predicted_dimension` at a point with a large spike; infinite where no dimension serves.

    Linear attention adds a1 (1 + a1) / (n + a1) to a score, which leaves less of the offset 0.1.
    """
    n = 10.0**config.exponent
    left = OFFSET - config.a1 * (1 + config.a1) / (n + config.a1)
    return theory.zero_dimension(config.b, left, config.m, DELTA / n) if left > 0 else math.inf


def largest_spikes(times: int) -> list[Cell]:
    """Up to which spike the theorem holds, d being so many times the predicted dimension."""
    return [
        largest_spike(
            LargestSpike(
                e, math.ceil(times * predicted_dimension(e, 0.2)), width(THEOREM_C, 10.0**e)
            ),
            cost=0.1,
        )
        for e in LIMIT_EXPONENTS
    ]


def identity_sweep(above: bool) -> list[Cell]:
    """X = I, with spikes below or above sqrt(1 - b^2)."""
    return [
        theorem_point(e, d, x="identity", a1=a1)
        for e, d in IDENTITY
        for a1 in IDENTITY_SPIKES[above]
    ]


def least_spikes(b: float) -> list[Cell]:
    """The least spike that serves the theorem with X = I, at growing n."""
    predicted, own = SPIKE_DIMENSION
    return [
        least_spike(
            LeastSpike(
                e,
                math.ceil(max(predicted * predicted_dimension(e, b), own * 10.0 ** (e * b**2))),
                width(THEOREM_C, 10.0**e),
                b,
            ),
            cost=0.05,
        )
        for e in SPIKE_BS[b]
    ]


def spike_points() -> list[Cell]:
    """The points of the law among the above."""
    fixed = [point for a1 in FIXED_SPIKES for point in fixed_spike_sweep(a1)]
    return [*spike_limit_sweep(), *fixed, *identity_sweep(False), *identity_sweep(True)]
