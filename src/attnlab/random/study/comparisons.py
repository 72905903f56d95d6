"""Two models at the same points: in the limit by the laws' tables, at finite d by simulation.

Points near n = d² are left out: linear attention has its peak at n = d (d + 1), a transformer of
width d² at n = d², and at finite d that difference alone would decide which model is worse.
"""

from __future__ import annotations

import math
import statistics
from typing import Any

from attnlab.lab.study import View
from attnlab.random.study import grids, results
from attnlab.random.study.panels import PSIS, TargetName
from attnlab.stats import LEVEL, Estimate

NEAR = (0.8, 1.3)  # n / (d (d + 1)) where the peaks are


def law_table(view: View, name: str) -> dict[tuple[str, float], Any]:
    """The law's numbers by model and place."""
    return {(row.model, row.at): row for row in results.table(view, grids.law_numbers(), name)}


def law_ratios(view: View, name: str, first: str, second: str) -> dict[float, float]:
    """log(first / second) in the limit, by place."""
    rows = law_table(view, name)
    return {
        at: math.log(row.value / rows[second, at].value)
        for (model, at), row in rows.items()
        if model == first
    }


def against_samples(
    view: View, target: TargetName, first: str, second: str
) -> dict[float, Estimate]:
    """log(first / second) in simulation by n/d², away from the peaks."""
    found = results.by_place(view, grids.panel_runs("n", view.scale, view.seed, target=target))
    d = grids.size(view.scale).d
    ratios = {}
    for place, rows, others in results.pairs(found, first, second):
        tau = round(place.n / (d * (d + 1)), 2)
        if not NEAR[0] < tau < NEAR[1]:
            ratios[tau] = results.log_ratio(rows, others)
    return ratios


def contrary(points: dict[float, Estimate], beyond: float = 0.0) -> tuple[list[float], str]:
    """Where log(first / second) exceeds `beyond` and what chance allows, and the tolerance."""
    error, allowed = results.pooled(list(points.values()))
    worse = [at for at, point in points.items() if point.value > beyond + allowed * error]
    return worse, (
        f"{len(points)} points, {allowed:.1f} standard errors of {error:.3f} (Student, familywise "
        f"level {LEVEL:g})"
    )


def overall(points: dict[float, Estimate]) -> float:
    """The mean of the points."""
    return statistics.fmean(point.value for point in points.values())


def by_width(view: View, model: str) -> dict[float, list[Any]]:
    """The runs of one model of Figure 2(b) by m/n."""
    found = results.by_place(view, grids.panel_runs("width", view.scale, view.seed))
    rows = [rows for place, rows in found.items() if place.model == model]
    return dict(zip(PSIS, rows, strict=True))
