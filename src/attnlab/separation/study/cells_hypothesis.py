"""Datasets that no linear attention can tell apart, and linear attention on those of the paper.

The hypothesis of Deng, Song, Zhou (arXiv 2310.11685), Section 1, is that some datasets can be
classified effectively by softmax attention only. Both cells are about the networks of Definitions
C.2 and C.6, with self-attention; both are ours.

Let every row of A be a multiple a_j of the first unit vector. Then row j of linear attention is

    c_j = sum_i (a_j x_11 a_i) a_i V_1 / sum_i (a_j x_11 a_i) = (sum_i a_i^2 / sum_i a_i) V_1,

with V_1 the first row of V, whatever Q, K and j are. Two columns a with the same sum and the same
sum of squares, such as (1, 5, 6) and (2, 3, 7), give the same c and so the same F_lin, for all
weights, signs and thresholds. Softmax attends to the largest entry, 6 or 7.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attnlab import arguments
from attnlab.lab.cell import CellKind, seed_of
from attnlab.lab.needs import Needs
from attnlab.separation.models import attention_output, exceeds, normalise
from attnlab.separation.problem import SelfAttentionPair
from attnlab.separation.rademacher import generators

COLUMNS = ((1, 5, 6), (2, 3, 7))  # on D0 and on D1, before a common rest of ones
TAU = 6.5  # between the largest entries
DRAWS = 50  # of the weights with which linear attention is tried


@dataclass(frozen=True)
class EqualMoments:
    """Two inputs with the same sums and sums of squares: what both kinds of attention see."""

    n: int = 3
    """Length of the sequence, at least 3; entries beyond the third are 1 on both datasets."""
    d: int = 4
    """Dimension of a token; only the first column is not 0."""
    m: int = 9
    """Number of random neurons."""
    seed: int = 0
    """Seed of the weights with which linear attention is tried."""


@dataclass(frozen=True)
class EqualMomentsResult:
    """Exact differences of the moments, and the outputs of attention."""

    sum_difference: int
    square_difference: int
    linear_difference: float  # largest of c_lin between D0 and D1, relative to its size
    softmax_on_d0: float  # largest |score| of F_exp, X and V being the identity
    softmax_on_d1: float
    failure: float  # Pr[F_exp does not tell D0 from D1] with tau = 6.5: 2^-m


def run_equal_moments(config: EqualMoments) -> EqualMomentsResult:
    """Integers for the moments, random weights for linear attention, the identity for softmax."""
    n, d = arguments.integer("n", config.n, 3), arguments.integer("d", config.d, 1)
    m = arguments.integer("m", config.m, 1)
    columns = [(*column, *(1,) * (n - 3)) for column in COLUMNS]
    sums, squares = ([sum(a**k for a in column) for column in columns] for k in (1, 2))
    zero, one = (np.outer(column, np.eye(d)[0]).astype(np.float64) for column in columns)
    (rng,) = generators(seed_of(config), 1)
    apart = 0.0
    for X, V in rng.normal(size=(DRAWS, 2, d, d)):
        outputs = [attention_output(A, A, A, X, V, "linear") for A in (zero, one)]
        apart = max(apart, float(np.abs(outputs[0] - outputs[1]).max() / np.abs(outputs[0]).max()))
    # With V = I only the first entry of c is not 0, so that a score is that entry or its negative.
    identity = np.eye(d)
    tops = [float(attention_output(A, A, A, identity, identity).max()) for A in (zero, one)]
    separated = bool(exceeds(np.array(tops), TAU).tolist() == [False, True])
    return EqualMomentsResult(
        sums[1] - sums[0],
        squares[1] - squares[0],
        apart,
        tops[0],
        tops[1],
        0.5**m if separated else 1.0,
    )


@dataclass(frozen=True)
class LinearOnSpikes:
    """Linear attention with another V and another threshold, on the datasets of Definition 6.1."""

    n: int = 200
    """Length of the sequence, a multiple of d - 2."""
    d: int = 22
    """Dimension of a token, at least 4."""
    m: int = 15
    """Number of random neurons."""
    a0: float = 0.01
    """Spike on D0, in units of sqrt(log n)."""
    a1: float = 1.2
    """Spike on D1, in units of sqrt(log n)."""
    b: float = 0.2
    """Entry at a token's class; c = 1 - b."""
    tau: float = 0.6
    """The threshold, in units of sqrt(log n) / n."""


@dataclass(frozen=True)
class LinearOnSpikesResult:
    """The largest score on each dataset, and the probability that F_lin does not separate them."""

    score_on_d0: float
    score_on_d1: float
    threshold: float
    failure: float  # 1 - Pr[F_lin(D1) > 0 and F_lin(D0) = 0]


def run_linear_on_spikes(config: LinearOnSpikes) -> LinearOnSpikesResult:
    """X is all ones, as in Theorem 6.2, and V = e_1 e_1^T reads the column of the spike alone.

    A score is then the first entry of a row or its negative, as the neuron's first sign has it.
    """
    c = round(1 - config.b, 9)
    pair = SelfAttentionPair(config.n, config.d, config.a0, config.a1, config.b, c)
    m = arguments.integer("m", config.m, 1)
    tau = arguments.positive("tau", config.tau) * pair.unit / pair.n
    X = np.ones((config.d, config.d))

    def score(label: int) -> float:
        rows, counts = pair.distinct_keys(label)
        weights = normalise(pair.distinct_queries(label).rows @ X @ rows.T, "linear", counts)
        return float((weights @ rows[:, 0]).max())

    zero, one = score(0), score(1)
    return LinearOnSpikesResult(zero, one, tau, 0.5**m if zero < tau < one else 1.0)


def needs_of_equal_moments(config: EqualMoments) -> Needs:
    """Scores and weights of one attention, all inputs and outputs, and the weights drawn."""
    n, d = config.n, config.d
    return Needs(8.0 * (4 * n * n + 8 * n * d + 2 * (DRAWS + 2) * d * d), reduce="n or d")


def needs_of_linear_on_spikes(config: LinearOnSpikes) -> Needs:
    """X, the distinct rows, their products and the weights, all of about d^2 numbers."""
    return Needs(8.0 * 7 * config.d**2, reduce="d")


equal_moments = CellKind(
    "separation_equal_moments",
    EqualMoments,
    EqualMomentsResult,
    run_equal_moments,
    needs=needs_of_equal_moments,
)
linear_on_spikes = CellKind(
    "separation_linear_on_spikes",
    LinearOnSpikes,
    LinearOnSpikesResult,
    run_linear_on_spikes,
    needs=needs_of_linear_on_spikes,
)
