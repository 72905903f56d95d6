"""Numbers from stored cells that several claims and figures need: errors over seeds, texts."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from attnlab.lab.cell import Cell
from attnlab.lab.study import Judgement, Scale, View
from attnlab.rank.study import grids

FACTOR = 2.0
LINE = (
    f"a factor of {FACTOR:g} between the worst seed of one side and the best of the other, "
    "our choice"
)


@dataclass(frozen=True)
class HeldOut:
    """The held-out errors of one configuration over its seeds, with their standard errors.

    A member that diverged has neither; `diverged` counts them. They are worse than any other
    member and never the best.
    """

    errors: tuple[float, ...]
    standard_errors: tuple[float, ...]
    diverged: int

    @property
    def mean(self) -> float:
        """Over the seeds that did not diverge."""
        return statistics.fmean(self.errors) if self.errors else math.inf

    @property
    def deviation(self) -> float:
        """The standard deviation over seeds."""
        return statistics.stdev(self.errors) if len(self.errors) > 1 else 0.0

    @property
    def best(self) -> float:
        """The least error."""
        return min(self.errors, default=math.inf)

    @property
    def worst(self) -> float:
        """The largest error; infinite where a member diverged."""
        return math.inf if self.diverged else max(self.errors, default=math.inf)


def held_out(view: View, cell: Cell) -> HeldOut:
    """The held-out errors of a cell with training."""
    rows = view.rows(cell)
    kept = [row for row in rows if row.test is not None]
    return HeldOut(
        tuple(row.test for row in kept),
        tuple(row.test_error for row in kept),
        len(rows) - len(kept),
    )


def weights(view: View, cell: Cell) -> int:
    """Numbers in one model of a cell with training."""
    return view.rows(cell)[0].weights


def sides(view: View, layers: int) -> tuple[list[Cell], list[Cell]]:
    """Low-rank and full-rank cells of Figure 1 at one depth, all widths."""
    d = grids.PANELS[view.scale].base.d
    every = [
        cell
        for width in grids.widths(d)
        for cell in grids.figure_1(view.scale, layers, width, view.seed)
    ]
    low = [cell for cell in every if cell.config.rank < d]
    return low, [cell for cell in every if cell.config.rank == d]


def beyond_scale(view: View, needs: Sequence[Scale], why: str) -> Judgement | None:
    """The judgement where the scale cannot decide, or None where it can."""
    if view.scale in needs:
        return None
    view.rows(grids.fresh(view.scale, view.seed))  # where nothing was run, that comes first
    return Judgement(
        "undecided at this scale",
        f"not trained at {view.scale}",
        "",
        "",
        f"{why}; run 'attnlab reproduce rank --scale {needs[0]}'.",
    )


def listed(values: Iterable[float], digits: int = 3) -> str:
    """Numbers with so many decimals, separated by commas."""
    return ", ".join(f"{value:.{digits}f}" for value in values)
