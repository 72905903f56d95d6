"""The points of a figure: a transformer over its equivalent model of each degree that is fitted.

Beside every log ratio stands what finite size predicts for it, where the refinement was computed
for that degree. What makes two errors match is decided in `claims_equivalence`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from attnlab.lab.cell import Cell
from attnlab.lab.study import View
from attnlab.random.study import grids, results
from attnlab.random.study.comparisons import is_near
from attnlab.random.study.panels import ACTIVATIONS, DEGREES, LENGTHS, PanelName
from attnlab.stats import Estimate


class Point(NamedTuple):
    """log(transformer / equivalent) at one point of a figure, and what finite size predicts."""

    at: str
    ratio: Estimate
    predicted: float | None

    @property
    def size(self) -> float:
        """|log ratio|."""
        return abs(self.ratio.value)

    @property
    def left(self) -> Estimate:
        """The log ratio less its prediction."""
        value = self.ratio.value - (self.predicted or 0.0)
        return Estimate(value, self.ratio.standard_error, self.ratio.samples)


class Pair(NamedTuple):
    """A transformer and its equivalent of one degree: the points of a figure away from the peak and
    next to it, and where a fit is ill-conditioned."""

    activation: str
    degree: int
    away: list[Point]
    near: list[Point]
    ill_conditioned: list[str]

    @property
    def largest(self) -> float:
        """The largest |log ratio| away from the peak."""
        return max((point.size for point in self.away), default=math.nan)


def left_out(pairs: Sequence[Pair]) -> str:
    """The fits that are ill-conditioned, and where."""
    every = [at for pair in pairs for at in pair.ill_conditioned]
    where = f" ({', '.join(dict.fromkeys(every))})" if every else ""
    return f"left out: {len(every)} ill-conditioned{where}"


class _Panel(NamedTuple):
    """The fits and the refinement of one panel, at one context length."""

    length: float  # l/d
    fits: dict[results.Place, list[Any]]
    refined: Mapping[results.Place, Any]

    @property
    def models(self) -> set[str]:
        """The models that are fitted there."""
        return {place.model for place in self.fits}


def pairs_of(view: View, figure: str, shortest: float = 0.0) -> list[Pair]:
    """Every activation of a figure with every degree whose models are fitted there.

    Parameters
    ----------
    view
        The stored results.
    figure
        "1a", "1b", "2a", "2b" or "2c".
    shortest
        l/d below which points are left out; all figures but 2(a) have l = d.
    """
    panels = [
        _Panel(length, results.by_place(view, runs), results.laws(view, law, "refined"))
        for length, runs, law in _cells(view, figure)
        if length >= shortest
    ]
    found = []
    for activation, degree in itertools.product(ACTIVATIONS, DEGREES):
        having = [panel for panel in panels if f"{activation} r={degree}" in panel.models]
        if having:
            found.append(_pair(view, figure, having, activation, degree))
    return found


def _pair(view: View, figure: str, panels: list[_Panel], activation: str, degree: int) -> Pair:
    model = f"{activation} r={degree}"
    away: list[Point] = []
    near: list[Point] = []
    ill_conditioned: list[str] = []
    for panel in panels:
        for place, rows, others in results.pairs(panel.fits, activation, model):
            at = _where(view, figure, place, panel.length)
            if results.diagnosed(rows) or results.diagnosed(others):
                ill_conditioned.append(at)
                continue
            point = Point(at, results.log_ratio(rows, others), _gap(panel.refined, place, model))
            (near if is_near((place.width or 0) / place.n) else away).append(point)
    return Pair(activation, degree, away, near, ill_conditioned)


def _gap(
    refined: Mapping[results.Place, Any], place: results.Place, equivalent: str
) -> float | None:
    """The log ratio that the refinement predicts."""
    other = place._replace(model=equivalent)
    return math.log(refined[place].icl / refined[other].icl) if other in refined else None


def _where(view: View, figure: str, place: results.Place, length: float) -> str:
    """What a figure varies, at one of its points."""
    if figure in ("1a", "1b"):
        d = grids.size(view.scale).d
        return f"n = {place.n / (d * (d + 1)):.2g} d²"
    if figure == "2a":
        return f"l = {length:g} d"
    width = f"m = {(place.width or 0) / place.n:.2g} n"
    return width if figure == "2b" else f"{width}, λ = {place.ridge:g}"


def _cells(view: View, figure: str) -> list[tuple[float, list[Cell], Cell]]:
    """l/d, the runs and the laws of each panel of a figure."""
    at = (view.scale, view.seed)
    if figure in ("1a", "1b"):
        target = "relu" if figure == "1a" else "tanh"
        runs = grids.panel_runs("n", *at, target=target)
        return [(1.0, runs, grids.panel_laws("n", *at, target=target))]
    if figure == "2a":
        return [
            (
                alpha,
                grids.panel_runs("length", *at, alpha=alpha),
                grids.length_laws(*at, alpha),
            )
            for alpha in LENGTHS
        ]
    panels: tuple[PanelName, ...] = ("width",) if figure == "2b" else ("ridge", "ridge-degree-4")
    return [(1.0, grids.panel_runs(each, *at), grids.panel_laws(each, *at)) for each in panels]
