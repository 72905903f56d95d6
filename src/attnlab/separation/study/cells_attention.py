"""A point of the attention model: the exact law beside the Monte Carlo of the same probability.

A configuration says nothing of which figure it is for, so that sweeps share the points where they
cross.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Literal

from attnlab import arguments
from attnlab.lab.cell import CellKind, seed_of
from attnlab.lab.needs import Needs
from attnlab.separation import theory
from attnlab.separation.models import AttentionNetwork
from attnlab.separation.problem import (
    CrossAttentionPair,
    DefinitionWarning,
    SelfAttentionPair,
    SpikedPair,
)
from attnlab.separation.simulation.attention_trials import trial_memory
from attnlab.separation.study.sampled import Sampled, sample
from attnlab.separation.theory.attention_law import law_memory

PAIRS = {"self": SelfAttentionPair, "cross": CrossAttentionPair}


@contextmanager
def outside_definition_allowed() -> Iterator[None]:
    """The sweeps leave Definition 6.1 on purpose; their rows or titles say where."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DefinitionWarning)
        yield


@dataclass(frozen=True)
class AttentionPoint:
    """The probability that softmax attention separates the two datasets and linear does not.

    Section 7.2 of the paper, at one set of parameters: the exact law, and Monte Carlo beside it.
    """

    n: int = 200
    """Length of the sequence, a multiple of d - 2."""
    d: int = 22
    """Dimension of a token, at least 4."""
    m: int = 15
    """Number of random neurons."""
    x: Literal["identity", "ones"] = "identity"
    """X = Q K^T: the identity (Fig. 4) or all ones (Fig. 5)."""
    model: Literal["self", "cross"] = "self"
    """Self-attention (Definition 6.1), or cross-attention on datasets of our own."""
    a0: float = 0.01
    """Spike on D0, in units of sqrt(log n)."""
    a1: float = 1.2
    """Spike on D1, in units of sqrt(log n)."""
    b: float = 0.2
    """Entry at a token's class, in units of sqrt(log n)."""
    c: float = 0.8
    """Entry of the last column, in units of sqrt(log n)."""
    offset: float = 0.1
    """The threshold is tau = (c + offset) sqrt(log n)."""
    shared_signs: bool = True
    """Whether the four networks use the same random signs."""
    trials: int = 100
    """Monte Carlo trials; 0 for the exact law alone."""
    seed: int = 0
    """Seed of the trials."""

    def problem(self) -> SpikedPair:
        """The two datasets."""
        arguments.one_of("model", self.model, PAIRS)
        with outside_definition_allowed():
            return PAIRS[self.model](self.n, self.d, self.a0, self.a1, self.b, self.c)

    def network(self) -> AttentionNetwork:
        """The networks that separate them."""
        arguments.integer("m", self.m, 1)
        arguments.one_of("x", self.x, ("identity", "ones"))
        return AttentionNetwork(self.m, self.offset, X=self.x, shared_signs=self.shared_signs)


@dataclass(frozen=True, kw_only=True)
class AttentionResult(Sampled):
    """The exact law at one point, with its Monte Carlo."""

    exact: float  # probability of success
    cap: float  # 1 - (1 - e)^m, which success cannot pass
    zero: float  # Pr[F_lin(D1) = F_exp(D0) = F_lin(D0) = 0] = q^m
    q: float
    r: float
    fire: float  # e = Pr[one neuron of F_exp(D1) fires]
    exceed_lin1: float  # Pr[one neuron of F_lin(D1) fires], and of the two others below
    exceed_exp0: float
    exceed_lin0: float
    margin: float  # smallest |score - tau| in units of sqrt(log n)
    best_width: int | None
    outside_definition: str  # the conditions of Definition 6.1 that are not met


def run_attention(config: AttentionPoint) -> AttentionResult:
    """The law and the trials of one point."""
    problem, network = config.problem(), config.network()
    law = theory.neuron_law(problem, network)
    found = sample(problem, network, config.trials, seed_of(config))
    return AttentionResult(
        exact=theory.success_from(law, config.m, config.shared_signs),
        cap=theory.cap(law, config.m),
        zero=law.q**config.m,
        q=law.q,
        r=law.r,
        fire=law.fire,
        exceed_lin1=law.exceed[0],
        exceed_exp0=law.exceed[1],
        exceed_lin0=law.exceed[2],
        margin=law.margin,
        best_width=theory.best_width(law).integer,
        outside_definition="; ".join(problem.departures()),
        **asdict(found),
    )


def needs_of_attention(config: AttentionPoint) -> Needs:
    """The states of the law, and then one trial with what all trials share."""
    trial = sum(trial_memory(config.d, config.m, config.shared_signs)) if config.trials else 0
    return Needs(host_bytes=max(law_memory(config.d), trial), reduce="d or m")


attention = CellKind(
    "separation_attention",
    AttentionPoint,
    AttentionResult,
    run_attention,
    version=2,
    needs=needs_of_attention,
)
