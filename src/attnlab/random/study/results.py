"""Stored runs as numbers with errors: means, log ratios within a run, and fits against 1/d.

All tolerances of the study come from here. With few runs a mean has a Student law, not a normal
one, and several comparisons share a level by Bonferroni.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from attnlab.lab.cell import Cell
from attnlab.lab.study import View

LEVEL = 1e-4  # probability that a true statement is refused, each claim


class Key(NamedTuple):
    """Where a model was fitted."""

    model: str
    n: int
    width: int | None
    ridge: float


@dataclass(frozen=True)
class Mean:
    """A mean over runs, its standard error and the number of runs."""

    value: float
    error: float
    runs: int


def key_of(row: Any) -> Key:
    return Key(row.model, row.n, row.width, row.ridge)


def by_key(view: View, cells: Sequence[Cell]) -> dict[Key, list[Any]]:
    """The rows of every run, one list a fit, in the order of the panel."""
    found: dict[Key, list[Any]] = {}
    for cell in cells:
        for row in view.rows(cell):
            found.setdefault(key_of(row), []).append(row)
    return found


def laws(view: View, cell: Cell, which: str) -> dict[Key, Any]:
    """The limit's or the refinement's rows."""
    return {key_of(row): row for row in view.rows(cell) if row.law == which}


def mean_of(values: Iterable[float]) -> Mean:
    kept = list(values)
    spread = statistics.stdev(kept) / math.sqrt(len(kept)) if len(kept) > 1 else math.inf
    return Mean(statistics.fmean(kept), spread, len(kept))


def mean(rows: Sequence[Any], name: str = "icl") -> Mean:
    return mean_of(getattr(row, name) for row in rows if getattr(row, name) is not None)


def log_ratio(rows: Sequence[Any], others: Sequence[Any], name: str = "icl") -> Mean:
    """Mean of log(row / other) over runs: both were fitted to the same draw."""
    return mean_of(
        math.log(getattr(row, name) / getattr(other, name))
        for row, other in zip(rows, others, strict=True)
    )


def student(freedom: int, comparisons: int = 1, level: float = LEVEL) -> float:
    """Standard errors that a mean may be off, two-sided, the level shared by Bonferroni.

    `freedom` is the number of degrees of freedom behind the standard error: runs less one.
    """
    from scipy.special import stdtrit

    return float(stdtrit(max(freedom, 1), 1 - level / (2 * comparisons)))


def pooled(points: Sequence[Mean]) -> tuple[float, float]:
    """One standard error for all points, and how many of it they may be off.

    A few runs say little about the spread at one point; log ratios have about the same spread at
    all of them, and together they have (runs - 1) x points degrees of freedom.
    """
    error = math.sqrt(statistics.fmean(point.error**2 for point in points))
    freedom = sum(point.runs - 1 for point in points)
    return error, student(freedom, len(points))


def diagnosed(rows: Sequence[Any]) -> bool:
    """Whether a fit was ill-conditioned in some run: its mean has no finite spread then."""
    return any(row.diagnosis for row in rows)


def shown(rows: Sequence[Any], name: str = "icl") -> tuple[float, float, float]:
    """Middle, low and high: mean and standard error, or median and quantiles where diagnosed."""
    values = sorted(getattr(row, name) for row in rows if getattr(row, name) is not None)
    if diagnosed(rows):
        low, high = (values[round(q * (len(values) - 1))] for q in (0.1, 0.9))
        return statistics.median(values), low, high
    found = mean_of(values)
    return found.value, max(found.value - found.error, 1e-3), found.value + found.error


class Fit(NamedTuple):
    """a + b/d: a and its error, b, chi squared of what is left, and the degrees of freedom."""

    limit: float
    error: float
    slope: float
    misfit: float
    freedom: int
    runs: int  # degrees of freedom behind the errors


def in_inverse(dimensions: Sequence[int], points: Sequence[Mean]) -> Fit:
    """Weighted least squares of a + b/d."""
    x = [1 / d for d in dimensions]
    w = [1 / max(point.error, 1e-12) ** 2 for point in points]
    total = sum(w)
    centre = sum(a * b for a, b in zip(w, x, strict=True)) / total
    middle = sum(a * p.value for a, p in zip(w, points, strict=True)) / total
    square = sum(a * (b - centre) ** 2 for a, b in zip(w, x, strict=True))
    slope = sum(a * (b - centre) * p.value for a, b, p in zip(w, x, points, strict=True)) / square
    left = [
        (p.value - middle - slope * (b - centre)) ** 2 * a
        for a, b, p in zip(w, x, points, strict=True)
    ]
    limit = middle - slope * centre
    error = math.sqrt(1 / total + centre**2 / square)
    runs = sum(point.runs - 1 for point in points)
    return Fit(limit, error, slope, sum(left), len(points) - 2, runs)


def chi_square_tail(value: float, freedom: int) -> float:
    from scipy.special import chdtrc

    return float(chdtrc(freedom, value))


def table(view: View, cell: Cell, name: str, model: str | None = None) -> list[Any]:
    """The numbers of one table of the laws."""
    return [row for row in view.rows(cell) if row.table == name and model in (None, row.model)]


def pairs(
    found: dict[Key, list[Any]], first: str, second: str
) -> list[tuple[Key, list[Any], list[Any]]]:
    """The fits of two models at the same n, width and ridge; linear attention has no width."""
    matched = []
    for key, rows in found.items():
        if key.model == first:
            others = [
                several
                for other, several in found.items()
                if (other.model, other.n, other.ridge) == (second, key.n, key.ridge)
                and (other.width == key.width or None in (other.width, key.width))
            ]
            matched.append((key, rows, others[0]))
    return matched
