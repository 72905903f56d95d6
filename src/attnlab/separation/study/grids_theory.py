"""Which sizes the claims about the theorem and the lemmas look at, all of them by exact laws.

Theorem 6.2 and Lemmas 4.1-5.4 of Deng, Song, Zhou (arXiv 2310.11685) are asymptotic, so their
sizes grow far beyond those of the experiments. Definition 3.7 has m = C log(n/delta) neurons.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Literal

from attnlab.lab.cell import Cell
from attnlab.separation import theory
from attnlab.separation.study.cells_hypothesis import (
    EqualMoments,
    LinearOnSpikes,
    equal_moments,
    linear_on_spikes,
)
from attnlab.separation.study.cells_lemmas import SignTail, WorstEntries, sign_tail, worst_entries
from attnlab.separation.study.cells_regression import RegressionPoint, regression
from attnlab.separation.study.cells_rows import SpikeRows, spike_rows
from attnlab.separation.study.cells_theorem import (
    OFFSET,
    LeastDimension,
    TheoremPoint,
    least_dimension,
    theorem,
)

DELTA = 0.01

# Theorem 6.2: n = 10^exponent, and the constant C of the width m = C log(n/delta).
EXPONENTS = (3, 4, 6, 8, 12)
THEOREM_BS = (0.1, 0.2, 0.5)
THEOREM_C = 3.55  # a little above 1 / ln(4/3) = 3.48
MAP_DS = (
    6,
    10,
    16,
    22,
    26,
    34,
    42,
    52,
    66,
    82,
    106,
    130,
    170,
    210,
    270,
    340,
    430,
    540,
    690,
    870,
    1100,
    1400,
    1900,
)
FIRE_SPIKES = (0.7, 0.75, 0.8, 0.9, 1.0, 1.2, 2.0, 3.0)
FIRE_BS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6, 0.7, 0.8, 0.9)
FIRE_EXPONENTS = (3, 4, 6, 12)
# Where one neuron fires least: the smallest a1, and b where it just fires against the class's sign.
CORNER_FIRE_DS = (22, 52, 102, 202)
CORNER_FIRE_BS = tuple(round(0.5 + 0.005 * i, 3) for i in range(21))
CORNER_BS = (0.1, 0.2, 0.5, 0.9)
CORNER_EXPONENTS = (4, 12)
ASYMPTOTIC = 180  # n^0.02 has passed the dimension that b = 0.2 needs
CROSS = ((3, 130), (4, 202), (6, 202), (8, 302), (12, 402))  # exponent, d

# Lemmas 5.1-5.4: 2^-m <= delta/n from C = 1 / ln 2 on.
LEMMA_C = 1 / math.log(2)
MOMENT_NS = (3, 30, 1000)
LINEAR_SIZES = ((200, 22), (1000, 12), (10_000, 202), (1_000_000, 1002))  # n, d
TAU = 0.25
TAUS = (0.05, TAU, 0.5, 0.9)  # constants that serve the lemmas in the limit
TOO_LARGE = 1.0  # a threshold that no sum passes
LEMMA_NS = (100, 300, 1000, 3000, 10_000)
LEMMA_SHARES = (0.02, 0.06, 0.1, 5 / 12, 0.5, 0.9)

# Lemmas 4.1 and 4.2: constants C that serve every n, and two with which the misprint is tried.
LINEAR_C = {0: 1.6, 1: 2.0}
PRINTED_CS = (2.0, 10.0)
TAIL_NS = (100, 1000, 10_000)
ENTRY_NS = (*range(2, 21), 50, 100, 200, 500, *(10**k for k in range(3, 13)))
TAIL_SHARES = (0.1, 5 / 12, 0.5, 0.9)


def width(C: float, n: float, delta: float = DELTA) -> int:
    """m = ceil(C log(n/delta)), the width of Definition 3.7."""
    return math.ceil(C * math.log(n / delta))


def theorem_point(exponent: int, d: int, **parameters) -> Cell:
    """Theorem 6.2 at one size, with its width unless another one is given."""
    parameters.setdefault("m", width(THEOREM_C, 10.0**exponent))
    return theorem(TheoremPoint(exponent, d, **parameters))


@functools.cache
def theorem_map(b: float) -> Sequence[Cell]:
    """Every (n, d) of the map; d is at most n."""
    return tuple(theorem_point(e, d, b=b) for e in EXPONENTS for d in MAP_DS if d <= 10**e)


def asymptotic_point() -> Cell:
    """The theorem at its smallest dimension, d = n^0.02, where n is large enough for that."""
    return theorem_point(ASYMPTOTIC, math.ceil(10 ** (0.02 * ASYMPTOTIC)))


@functools.cache
def corner_sweep() -> Sequence[Cell]:
    """The largest a0 and the smallest a1 of Definition 6.1, for b up to its largest value."""
    return tuple(
        theorem_point(e, math.ceil(predicted_dimension(e, b)), b=b, a0=0.0999, a1=0.7)
        for e in CORNER_EXPONENTS
        for b in CORNER_BS
    )


def predicted_dimension(exponent: int, b: float) -> float:
    """2 (b/0.1)^2 log(m n / delta), from which on Hoeffding's inequality promises delta / n."""
    n = 10.0**exponent
    return theory.zero_dimension(b, OFFSET, width(THEOREM_C, n), DELTA / n)


@functools.cache
def fire_sweep(exponent: int) -> Sequence[Cell]:
    """The range of a1 and b of Definition 6.1 at one n, closely where one neuron fires least."""
    wide = [theorem_point(exponent, 22, a1=a1, b=b) for a1 in FIRE_SPIKES for b in FIRE_BS]
    corner = [
        theorem_point(exponent, d, a1=FIRE_SPIKES[0], b=b)
        for d in CORNER_FIRE_DS
        for b in CORNER_FIRE_BS
    ]
    return tuple({cell.key: cell for cell in (*wide, *corner)}.values())


@functools.cache
def cross_theorem() -> Sequence[Cell]:
    """Our cross-attention datasets at growing sizes."""
    return tuple(theorem_point(e, d, model="cross") for e, d in CROSS)


@functools.cache
def least_dimensions(b: float) -> Sequence[Cell]:
    """From which d on the theorem holds, at every n of the map."""
    return tuple(
        least_dimension(LeastDimension(e, width(THEOREM_C, 10.0**e), b), cost=0.1)
        for e in EXPONENTS
    )


@functools.cache
def lemma_sweep() -> Sequence[Cell]:
    """The regression model at the width of Definition 3.7, on data of many kinds."""
    return tuple(
        regression(
            RegressionPoint(n, width(LEMMA_C, n), TAU, data="two-level", share=share, trials=0)
        )
        for n in LEMMA_NS
        for share in LEMMA_SHARES
    )


def linear_tails(label: Literal[0, 1], C: float, *, printed: bool = False) -> list[Cell]:
    """Tails of <f_lin, sigma> at the bound of Lemma 4.1 or 4.2, part 1."""
    bound = theory.lemma_4_2_linear_printed if printed else theory.lemma_4_1_linear
    return [
        sign_tail(SignTail(n, label, "linear", share, bound(n, DELTA, C)))
        for n in TAIL_NS
        for share in TAIL_SHARES
    ]


def softmax_tails() -> list[Cell]:
    """Tails of <f_exp, sigma> on D0 where Hoeffding's bound for the worst data is delta/n."""
    return [
        sign_tail(SignTail(n, 0, "softmax", share, sharp_softmax(n)))
        for n in TAIL_NS
        for share in (theory.worst_share(n, "softmax"), *TAIL_SHARES)
    ]


def tail_cells() -> list[Cell]:
    """Every tail that the claims look at."""
    linear = [point for label in (0, 1) for point in linear_tails(label, LINEAR_C[label])]
    printed = [point for C in PRINTED_CS for point in linear_tails(1, C, printed=True)]
    return [*linear, *printed, *softmax_tails()]


@functools.cache
def sharp_softmax(n: int) -> float:
    """sqrt(2 |f|^2 log(2n/delta)) with the largest |f|: our bound in place of Lemma 4.1, part 2."""
    return math.sqrt(2 * theory.worst_norm(n, "softmax", 0) * math.log(2 * n / DELTA))


def entry_sweep() -> list[Cell]:
    """The extreme entries of f from the smallest n on."""
    return [worst_entries(WorstEntries(n)) for n in ENTRY_NS]


def moment_cells(seed: int) -> list[Cell]:
    """Inputs that linear attention cannot tell apart, at growing lengths."""
    return [equal_moments(EqualMoments(n, m=width(LEMMA_C, n), seed=seed)) for n in MOMENT_NS]


def linear_spike_cells() -> list[Cell]:
    """Linear attention on Definition 6.1: growing sizes, and the closest spikes that it allows."""
    growing = [LinearOnSpikes(n, d, width(LEMMA_C, n)) for n, d in LINEAR_SIZES]
    n, d = LINEAR_SIZES[0]
    closest = [LinearOnSpikes(n, d, width(LEMMA_C, n), a0=0.0999, a1=0.7, b=b) for b in CORNER_BS]
    return [linear_on_spikes(config) for config in (*growing, *closest)]


@functools.cache
def row_sweep(x: Literal["identity", "ones"]) -> Sequence[Cell]:
    """Figure 4(e) or 5(e), every second point, with shared and with independent spike rows."""
    return tuple(spike_rows(SpikeRows(x=x, a0=i / 100)) for i in range(1, 81, 2))
