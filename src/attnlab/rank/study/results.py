"""Numbers from stored cells that several claims and figures need: seeds, tolerances, slopes."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scipy import stats

from attnlab.lab.cell import Cell
from attnlab.lab.study import Judgement, Scale, View
from attnlab.rank.study import grids

LEVEL = 1e-5
FACTOR = 2.0
LINE = f"a factor of {FACTOR:g} between the worst of one side and the best of the other, our line"


def threshold(comparisons: int) -> float:
    """Standard errors that none of so many true comparisons leaves, at familywise level 1e-5."""
    return float(stats.norm.isf(LEVEL / (2 * max(comparisons, 1))))


@dataclass(frozen=True)
class Seeds:
    """The held-out errors of one configuration over its seeds; `lost` members have none."""

    tests: tuple[float, ...]
    errors: tuple[float, ...]
    lost: int

    @property
    def mean(self) -> float:
        return statistics.fmean(self.tests) if self.tests else math.inf

    @property
    def spread(self) -> float:
        return statistics.stdev(self.tests) if len(self.tests) > 1 else 0.0

    @property
    def best(self) -> float:
        return min(self.tests, default=math.inf)

    @property
    def worst(self) -> float:
        return math.inf if self.lost else max(self.tests, default=math.inf)


def seeds(view: View, cell: Cell) -> Seeds:
    rows = view.rows(cell)
    kept = [row for row in rows if row.test is not None]
    return Seeds(
        tuple(row.test for row in kept),
        tuple(row.test_error for row in kept),
        len(rows) - len(kept),
    )


def weights(view: View, cell: Cell) -> int:
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


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Least squares of log y against log x."""
    return _line([math.log(value) for value in x], [math.log(value) for value in y])


def line(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Least-squares slope of y against x, and the largest residual."""
    found = _line(x, y)
    a = statistics.fmean(y) - found * statistics.fmean(x)
    return found, max(abs(b - a - found * t) for t, b in zip(x, y, strict=True))


def _line(x: Sequence[float], y: Sequence[float]) -> float:
    return float(statistics.linear_regression(x, y).slope)


def beyond_scale(view: View, needs: Sequence[Scale], why: str) -> Judgement | None:
    """The judgement where the scale cannot decide, or None where it can."""
    if view.scale in needs:
        return None
    view.rows(grids.fresh(view.scale, view.seed))  # where nothing was run, that is said first
    return Judgement(
        "undecided at this scale",
        f"not trained at {view.scale}",
        "",
        "",
        f"{why}; run 'attnlab reproduce rank --scale {needs[0]}'.",
    )


def told(values: Any, digits: int = 3) -> str:
    return ", ".join(f"{value:.{digits}f}" for value in values)
