"""Theorem 6.2 at growing sizes: the exact probability of failure, and the widths and dimensions.

X = 1 and tau = (c + 0.1) sqrt(log n), as the theorem has them, and X = I beside it. Sizes are given
as powers of ten, and n is the multiple of d - 2 next to that power. Nothing here is sampled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from attnlab import arguments
from attnlab.lab.cell import CellKind
from attnlab.lab.needs import Needs
from attnlab.separation import theory
from attnlab.separation.models import AttentionNetwork
from attnlab.separation.study.cells_attention import PAIRS, outside_definition_allowed
from attnlab.separation.theory.attention_law import law_memory

OFFSET = 0.1  # of the theorem's threshold
SPIKE_RANGE = (0.3, 1.2)  # spikes a1 among which the least is looked for
SPIKE_ROUNDING = 1e-6
NEIGHBOURS = 16  # dimensions looked at on both sides of where the theorem begins to hold


@dataclass(frozen=True)
class TheoremPoint:
    """The exact probability that Theorem 6.2 fails at one size, and the widths that serve it."""

    exponent: int = 4
    """n is the multiple of d - 2 next to 10^exponent."""
    d: int = 202
    """Dimension of a token, at least 4."""
    m: int = 49
    """Number of random neurons."""
    a1: float = 1.2
    """Spike on D1, in units of sqrt(log n)."""
    b: float = 0.2
    """Entry at a token's class; c = 1 - b."""
    a0: float = 0.01
    """Spike on D0, in units of sqrt(log n)."""
    x: Literal["identity", "ones"] = "ones"
    """X = Q K^T: all ones, as in the theorem, or the identity."""
    model: Literal["self", "cross"] = "self"
    """Self-attention (Definition 6.1), or cross-attention on datasets of our own."""
    delta: float = 0.01
    """The theorem promises a failure of at most delta / n."""


@dataclass(frozen=True)
class TheoremResult:
    """The law at one size."""

    failure: float  # 1 - Pr[E_success] at width m
    goal: float  # delta / n
    firing: float  # e = Pr[one neuron of F_exp(D1) fires]
    spoiling: float  # Pr[one neuron of the three other networks fires]
    least_width: int | None  # the widths whose failure is at most delta / n
    largest_width: int | None


def run_theorem(config: TheoremPoint) -> TheoremResult:
    """The law, and what follows from it at every width."""
    goal = _goal(config.exponent, config.delta)
    law = _law(config)
    widths = theory.width_range(law, goal) or (None, None)
    return TheoremResult(
        theory.failure_from(law, config.m), goal, law.fire, law.spoil, widths[0], widths[1]
    )


@dataclass(frozen=True)
class LeastDimension:
    """From which dimension on Theorem 6.2 holds at one n and width."""

    exponent: int = 4
    """n is the multiple of d - 2 next to 10^exponent."""
    m: int = 50
    """Number of random neurons."""
    b: float = 0.2
    """Entry at a token's class; c = 1 - b."""
    delta: float = 0.01
    """The theorem holds where the failure is at most delta / n."""


@dataclass(frozen=True)
class LeastDimensionResult:
    """The dimensions around which the failure falls below delta / n.

    The law is not monotone in d, because a mean of d signs has steps; so both ends are given.
    """

    first: int  # the smallest d that holds, among those looked at
    settled: int  # from this d on every one that was looked at holds
    predicted: float  # 2 (b / 0.1)^2 log(m n / delta), by Hoeffding's inequality


def run_least_dimension(config: LeastDimension) -> LeastDimensionResult:
    """Bisection up to the predicted dimension, then every dimension near the crossing."""
    goal = _goal(config.exponent, config.delta)
    predicted = theory.zero_dimension(config.b, OFFSET, config.m, goal)

    def holds(d: int) -> bool:
        law = _law(TheoremPoint(config.exponent, d, b=config.b))
        return theory.failure_from(law, config.m) <= goal

    low, high = 4, max(math.ceil(predicted), 5)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    near = {d: holds(d) for d in range(max(high - NEIGHBOURS, 4), high + NEIGHBOURS + 1)}
    broken = [d for d, good in near.items() if not good]
    good = [d for d, good in near.items() if good]
    return LeastDimensionResult(min(good, default=high), max(broken, default=3) + 1, predicted)


@dataclass(frozen=True)
class LeastSpike:
    """From which spike a1 on the theorem holds at one size with X = I in place of X = 1."""

    exponent: int = 6
    """n is the multiple of d - 2 next to 10^exponent."""
    d: int = 218
    """Dimension of a token, at least 4."""
    m: int = 66
    """Number of random neurons."""
    b: float = 0.2
    """Entry at a token's class; c = 1 - b."""
    delta: float = 0.01
    """The theorem holds where the failure is at most delta / n."""


@dataclass(frozen=True)
class LeastSpikeResult:
    """The spike from which on the failure is at most delta / n."""

    least: float | None  # None where the largest spike that was looked at does not serve either


def run_least_spike(config: LeastSpike) -> LeastSpikeResult:
    """Bisection over a1."""
    goal = _goal(config.exponent, config.delta)

    def holds(a1: float) -> bool:
        law = _law(TheoremPoint(config.exponent, config.d, a1=a1, b=config.b, x="identity"))
        return theory.failure_from(law, config.m) <= goal

    low, high = SPIKE_RANGE
    if not holds(high):
        return LeastSpikeResult(None)
    while high - low > SPIKE_ROUNDING:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return LeastSpikeResult(high)


@dataclass(frozen=True)
class LargestSpike:
    """Up to which spike a1 Theorem 6.2 holds at one size, X = 1."""

    exponent: int = 4
    """n is the multiple of d - 2 next to 10^exponent."""
    d: int = 402
    """Dimension of a token, at least 4."""
    m: int = 50
    """Number of random neurons."""
    b: float = 0.2
    """Entry at a token's class; c = 1 - b."""
    delta: float = 0.01
    """The theorem holds where the failure is at most delta / n."""


@dataclass(frozen=True)
class LargestSpikeResult:
    """The spike up to which the failure is at most delta / n, and what happens at sqrt(0.1 n).

    Linear attention gives the spike row the weight (1 + a1) / (n + a1), which adds
    a1 (1 + a1) / (n + a1) to the score of a neuron. By Hoeffding's inequality the failure is at
    most delta / n while 0.1 less that is b sqrt(2 log(m n / delta) / d) or more.
    """

    tokens: int  # the multiple of d - 2 that was taken for n
    largest: float | None  # None where the default spike does not serve
    predicted: float  # by Hoeffding's inequality, from below
    beyond: float  # the failure at a1 = sqrt(0.1 n), where linear attention passes its threshold


def run_largest_spike(config: LargestSpike) -> LargestSpikeResult:
    """Bisection over a1."""
    n, goal = _tokens(config.exponent, config.d), _goal(config.exponent, config.delta)

    def failure(a1: float) -> float:
        law = _law(TheoremPoint(config.exponent, config.d, a1=a1, b=config.b))
        return theory.failure_from(law, config.m)

    # a1 (1 + a1) = left (n + a1)
    needed = theory.zero_dimension(config.b, OFFSET, config.m, goal)
    left = max(OFFSET * (1 - math.sqrt(needed / config.d)), 0.0)
    predicted = (left - 1 + math.sqrt((1 - left) ** 2 + 4 * left * n)) / 2
    low, high = TheoremPoint.a1, math.sqrt(OFFSET * n)
    beyond = failure(high)
    if failure(low) > goal:
        return LargestSpikeResult(n, None, predicted, beyond)
    while high - low > SPIKE_ROUNDING * high:
        middle = (low + high) / 2
        low, high = (middle, high) if failure(middle) <= goal else (low, middle)
    return LargestSpikeResult(n, low, predicted, beyond)


def _goal(exponent: int, delta: float) -> float:
    arguments.integer("exponent", exponent, 1)
    return arguments.open_fraction("delta", delta) / 10.0**exponent


def _tokens(exponent: int, d: int) -> int:
    """The multiple of d - 2 next to 10^exponent."""
    classes = arguments.integer("d", d, 4) - 2
    return max((10**exponent + classes // 2) // classes, 1) * classes


def _law(config: TheoremPoint) -> theory.NeuronLaw:
    arguments.one_of("model", config.model, PAIRS)
    arguments.one_of("x", config.x, ("identity", "ones"))
    n = _tokens(config.exponent, config.d)
    with outside_definition_allowed():
        c = round(1 - config.b, 9)
        pair = PAIRS[config.model](n, config.d, config.a0, config.a1, config.b, c)
    return theory.neuron_law(pair, AttentionNetwork(offset=OFFSET, X=config.x))


def needs_of_law(config: TheoremPoint | LeastSpike | LargestSpike) -> Needs:
    """The states of the exact law."""
    return Needs(law_memory(config.d), reduce="d")


def needs_of_least_dimension(config: LeastDimension) -> Needs:
    """The states of the exact law at the largest dimension that is looked at."""
    goal = _goal(config.exponent, config.delta)
    predicted = theory.zero_dimension(config.b, OFFSET, config.m, goal)
    return Needs(law_memory(math.ceil(predicted) + NEIGHBOURS), reduce="b, m or exponent")


theorem = CellKind(
    "separation_theorem", TheoremPoint, TheoremResult, run_theorem, needs=needs_of_law
)
least_spike = CellKind(
    "separation_least_spike", LeastSpike, LeastSpikeResult, run_least_spike, needs=needs_of_law
)
largest_spike = CellKind(
    "separation_largest_spike",
    LargestSpike,
    LargestSpikeResult,
    run_largest_spike,
    needs=needs_of_law,
)
least_dimension = CellKind(
    "separation_least_dimension",
    LeastDimension,
    LeastDimensionResult,
    run_least_dimension,
    needs=needs_of_least_dimension,
)
