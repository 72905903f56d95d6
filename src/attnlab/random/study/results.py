"""Stored runs as estimates: means over runs, log ratios within a run, and the laws beside them.

All tolerances of the study come from `attnlab.stats`: with few runs a mean has a Student law, not a
normal one, and several comparisons share a level by Bonferroni.
"""

from __future__ import annotations

import contextlib
import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from attnlab.lab.cell import Cell
from attnlab.lab.study import Missing, View
from attnlab.stats import Estimate, student_threshold

T = TypeVar("T")
LEAST = 1e-3  # below which the end of an error bar is not drawn on a logarithmic axis


class Place(NamedTuple):
    """Where a model was fitted."""

    model: str
    n: int
    width: int | None
    ridge: float


def place_of(row: Any) -> Place:
    """The place of a stored row, of a run or of a law."""
    return Place(row.model, row.n, row.width, row.ridge)


def by_place(view: View, cells: Sequence[Cell]) -> dict[Place, list[Any]]:
    """The rows of every run, one list for each fit, in the order of the panel."""
    found: dict[Place, list[Any]] = {}
    for cell in cells:
        for row in view.rows(cell):
            found.setdefault(place_of(row), []).append(row)
    return found


def stored(sizes: Iterable[int], read: Callable[[int], T]) -> dict[int, T]:
    """What `read` finds at each dimension, without those whose cells were not computed."""
    found = {}
    for d in sizes:
        with contextlib.suppress(Missing):
            found[d] = read(d)
    return found


def laws(view: View, cell: Cell, which: str) -> dict[Place, Any]:
    """The limit's or the refinement's rows."""
    return {place_of(row): row for row in view.rows(cell) if row.law == which}


def mean(rows: Sequence[Any], name: str = "icl") -> Estimate:
    """The mean over runs of one column, where it is finite."""
    return Estimate.of(getattr(row, name) for row in rows if getattr(row, name) is not None)


def log_ratio(rows: Sequence[Any], others: Sequence[Any], name: str = "icl") -> Estimate:
    """Mean of log(row / other) over runs: both were fitted to the same draw."""
    return Estimate.of(
        math.log(getattr(row, name) / getattr(other, name))
        for row, other in zip(rows, others, strict=True)
    )


def freedom(points: Sequence[Estimate]) -> int:
    """Degrees of freedom behind the standard errors of all points together."""
    return sum((point.samples or 1) - 1 for point in points)


def pooled(points: Sequence[Estimate], comparisons: int | None = None) -> tuple[float, float]:
    """One standard error for all points, and how many of it they may be off.

    A few runs say little about the spread at one point; log ratios have about the same spread at
    all of them, and together they have (runs - 1) x points degrees of freedom. The points are all
    that a claim compares, unless the number of its comparisons is given.
    """
    error = math.sqrt(statistics.fmean(point.standard_error**2 for point in points))
    return error, student_threshold(freedom(points), comparisons or len(points))


def diagnosed(rows: Sequence[Any]) -> bool:
    """Whether a fit was ill-conditioned in some run: its mean has no finite variance then."""
    return any(row.diagnosis for row in rows)


def shown(rows: Sequence[Any], name: str = "icl") -> tuple[float, float, float]:
    """Middle, low and high: mean and standard error, or median and quantiles where diagnosed."""
    if diagnosed(rows):
        values = [getattr(row, name) for row in rows if getattr(row, name) is not None]
        low, middle, high = np.quantile(values, (0.1, 0.5, 0.9)).tolist()
        return middle, low, high
    found = mean(rows, name)
    low, high = found.value - found.standard_error, found.value + found.standard_error
    return found.value, max(low, LEAST), high


def table(view: View, cell: Cell, name: str, model: str | None = None) -> list[Any]:
    """The numbers of one table of the laws."""
    return [row for row in view.rows(cell) if row.table == name and model in (None, row.model)]


def pairs(
    found: dict[Place, list[Any]], first: str, second: str
) -> list[tuple[Place, list[Any], list[Any]]]:
    """The fits of two models at the same n, width and ridge; linear attention has no width."""
    matched = []
    for place, rows in found.items():
        if place.model == first:
            others = [
                several
                for other, several in found.items()
                if (other.model, other.n, other.ridge) == (second, place.n, place.ridge)
                and (other.width == place.width or None in (other.width, place.width))
            ]
            matched.append((place, rows, others[0]))
    return matched
