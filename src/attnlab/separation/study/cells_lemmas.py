"""Cells of the lemmas: sums of random signs (Lemmas 4.1, 4.2), and the tensor form of attention.

The sums are sampled on uniform data, and their tails are exact on two-level data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from attnlab import arguments
from attnlab.lab.cell import CellKind, seed_of
from attnlab.lab.needs import Needs
from attnlab.separation import simulation, theory
from attnlab.separation.models import (
    NETWORKS,
    Kind,
    RegressionNetwork,
    attention_output,
    normalise,
    tensor_attention_output,
    tensor_scores,
)
from attnlab.separation.models.tensor_form import require_small
from attnlab.separation.models.tensor_form import tensor_form as tensor_form_of
from attnlab.separation.problem import RegressionPair
from attnlab.separation.problem.regression import HIGH, LOW, SPIKE
from attnlab.separation.rademacher import generators
from attnlab.separation.theory.two_level_law import two_level_memory
from attnlab.stats import Estimate


@dataclass(frozen=True)
class SignSums:
    """The sum <f, sigma> for random signs sigma, which Lemmas 4.1 and 4.2 bound."""

    n: int = 1000
    """Number of coordinates."""
    label: int = 0
    """0 for D0, 1 for D1."""
    kind: Literal["softmax", "linear"] = "linear"
    """f_exp or f_lin."""
    samples: int = 2000
    """How many sums are drawn, with new data and signs in each."""
    delta: float = 0.01
    """The lemmas hold with probability 1 - delta / poly(n)."""
    seed: int = 0
    """Seed of the sums."""


@dataclass(frozen=True)
class SignSumsResult:
    """Size and sign of the sums, and how many of them lie beyond the lemma's bound."""

    mean_square: float
    mean_square_error: float  # its standard error
    largest: float  # of |<f, sigma>|
    smallest: float
    positive: int
    bound: float  # of the lemma, with Hoeffding's constant C (with C = 1 for softmax on D0)
    beyond: int  # sums beyond that bound
    beyond_printed: int | None  # Lemma 4.2, part 1 as printed, same C


def run_sign_sums(config: SignSums) -> SignSumsResult:
    """Draw the sums and compare them with the bound."""
    arguments.open_fraction("delta", config.delta)
    arguments.integer("samples", config.samples, 2)
    sums = simulation.sign_sums(
        RegressionPair(config.n), config.label, config.kind, config.samples, seed_of(config)
    )
    size, square = np.abs(sums), Estimate.of(sums**2)
    printed = None
    if config.kind == "linear":
        C = theory.hoeffding_constant(config.n, config.delta, 2.0 if config.label == 0 else 4.0)
        bound = theory.lemma_4_1_linear(config.n, config.delta, C)
        if config.label == 1:
            printed = theory.lemma_4_2_linear_printed(config.n, config.delta, C)
    elif config.label == 0:
        bound = theory.lemma_4_1_softmax(config.n, config.delta)
    else:
        bound = 1.0  # Lemma 4.2, parts 2 and 3, bound the sum from below
    return SignSumsResult(
        mean_square=square.value,
        mean_square_error=square.standard_error,
        largest=float(size.max()),
        smallest=float(size.min()),
        positive=int((sums > 0).sum()),
        bound=bound,
        beyond=int((size > bound).sum()),
        beyond_printed=None if printed is None else int((size > printed).sum()),
    )


@dataclass(frozen=True)
class SignTail:
    """The exact tail Pr[|<f, sigma>| > t] on two-level data, with Hoeffding's bounds on it."""

    n: int = 1000
    """Number of coordinates."""
    label: int = 0
    """0 for D0, 1 for D1."""
    kind: Literal["softmax", "linear"] = "linear"
    """f_exp on D0, or f_lin."""
    share: float = 0.5
    """The share of coordinates at 1.4 log n; the others are at log n."""
    t: float = 0.5
    """The threshold of the sum."""


@dataclass(frozen=True)
class SignTailResult:
    """The tail, and Hoeffding's bound for this data and for the worst data of the dataset."""

    tail: float
    hoeffding: float
    worst: float


def run_sign_tail(config: SignTail) -> SignTailResult:
    """The tail from the law of one neuron with threshold t, for both signs."""
    problem = RegressionPair(config.n, "two-level", config.share)
    law = theory.neuron_law(problem, RegressionNetwork(1, config.t))
    which = NETWORKS[1:].index((config.kind, config.label))
    levels = problem.draw(generators(0, 1)[0])
    f = normalise(problem.spiked(levels) if config.label else levels, config.kind)[0]
    worst = theory.log_worst_tail(config.n, config.kind, config.label, config.t)
    return SignTailResult(
        2 * law.exceed[which], theory.hoeffding_tail(f, config.t), 2 * math.exp(worst)
    )


@dataclass(frozen=True)
class WorstEntries:
    """The extreme entries of f over D0 and D1, which the proofs of Lemmas 4.1 and 4.2 bound."""

    n: int = 1000
    """Number of coordinates."""


@dataclass(frozen=True)
class WorstEntriesResult:
    """Each extreme over all data of Definition 3.8."""

    linear_on_d0: float  # largest entry
    softmax_on_d0: float
    linear_on_d1: float
    softmax_spike: float  # smallest entry at the spike of D1
    softmax_other: float  # largest entry elsewhere


def run_worst_entries(config: WorstEntries) -> WorstEntriesResult:
    """A largest entry is high among low ones; the spike's smallest has only high ones beside it."""
    n = arguments.integer("n", config.n, 2)

    def weight(kind: Kind, entry: float, *others: tuple[float, int]) -> float:
        levels = np.array([entry, *(level for level, _ in others)]) * math.log(n)
        counts = np.array([1.0, *(count for _, count in others)])
        return float(normalise(levels, kind, counts)[0])

    return WorstEntriesResult(
        weight("linear", HIGH, (LOW, n - 1)),
        weight("softmax", HIGH, (LOW, n - 1)),
        weight("linear", SPIKE, (LOW, n - 1)),
        weight("softmax", SPIKE, (HIGH, n - 1)),
        weight("softmax", HIGH, (SPIKE, 1), (LOW, n - 2)),
    )


@dataclass(frozen=True)
class TensorForm:
    """Fact A.1, Claims C.3 and C.5: scores by the tensor form A_1 (x) A_2 and by A_1 X A_2^T."""

    n: int = 12
    """Length of both sequences."""
    d: int = 5
    """Dimension."""
    seed: int = 0
    """Seed of A_1, A_2, A_3, X and V; X is not symmetric."""


@dataclass(frozen=True)
class TensorFormResult:
    """How far the two forms are apart, relative to the largest entry.

    u_j and alpha_j are compared as they are, without the normalisation in which a constant of a
    row would cancel.
    """

    vec_error: float  # exp(A vec X) against vec(exp(A_1 X A_2^T)), Fact A.1
    linear_u_error: float  # A_j x against row j of A_1 X A_2^T, Claim C.3
    linear_alpha_error: float  # <A_j x, 1> against its sum
    softmax_u_error: float  # exp(A_j x) against its exponential, Claim C.5
    softmax_alpha_error: float
    softmax_error: float  # of the output of attention
    linear_error: float
    transposed_error: float  # of exp(A vec X) where vec reads X by columns, which must be large


def run_tensor_form(config: TensorForm) -> TensorFormResult:
    """Compare scores, their sums and the output of attention with their tensor form."""
    arguments.integer("n", config.n, 1)
    arguments.integer("d", config.d, 1)
    require_small((config.n * config.d) ** 2)
    (rng,) = generators(seed_of(config), 1)
    A_1, A_2, A_3 = rng.uniform(0.1, 1.0, (3, config.n, config.d))
    X, V = rng.uniform(0.1, 1.0, (2, config.d, config.d))

    scores, blocks = A_1 @ X @ A_2.T, tensor_scores(A_1, A_2, X)
    powers = np.exp(scores)

    def vec(given: np.ndarray) -> np.ndarray:
        A, x = tensor_form_of(A_1, A_2, given)
        return np.exp(A @ x)

    def output_error(kind: Kind) -> float:
        direct = attention_output(A_1, A_2, A_3, X, V, kind)
        return _apart(tensor_attention_output(A_1, A_2, A_3, X, V, kind), direct)

    return TensorFormResult(
        vec_error=_apart(vec(X), powers.reshape(-1)),
        linear_u_error=_apart(blocks, scores),
        linear_alpha_error=_apart(blocks.sum(axis=1), scores.sum(axis=1)),
        softmax_u_error=_apart(np.exp(blocks), powers),
        softmax_alpha_error=_apart(np.exp(blocks).sum(axis=1), powers.sum(axis=1)),
        softmax_error=output_error("softmax"),
        linear_error=output_error("linear"),
        transposed_error=_apart(vec(X.T.copy()), powers.reshape(-1)),
    )


def _apart(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference, relative to the largest entry."""
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def needs_of_sums(config: SignSums) -> Needs:
    """The sums, their sizes and squares, and two arrays like them for the standard error."""
    return Needs(5 * 8.0 * config.samples, reduce="samples")


def needs_of_tail(config: SignTail) -> Needs:
    """The states of the exact law."""
    problem = RegressionPair(config.n, "two-level", config.share)
    return Needs(two_level_memory(problem), reduce="n")


sign_sums = CellKind(
    "separation_sign_sums",
    SignSums,
    SignSumsResult,
    run_sign_sums,
    version=2,
    needs=needs_of_sums,
)
sign_tail = CellKind(
    "separation_sign_tail", SignTail, SignTailResult, run_sign_tail, needs=needs_of_tail
)
worst_entries = CellKind(
    "separation_worst_entries", WorstEntries, WorstEntriesResult, run_worst_entries
)
tensor_form = CellKind(
    "separation_tensor_form", TensorForm, TensorFormResult, run_tensor_form, version=3
)
