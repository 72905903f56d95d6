"""Stored losses as claims and figures ask for them: by model, law and depth, with standard errors.

Of several runs the best is taken, as in Table 1; it is chosen by the loss on sequences that no
evaluation sees, so the loss that is shown carries no bias of choice. A loss that overflowed is
infinite here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from attnlab.lab.cell import Cell
from attnlab.lab.study import View
from attnlab.linear.study import grids
from attnlab.linear.study.table_1 import LAWS, paper_error

EXPLODED = 1e100
LEVEL = 1e-4  # probability that a true statement is refused, each claim


class Loss(NamedTuple):
    """A mean loss, its standard error, and how many sequences are behind it."""

    value: float
    error: float
    samples: int

    @property
    def square(self) -> float:
        """The mean square of a sequence's loss."""
        return self.error**2 * self.samples + self.value**2


def normal(comparisons: int = 1, level: float = LEVEL) -> float:
    """Standard errors that a mean may be off, two-sided, the level shared by Bonferroni."""
    from scipy.special import ndtri

    return float(-ndtri(level / (2 * max(comparisons, 1))))


def loss_of(row: Any) -> Loss:
    """The loss of a row; one that a sequence has blown up beyond any comparison is infinite."""
    if row.loss is None or row.loss > EXPLODED:
        return Loss(math.inf, math.inf, row.samples)
    return Loss(row.loss, row.error, row.samples)


def cells_of(model: str, law: str, view: View) -> list[Cell]:
    """The cells of a model on a law, one a run; for FULL the best of the shipped runs."""
    if model == "FULL":
        return grids.shipped(law, view.scale, view.seed)
    return grids.trained(model, law, view.scale, view.seed)


def rows_of(view: View, model: str, law: str) -> list[Any]:
    """All rows of the best run at every depth."""
    chosen: dict[int, tuple[float, list[Any]]] = {}
    for cell in cells_of(model, law, view):
        by_depth: dict[int, list[Any]] = {}
        for row in view.rows(cell):
            by_depth.setdefault(row.layers, []).append(row)
        for layers, rows in by_depth.items():
            told = getattr(rows[0], "selection", 0.0)
            worth = math.inf if told is None else told
            if layers not in chosen or worth < chosen[layers][0]:
                chosen[layers] = worth, rows
    return [row for layers in sorted(chosen) for row in chosen[layers][1]]


def by_depth(view: View, model: str, law: str) -> dict[int, Loss]:
    """The loss over the law by depth, for as many depths as this scale has."""
    rows = rows_of(view, model, law)
    return {r.layers: loss_of(r) for r in rows if r.sigma is None and r.read == r.layers}


def profile(view: View, model: str, law: str, layers: int) -> dict[float, Loss]:
    """The loss by noise level of a model of this depth; empty where there is none."""
    return {
        row.sigma: loss_of(row)
        for row in rows_of(view, model, law)
        if row.sigma is not None and row.layers == layers == row.read
    }


def ridge(view: View, name: str, law: str) -> Loss:
    """The loss of a predictor without layers, or an exact law's value."""
    return _ridge_rows(view, name, law)[None]


def ridge_profile(view: View, name: str, law: str) -> dict[float, Loss]:
    rows = _ridge_rows(view, name, law)
    return {sigma: loss for sigma, loss in rows.items() if sigma is not None}


def _ridge_rows(view: View, name: str, law: str) -> dict[float | None, Loss]:
    rows = view.rows(grids.ridges(law, view.scale, view.seed))
    return {row.sigma: loss_of(row) for row in rows if row.model == name}


def laws_with(view: View, model: str, laws: Iterable[str] = LAWS) -> list[str]:
    """The laws on which this scale has the model."""
    return [law for law in laws if cells_of(model, law, view)]


def error_of_paper(view: View, law: str, loss: Loss) -> float:
    """The standard error of the paper's evaluation of a model with this loss."""
    if not math.isfinite(loss.value):
        return 0.0
    return paper_error(loss.value, loss.square, ridge(view, "oracle (unadjusted)", law).value)


def difference(first: Loss, second: Loss) -> tuple[float, float]:
    """first - second and its standard error; both saw the same sequences, so it is an upper one."""
    return first.value - second.value, math.hypot(first.error, second.error)


def listed(items: Sequence[str], none: str = "none", most: int = 8) -> str:
    """A few words for a list, cut where it is long."""
    if not items:
        return none
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(items[:most]) + more
