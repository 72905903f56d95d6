"""The exact law at every width at once, and where Theorem 6.2 holds: what the explorers ask for.

The law of one neuron does not depend on the width, so that one law serves all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from attnlab import arguments
from attnlab.lab.cell import CellKind, Outcome
from attnlab.lab.needs import ROW, Needs
from attnlab.separation import theory
from attnlab.separation.study.cells_attention import AttentionPoint
from attnlab.separation.theory.attention_law import law_memory


@dataclass(frozen=True)
class Widths:
    """The exact probability of success at widths from 1 on, at one set of parameters."""

    n: int = 200
    """Length of the sequence; the multiple of d - 2 next to it is taken."""
    d: int = 22
    """Dimension of a token, at least 4."""
    x: Literal["identity", "ones"] = "identity"
    """X = Q K^T: the identity, or all ones as in Theorem 6.2."""
    model: Literal["self", "cross"] = "self"
    """Self-attention (Definition 6.1), or cross-attention on datasets of our own."""
    a0: float = 0.01
    """Spike on D0, in units of sqrt(log n)."""
    a1: float = 1.2
    """Spike on D1, in units of sqrt(log n)."""
    c: float = 0.8
    """Entry of the last column, in units of sqrt(log n); b = 1 - c."""
    offset: float = 0.1
    """The threshold is tau = (c + offset) sqrt(log n)."""
    delta: float = 0.01
    """Theorem 6.2 promises a failure of at most delta / n."""
    widest: int = 100
    """Largest width."""
    step: int = 1
    """Distance between two widths."""


@dataclass(frozen=True)
class WidthRow:
    """One width m: success, its two factors, and whether the theorem's promise is kept there."""

    m: int
    tokens: int  # the multiple of d - 2 that was taken for n
    success: float
    fires: float  # 1 - (1 - e)^m, which success cannot pass
    quiet: float  # Pr[F_lin(D1) = F_exp(D0) = F_lin(D0) = 0]
    failure: float
    holds: bool  # failure <= delta / n


def run_widths(config: Widths) -> Outcome[WidthRow]:
    """One law, read at every width."""
    arguments.integer("widest", config.widest, 1)
    arguments.integer("step", config.step, 1)
    classes = arguments.integer("d", config.d, 4) - 2
    n = max(round(arguments.integer("n", config.n, 2) / classes), 1) * classes
    point = AttentionPoint(
        n=n,
        d=config.d,
        x=config.x,
        model=config.model,
        a0=config.a0,
        a1=config.a1,
        b=round(1 - config.c, 9),
        c=config.c,
        offset=config.offset,
    )
    law = theory.neuron_law(point.problem(), point.network())
    goal = arguments.open_fraction("delta", config.delta) / n
    rows = []
    for m in range(1, config.widest + 1, config.step):
        failure = theory.failure_from(law, m)
        success = theory.success_from(law, m)
        rows.append(WidthRow(m, n, success, theory.cap(law, m), law.q**m, failure, failure <= goal))
    return Outcome(rows)


def needs_of_widths(config: Widths) -> Needs:
    """The rows, and the states of the law."""
    rows = config.widest // max(config.step, 1) + 1
    return Needs(ROW * rows + law_memory(config.d), reduce="widest or d")


widths = CellKind("separation_widths", Widths, WidthRow, run_widths, needs=needs_of_widths)
