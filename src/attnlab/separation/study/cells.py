"""The cells of the study: one point of a sweep, one bound of a lemma, one check of an identity.

A point holds the exact law beside the Monte Carlo of the same probability. Configurations say what
is asked and nothing of which figure asks it, so that sweeps share the points where they cross.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np

from attnlab import arguments
from attnlab.lab.cell import CellKind, Outcome, stream
from attnlab.separation import simulation, theory
from attnlab.separation.models import (
    AttentionNetwork,
    RegressionNetwork,
    attention_output,
    tensor_attention_output,
)
from attnlab.separation.problem import (
    CrossAttentionPair,
    DefinitionWarning,
    RegressionPair,
    SelfAttentionPair,
    SpikedPair,
)
from attnlab.separation.rademacher import generators
from attnlab.stats.binomial import clopper_pearson

PAIRS = {"self": SelfAttentionPair, "cross": CrossAttentionPair}


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """A Monte Carlo frequency, standard error and exact 95% interval; None if not sampled."""

    successes: int | None = None
    sampled: float | None = None
    standard_error: float | None = None
    low: float | None = None
    high: float | None = None


def sample(problem, network, trials: int, seed: int) -> Sampled:
    if arguments.integer("trials", trials, 0) == 0:
        return Sampled()
    found = simulation.success(problem, network, trials=trials, seed=seed)
    successes = round(found.value * trials)
    low, high = clopper_pearson(successes, trials)
    return Sampled(
        successes=successes,
        sampled=found.value,
        standard_error=found.standard_error,
        low=low,
        high=high,
    )


@dataclass(frozen=True)
class AttentionPoint:
    """Pr[E_success] of the attention model at one set of parameters (Section 7.2)."""

    n: int = 200
    """Length of the sequence, a multiple of d - 2."""
    d: int = 22
    """Dimension of a token, at least 4."""
    m: int = 15
    """Number of random neurons."""
    x: Literal["identity", "ones"] = "identity"
    """X = Q K^T: the identity (Fig. 4) or all ones (Fig. 5)."""
    model: Literal["self", "cross"] = "self"
    """Self-attention (Definition 6.1) or our cross-attention sets."""
    a0: float = 0.01
    """Spike on D0, in units of sqrt(log n)."""
    a1: float = 1.2
    """Spike on D1."""
    b: float = 0.2
    """Entry at a token's class."""
    c: float = 0.8
    """Entry of the constant column."""
    offset: float = 0.1
    """Threshold tau = (c + offset) sqrt(log n)."""
    shared_signs: bool = True
    """Whether the four networks use the same random signs."""
    trials: int = 100
    """Monte Carlo trials; 0 for the exact law alone."""
    seed: int = 0
    """Seed of the trials."""

    def problem(self) -> SpikedPair:
        arguments.one_of("model", self.model, PAIRS)
        with warnings.catch_warnings():
            # The sweeps leave Definition 6.1 on purpose; the row says where.
            warnings.simplefilter("ignore", DefinitionWarning)
            return PAIRS[self.model](self.n, self.d, self.a0, self.a1, self.b, self.c)

    def network(self) -> AttentionNetwork:
        arguments.integer("m", self.m, 1)
        arguments.one_of("x", self.x, ("identity", "ones"))
        return AttentionNetwork(self.m, self.offset, X=self.x, shared_signs=self.shared_signs)


@dataclass(frozen=True, kw_only=True)
class AttentionResult(Sampled):
    exact: float
    cap: float
    zero: float  # Pr[F_lin(D1) = F_exp(D0) = F_lin(D0) = 0] = q^m
    q: float
    r: float
    fire: float  # e = Pr[one neuron of F_exp(D1) fires]
    exceed_lin1: float
    exceed_exp0: float
    exceed_lin0: float
    margin: float
    best_width: int | None
    outside_definition: str


def run_attention(config: AttentionPoint) -> AttentionResult:
    problem, network = config.problem(), config.network()
    law = theory.neuron_law(problem, network)
    best = theory.best_width(law)
    found = sample(problem, network, config.trials, stream(config))
    return AttentionResult(
        exact=theory.success(problem, network).value,
        cap=theory.cap(law, config.m),
        zero=law.q**config.m,
        q=law.q,
        r=law.r,
        fire=law.fire,
        exceed_lin1=law.exceed[0],
        exceed_exp0=law.exceed[1],
        exceed_lin0=law.exceed[2],
        margin=law.margin,
        best_width=best.integer,
        outside_definition="; ".join(problem.departures()),
        **asdict(found),
    )


@dataclass(frozen=True)
class RegressionPoint:
    """Pr[E_success] of the softmax-regression model at one set of parameters (Section 7.1)."""

    n: int = 1000
    """Number of coordinates."""
    m: int = 6
    """Number of random neurons; the paper takes log n."""
    tau: float = 0.25
    """Threshold; the paper leaves it open, 1/4 fits Lemma 4.2."""
    data: Literal["uniform", "two-level"] = "uniform"
    """How the logits fill [log n, 1.4 log n]."""
    share: float = 0.5
    """Two-level data: the share of coordinates at 1.4 log n."""
    trials: int = 1000
    """Monte Carlo trials, fresh data and signs in each; 0 for the law or bounds alone."""
    seed: int = 0
    """Seed of the trials."""

    def problem(self) -> RegressionPair:
        arguments.fraction("share", self.share)
        return RegressionPair(self.n, self.data, self.share)

    def network(self) -> RegressionNetwork:
        arguments.integer("m", self.m, 1)
        return RegressionNetwork(self.m, self.tau)


@dataclass(frozen=True, kw_only=True)
class RegressionResult(Sampled):
    exact: float | None  # two-level data only
    lower: float
    lower_error: float
    upper: float
    fire: float | None
    exceed_lin1: float  # exact for two-level data, else Chernoff bounds
    exceed_exp0: float
    exceed_lin0: float


def run_regression(config: RegressionPoint) -> RegressionResult:
    problem, network = config.problem(), config.network()
    bounds = theory.success_bounds(problem, network, seed=stream(config))
    law = theory.neuron_law(problem, network) if config.data == "two-level" else None
    if law:
        exceed = law.exceed
    else:
        exceed = theory.exceed_bounds(problem, config.tau, seed=stream(config)).mean(axis=0)
    found = sample(problem, network, config.trials, stream(config))
    return RegressionResult(
        exact=theory.success(problem, network).value if law else None,
        lower=bounds.lower.value,
        lower_error=bounds.lower.standard_error,
        upper=bounds.upper.value,
        fire=law.fire if law else None,
        exceed_lin1=float(exceed[0]),
        exceed_exp0=float(exceed[1]),
        exceed_lin0=float(exceed[2]),
        **asdict(found),
    )


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
    """Sums drawn, fresh data and signs in each."""
    delta: float = 0.01
    """The lemmas hold with probability 1 - delta / poly(n)."""
    seed: int = 0
    """Seed of the sums."""


@dataclass(frozen=True)
class SignSumsResult:
    mean_square: float
    mean_square_error: float
    largest: float  # of |<f, sigma>|
    smallest: float
    positive: int
    bound: float  # of the lemma, with Hoeffding's constant C (with C = 1 for softmax on D0)
    beyond: int  # sums beyond that bound
    beyond_printed: int | None  # Lemma 4.2, part 1 as printed, same C


def run_sign_sums(config: SignSums) -> SignSumsResult:
    arguments.open_fraction("delta", config.delta)
    arguments.integer("samples", config.samples, 2)
    sums = simulation.sign_sums(
        RegressionPair(config.n), config.label, config.kind, config.samples, stream(config)
    )
    size, square = np.abs(sums), sums**2
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
        mean_square=float(square.mean()),
        mean_square_error=float(square.std(ddof=1)) / math.sqrt(config.samples),
        largest=float(size.max()),
        smallest=float(size.min()),
        positive=int((sums > 0).sum()),
        bound=bound,
        beyond=int((size > bound).sum()),
        beyond_printed=None if printed is None else int((size > printed).sum()),
    )


@dataclass(frozen=True)
class TensorForm:
    """Claims C.3 and C.5: attention by the tensor form A_1 (x) A_2 against attention itself."""

    n: int = 12
    """Length of both sequences."""
    d: int = 5
    """Dimension."""
    seed: int = 0
    """Seed of A_1, A_2, A_3, X and V; X is not symmetric."""


@dataclass(frozen=True)
class TensorFormResult:
    softmax_error: float  # largest difference, relative to the largest entry
    linear_error: float
    transposed_error: float  # the same with vec reading X by columns: must be large


def run_tensor_form(config: TensorForm) -> TensorFormResult:
    arguments.integer("n", config.n, 1)
    arguments.integer("d", config.d, 1)
    (rng,) = generators(stream(config), 1)
    A_1, A_2, A_3 = rng.uniform(0.1, 1.0, (3, config.n, config.d))
    X, V = rng.uniform(0.1, 1.0, (2, config.d, config.d))

    def error(kind: Literal["softmax", "linear"], seen: np.ndarray) -> float:
        direct = attention_output(A_1, A_2, A_3, X, V, kind)
        tensor = tensor_attention_output(A_1, A_2, A_3, seen, V, kind)
        return float(np.abs(direct - tensor).max() / np.abs(direct).max())

    return TensorFormResult(error("softmax", X), error("linear", X), error("softmax", X.T.copy()))


@dataclass(frozen=True)
class SuccessMap:
    """Pr[E_success] over a plane of parameters, by the exact law."""

    plane: Literal["d-m", "a0-a1"]
    """Which two parameters."""
    x: Literal["identity", "ones"] = "identity"
    """X = Q K^T."""
    n: int = 240
    """Length of the sequence."""
    steps: int = 40
    """Points along each axis that is not d."""


@dataclass(frozen=True)
class MapPoint:
    across: float
    up: float
    probability: float


def run_map(config: SuccessMap) -> Outcome[MapPoint]:
    arguments.integer("steps", config.steps, 2)
    arguments.integer("n", config.n, 4)
    arguments.one_of("plane", config.plane, ("d-m", "a0-a1"))
    points = []
    if config.plane == "d-m":
        for k in [k for k in range(2, config.n // 2 + 1) if config.n % k == 0]:
            point = AttentionPoint(config.n, k + 2, x=config.x)
            law = theory.neuron_law(point.problem(), point.network())
            for m in range(2, 2 * config.steps + 1, 2):
                points.append(MapPoint(k + 2, m, theory.success_from(law, m)))
    else:
        for a0 in np.linspace(0.0, 1.2, config.steps + 1):
            for a1 in np.linspace(0.0, 2.4, config.steps + 1):
                point = AttentionPoint(config.n, 22, x=config.x, a0=float(a0), a1=float(a1))
                found = theory.success(point.problem(), point.network()).value
                points.append(MapPoint(float(a0), float(a1), found))
    return Outcome(points)


attention = CellKind("separation_attention", AttentionPoint, AttentionResult, run_attention)
regression = CellKind("separation_regression", RegressionPoint, RegressionResult, run_regression)
sign_sums = CellKind("separation_sign_sums", SignSums, SignSumsResult, run_sign_sums)
tensor_form = CellKind("separation_tensor_form", TensorForm, TensorFormResult, run_tensor_form)
success_map = CellKind("separation_map", SuccessMap, MapPoint, run_map)

KINDS = (attention, regression, sign_sums, tensor_form, success_map)
