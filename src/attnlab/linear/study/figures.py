"""Figures 1, 3 (left) and 5: loss against layers.

Source: Vladymyrov et al. (arXiv 2402.14180). BAYES is added to every figure, and bands show the
range of the runs. AXIS networks, which are ours, ship with the package. A drawing function uses
only the table of its figure, and imports Altair when it is called. Profiles over sigma are in
`figures_profiles`, Table 1 is in `figures_table`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import median_high
from typing import TYPE_CHECKING, Any

from attnlab.drawing.chart_data import chart_data
from attnlab.lab.study import Figure, View
from attnlab.linear.study import grids, results
from attnlab.linear.study.table_1 import (
    CATEGORICAL,
    LAWS,
    PAPER,
    RIDGES,
    SHOWN,
    UNIFORM,
    law_name,
)

if TYPE_CHECKING:
    import altair as alt

    from attnlab.lab.study import Drawn

Rows = list[dict[str, Any]]
REFERENCES = (*RIDGES, "BAYES")
ORDER = [*SHOWN, *REFERENCES]
LEAST = 1e-13  # the least value of a logarithmic axis, where 0 is drawn
HIGHEST = 10.0  # of the axis of losses: answering 0 has a loss of 5
ROUNDING = 1e-20
LEAST_PLAIN, LARGEST_PLAIN = 1e-3, 1e4  # other numbers are written with a power of ten


def log_scale(**more: Any) -> alt.Scale:
    """A logarithmic axis without rounded ends."""
    import altair as alt

    return alt.Scale(type="log", nice=False, **more)


def laws_on_top() -> alt.X:
    """One column per noise law, in the order of Table 1."""
    import altair as alt

    order = [law_name(law) for law in LAWS]
    return alt.X("noise:N", title=None, sort=order, axis=alt.Axis(orient="top", labelAngle=0))


def short(value: float | None) -> str:
    """A loss as text for the cell of a table: three digits, rounding errors as 0."""
    if value is None:
        return ""
    if value < ROUNDING:
        return "0"
    if LEAST_PLAIN <= value < LARGEST_PLAIN:
        return f"{value:.3g}"
    digits, _, power = f"{value:.2e}".partition("e")
    return f"{digits}e{int(power)}"


def two_numbers(base: Any, ours: str, paper: str, dy: int = 0) -> list[Any]:
    """Two numbers side by side in the cells of a table: ours on the left, the paper's in italics.

    Parameters
    ----------
    base
        The chart with the cells.
    ours, paper
        The columns that have the numbers as text.
    dy
        Distance below the middle of a cell, in pixels.
    """
    import altair as alt

    return [
        base.mark_text(fontSize=10, align="right", dx=-3, dy=dy).encode(text=alt.Text(f"{ours}:N")),
        base.mark_text(
            fontSize=10, align="left", dx=3, dy=dy, fontStyle="italic", opacity=0.75
        ).encode(text=alt.Text(f"{paper}:N")),
    ]


def model_colour() -> alt.Color:
    """One colour per model, the same in every figure."""
    import altair as alt

    key = alt.Legend(symbolOpacity=1)  # also where the first mark is a faint band
    return alt.Color("model:N", title=None, sort=ORDER, scale=alt.Scale(domain=ORDER), legend=key)


def every_run(view: View, model: str, law: str) -> list[list[Any]]:
    """The rows of every run of a model on a law."""
    if model == "AXIS":
        cells = grids.axis_runs(law, view.scale, view.seed)
    else:
        cells = results.cells_of(model, law, view)
    return [list(view.rows(cell)) for cell in cells]


def shown(value: float | None) -> float | None:
    """The value on a logarithmic axis; None where it is not finite."""
    return None if value is None or not math.isfinite(value) else max(value, LEAST)


def finite(value: float) -> float | None:
    """The value; None where it is not finite."""
    return value if math.isfinite(value) else None


def layers_rows(view: View, laws: Iterable[str]) -> Rows:
    """The best run, the range of the runs, and the predictors without layers, by depth."""
    found: Rows = []
    for law in laws:
        depths: set[int] = set()
        for model in SHOWN:
            runs = every_run(view, model, law)
            for layers, loss in results.by_depth(view, model, law).items():
                ends = [
                    row.loss
                    for rows in runs
                    for row in rows
                    if row.sigma is None and row.layers == layers == row.read
                ]
                ends = [value for value in ends if value is not None] or [loss.value]
                depths.add(layers)
                found.append(
                    {
                        "noise": law_name(law),
                        "model": model,
                        "layers": layers,
                        "loss": shown(loss.value),
                        "error": finite(loss.standard_error),
                        "low": shown(min(ends)),
                        "high": shown(max(ends)),
                        "paper": PAPER.get((model, layers, law)),
                    }
                )
        for name in REFERENCES:
            loss = results.ridge(view, name, law)
            for layers in (min(depths, default=1), max(depths, default=7)):
                found.append(
                    {
                        "noise": law_name(law),
                        "model": name,
                        "layers": layers,
                        "loss": shown(loss.value) if loss.value > LEAST else None,
                        "error": loss.standard_error,
                        "paper": PAPER.get((name, 0, law)),
                    }
                )
    return found


CROSS = "M-1,-1L1,1M-1,1L1,-1"  # Vega has no cross of two strokes


def panel(rows: Rows, title: str, width: int = 190, height: int = 170) -> Any:
    """The losses on one noise law against the number of layers."""
    import altair as alt

    base = alt.Chart(chart_data(rows)).encode(
        x=alt.X("layers:Q", title="layers", axis=alt.Axis(tickMinStep=1, format="d")),
        color=model_colour(),
    )
    drawn = [row[name] for row in rows for name in ("loss", "low", "paper") if row.get(name)]
    scale = log_scale(domain=[min(drawn, default=LEAST) / 1.3, HIGHEST], clamp=True)
    y = alt.Y("loss:Q", title="adjusted loss", scale=scale)
    networks = base.transform_filter("isValid(datum.low)")
    ridges = base.transform_filter("!isValid(datum.low)")
    tooltip = [
        alt.Tooltip("model:N"),
        alt.Tooltip("layers:Q"),
        alt.Tooltip("loss:Q", format=".3g"),
        alt.Tooltip("error:Q", format=".1g"),
        alt.Tooltip("paper:Q", format=".3g"),
    ]
    return alt.layer(
        networks.mark_area(opacity=0.2).encode(y=alt.Y("low:Q", scale=scale), y2=alt.Y2("high:Q")),
        networks.mark_line(point=True).encode(y=y, tooltip=tooltip),
        networks.transform_filter("isValid(datum.paper) && datum.paper > 0")
        .mark_point(shape=CROSS, filled=False, size=36, strokeWidth=1.6, opacity=1)
        .encode(y=alt.Y("paper:Q")),
        ridges.transform_filter("isValid(datum.loss)")
        .mark_line(strokeWidth=1, opacity=0.8)
        .encode(y=y, tooltip=tooltip),
        ridges.transform_filter("isValid(datum.paper) && datum.paper > 0")
        .mark_line(strokeDash=[5, 4], strokeWidth=2.4)
        .encode(y=alt.Y("paper:Q")),
    ).properties(title=title, width=width, height=height)


def draw_layers(rows: Rows) -> Drawn:
    import altair as alt

    names = list(dict.fromkeys(row["noise"] for row in rows))
    panels = [panel([row for row in rows if row["noise"] == name], name) for name in names]
    return alt.concat(*panels, columns=3).resolve_scale(y="independent")


def read_rows(view: View) -> Rows:
    """Figure 5: the loss read after K layers, by depth, on U(0,5)."""
    gathered: dict[tuple[str, int, int], list[float]] = {}
    for model in SHOWN:
        for rows in every_run(view, model, grids.U5):
            for row in rows:
                if row.sigma is None and row.loss is not None:
                    gathered.setdefault((model, row.layers, row.read), []).append(row.loss)
    return [
        {
            "model": model,
            "layers": layers,
            "read": read,
            "loss": shown(median_high(values)),
            "low": shown(min(values)),
            "high": shown(max(values)),
            "runs": len(values),
        }
        for (model, layers, read), values in gathered.items()
    ]


def draw_read(rows: Rows) -> Drawn:
    import altair as alt

    def one(model: str) -> Any:
        base = alt.Chart(chart_data([row for row in rows if row["model"] == model])).encode(
            x=alt.X("read:Q", title="layers read, K", axis=alt.Axis(tickMinStep=1, format="d")),
            color=alt.Color("layers:O", title="depth", scale=alt.Scale(scheme="viridis")),
        )
        y = alt.Y("loss:Q", title="adjusted loss", scale=log_scale(domain=[0.03, 1e4], clamp=True))
        return alt.layer(
            base.mark_area(opacity=0.2).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
            base.mark_line(point=True).encode(
                y=y,
                tooltip=[
                    alt.Tooltip("layers:O"),
                    alt.Tooltip("read:Q"),
                    alt.Tooltip("loss:Q", format=".3g"),
                ],
            ),
        ).properties(title=model, width=210, height=230)

    return alt.concat(*(one(name) for name in dict.fromkeys(row["model"] for row in rows)))


NOTE = (
    "Lines with points show the best run, bands the range of all runs, and thin lines predictors "
    "without layers. Crosses and dashed lines are the values of Table 1 of the paper. Losses above "
    f"{HIGHEST:g} are cut off. AXIS is a family of ours, and BAYES is not in the paper."
)

FIGURES = (
    Figure(
        "fig-1",
        "Figure 1: adjusted loss against layers, uniform noise",
        f"One panel per noise law U(0, s_max). {NOTE}",
        lambda view: layers_rows(view, UNIFORM),
        draw_layers,
    ),
    Figure(
        "fig-3-layers",
        "Figure 3, left: adjusted loss against layers, two and three noise levels",
        NOTE,
        lambda view: layers_rows(view, CATEGORICAL),
        draw_layers,
    ),
    Figure(
        "fig-5",
        "Figure 5: the prediction read after K layers, U(0,5)",
        "Median and range over the runs, with one line per depth; losses above 10⁴ are cut off.",
        read_rows,
        draw_read,
    ),
)
