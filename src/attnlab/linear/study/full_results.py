"""Rows about FULL networks, as claims and figures use them.

A network counts only where its loss can be trusted: one whose standard error is more than a few
per cent of its mean has a heavy tail, one that overflows on a sequence has diverged. The best of
the starts is chosen on other sequences than it is evaluated on (`results.rows_of`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from attnlab.lab.judgement import Grade
from attnlab.lab.study import View
from attnlab.linear.study import grids_full, results
from attnlab.linear.study.questions_full import FullLossRow, StructureRow
from attnlab.linear.study.table_1 import PAPER, rounding
from attnlab.stats import Estimate, normal_threshold

HEAVY = 0.05  # a standard error above this share of the mean is that of a heavy tail
ALLOWED = 0.25  # the margin of a cell of Table 1 never exceeds this share of the paper's value
CELLS = 70  # of Table 1: ten noise laws and seven depths
PAPER_STEPS = 200_000
NULL_DRAWS, NULL_QUANTILE = 4000, 0.99

State = Literal["reached", "above", "heavy tail", "diverged"]


@dataclass(frozen=True)
class FullCell:
    """One cell of Table 1: the best of the starts, and the paper's FULL."""

    law: str
    depth: int
    row: FullLossRow
    ours: Estimate
    paper: float
    lawful: float  # the loss of the one-layer law, below which no value is possible
    margin: float

    @property
    def target(self) -> float:
        """The paper's value, or the law's where the paper is below it."""
        return max(self.paper, self.lawful)

    @property
    def state(self) -> State:
        """Whether our network reaches the paper's value, and whether its loss can be trusted."""
        if not math.isfinite(self.ours.value):
            return "diverged"
        if heavy(self.ours):
            return "heavy tail"
        return "reached" if self.ours.value <= self.target + self.margin else "above"


def heavy(loss: Estimate) -> bool:
    """Whether a few sequences carry the loss."""
    return not loss.standard_error <= HEAVY * abs(loss.value)


def best_rows(view: View, law: str) -> dict[int, FullLossRow]:
    """The row of the whole network on its noise law, by depth, for the best of the starts."""
    return {
        row.layers: row
        for row in results.rows_of(view, "FULL", law)
        if row.sigma is None and row.read == row.layers
    }


def trusted(view: View, law: str) -> dict[int, Estimate]:
    """The losses of the best networks by depth, without heavy tails and diverged ones."""
    found = {depth: results.loss_of(row) for depth, row in best_rows(view, law).items()}
    return {
        depth: loss
        for depth, loss in found.items()
        if math.isfinite(loss.value) and not heavy(loss)
    }


def table(view: View, laws: Iterable[str]) -> list[FullCell]:
    """The cells of Table 1 that this scale has."""
    found = []
    for law in laws:
        for depth, row in best_rows(view, law).items():
            paper = PAPER.get(("FULL", depth, law))
            if paper is None:
                continue
            ours = results.loss_of(row)
            single = results.ridge(view, "one layer", law).value if depth == 1 else 0.0
            error = ours.standard_error if math.isfinite(ours.standard_error) else 0.0
            both = math.hypot(results.error_of_paper(view, law, ours), error)
            target = max(paper, single)
            margin = min(normal_threshold(CELLS) * both, ALLOWED * target) + rounding(paper)
            found.append(FullCell(law, depth, row, ours, paper, single, margin))
    return found


def setting(rows: Iterable[Any]) -> dict[str, Any]:
    """The grade of evidence from networks, and what differs from the paper's training."""
    steps = min((row.steps_trained for row in rows), default=0)
    grade: Grade = "paper's setting" if steps >= PAPER_STEPS else "smaller setting"
    differs = "" if steps >= PAPER_STEPS else f"{steps:,} of {PAPER_STEPS:,} steps, clipped"
    return {"grade": grade, "differs": differs}


def structure(view: View, law: str, layers: int) -> list[StructureRow]:
    """The structure of the shipped networks of a law and depth that did not diverge."""
    return [
        row
        for cell in grids_full.structures()
        if cell.config.noise == law
        for row in view.rows(cell)
        if row.layers == layers and not row.diverged
    ]


def median_over(rows: Iterable[StructureRow], matrix: str, column: str) -> dict[int, float]:
    """The median over the layers of a column, by start."""
    gathered: dict[int, list[float]] = {}
    for row in rows:
        if row.matrix == matrix:
            gathered.setdefault(row.start, []).append(getattr(row, column))
    return {start: float(np.median(values)) for start, values in gathered.items()}


@lru_cache(maxsize=4)
def rank_two_by_chance(side: int = 11) -> tuple[float, float]:
    """Mean and 99% quantile of `rank_two` for a matrix of independent normal entries."""
    drawn = np.random.default_rng(0).standard_normal((NULL_DRAWS, side, side))
    drawn[:, np.arange(side), np.arange(side)] = 0
    squares = np.square(np.linalg.svd(drawn, compute_uv=False))
    share = squares[:, :2].sum(1) / squares.sum(1)
    return float(share.mean()), float(np.quantile(share, NULL_QUANTILE))


def read_profile(
    rows: Iterable[FullLossRow], layers: int, low: float, high: float
) -> dict[int, Estimate]:
    """The mean loss over the levels from `low` to `high`, by the layer that is read."""
    gathered: dict[int, list[Estimate]] = {}
    for row in rows:
        if row.layers == layers and row.sigma is not None and low <= row.sigma <= high:
            gathered.setdefault(row.read, []).append(results.loss_of(row))
    return {
        read: Estimate(
            float(np.mean([loss.value for loss in losses])),
            # The levels share their sequences, so that their errors add up.
            float(np.mean([loss.standard_error for loss in losses])),
            losses[0].samples,
        )
        for read, losses in gathered.items()
    }
