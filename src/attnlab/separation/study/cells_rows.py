"""How success changes where the spike rows of D0 and D1 are drawn independently."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from attnlab.lab.cell import CellKind
from attnlab.lab.needs import Needs
from attnlab.separation import theory
from attnlab.separation.study.cells_attention import AttentionPoint, outside_definition_allowed
from attnlab.separation.theory.attention_law import law_memory


@dataclass(frozen=True)
class SpikeRows:
    """Success with one spike row for both datasets, and with two rows drawn independently."""

    n: int = 200
    """Length of the sequence, a multiple of d - 2."""
    d: int = 22
    """Dimension of a token, at least 4."""
    m: int = 15
    """Number of random neurons."""
    x: Literal["identity", "ones"] = "identity"
    """X = Q K^T: the identity or all ones."""
    a0: float = 0.01
    """Spike on D0, in units of sqrt(log n)."""


@dataclass(frozen=True)
class SpikeRowsResult:
    """The two probabilities of success."""

    shared_row: float
    drawn_rows: float


def run_spike_rows(config: SpikeRows) -> SpikeRowsResult:
    """The exact law both ways."""
    point = AttentionPoint(config.n, config.d, config.m, config.x, a0=config.a0)
    pair, network = point.problem(), point.network()
    with outside_definition_allowed():
        drawn = theory.success_with_drawn_rows(pair, network).value
    return SpikeRowsResult(theory.success(pair, network).value, drawn)


def needs_of_rows(config: SpikeRows) -> Needs:
    """The states of the exact law."""
    return Needs(law_memory(config.d), reduce="d")


spike_rows = CellKind(
    "separation_spike_rows", SpikeRows, SpikeRowsResult, run_spike_rows, needs=needs_of_rows
)
