"""The panels of Figures 3-5: one picture per sweep.

Every panel shows the exact law (or bounds) as a line, the Monte Carlo with its 95% interval, and
the cap 1 - (1 - e)^m dashed. Drawing functions see only the table that is published beside the
picture; Altair is imported when something is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from attnlab.drawing.chart_data import chart_data
from attnlab.lab.study import Figure, View
from attnlab.separation.study import grids

if TYPE_CHECKING:
    import altair as alt

    from attnlab.lab.study import Drawn

Rows = list[dict[str, Any]]

SUCCESS = (0, 1)  # the range of a probability
NAMES = {
    "n": "sequence length n",
    "d": "dimension d",
    "m": "number of neurons m",
    "a1": "spike a1 on D1",
    "a0": "spike a0 on D0",
    "c": "constant entry c",
}
X_TEXT = {"identity": "X = I", "ones": "X = 1"}
SHOWN = ("sampled", "low", "high")
LINES = {  # column -> its name in the legend and the pattern of the line
    "exact": ("exact law", [1, 0]),
    "cap": ("cap 1 − (1 − e)^m", [5, 4]),
    "exact_b_is_1_minus_c": ("b = 1 − c", [2, 2]),
}


def _attention_rows(view: View, panel: str, x: grids.X) -> Rows:
    swept = grids.PANELS[panel]
    table = []
    for cell in grids.attention_sweep(panel, x, view.seed):
        row = view.row(cell)
        columns = ("exact", "cap", *SHOWN)
        table.append(
            {swept: getattr(cell.config, swept), **{name: getattr(row, name) for name in columns}}
        )
    if panel == "f":
        summed = grids.attention_sweep(panel, x, view.seed, keep_b=False)
        for row, cell in zip(table, summed, strict=True):
            row["exact_b_is_1_minus_c"] = view.row(cell).exact
    return table


def _draw_sweep(swept: str) -> Callable[[Rows], Drawn]:
    def draw(rows: Rows) -> Drawn:
        import altair as alt

        scale = (
            alt.Scale(type="log", base=2, domain=[3.5, 75])
            if swept == "d"
            else alt.Scale(zero=False)
        )
        base = alt.Chart(chart_data(rows)).encode(
            x=alt.X(f"{swept}:Q", title=NAMES[swept], scale=scale)
        )
        lines = [
            base.mark_line(strokeDash=dash).encode(y=alt.Y(f"{column}:Q"), color=alt.datum(name))
            for column, (name, dash) in LINES.items()
            if column in rows[0]
        ]
        return alt.layer(*_sampled(base, swept, alt.Scale(domain=SUCCESS)), *lines)

    return draw


def _sampled(base: alt.Chart, swept: str, scale: alt.Scale) -> list[alt.Chart]:
    """Points with their intervals."""
    import altair as alt

    label = alt.datum("sampled, 95% interval")
    return [
        base.mark_rule(opacity=0.45).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), color=label),
        base.mark_point(filled=True, size=22).encode(
            y=alt.Y("sampled:Q", title="probability of success", scale=scale),
            color=label,
            tooltip=[
                alt.Tooltip(f"{swept}:Q"),
                *(alt.Tooltip(f"{name}:Q", format=".3f") for name in SHOWN),
            ],
        ),
    ]


def _sweep_figure(panel: str, x: grids.X) -> Figure:
    swept, number = grids.PANELS[panel], grids.FIGURE_OF[x]
    extra = "; the dotted line takes b = 1 − c instead of b = 0.2" if panel == "f" else ""
    return Figure(
        id=f"fig-{number}{panel}",
        title=f"Figure {number}({panel}): {NAMES[swept]}, {X_TEXT[x]}",
        caption=f"Self-attention, {X_TEXT[x]}: the probability that softmax attention separates "
        f"the two datasets and linear attention does not, against the {NAMES[swept]}. Exact law, "
        f"100 trials per point with exact binomial 95% intervals, and the cap{extra}.",
        data=lambda view: _attention_rows(view, panel, x),
        draw=_draw_sweep(swept),
    )


def _regression_rows(view: View, panel: str) -> Rows:
    swept = "n" if panel == "a" else "m"
    table = []
    for cell in grids.regression_sweep(panel, view.scale, view.seed):
        row = view.row(cell)
        table.append(
            {
                swept: getattr(cell.config, swept),
                "lower_bound": max(row.lower, 0.0),
                "cap": row.upper,
                **{name: getattr(row, name) for name in SHOWN},
            }
        )
    if panel == "a":
        exact = {cell.config.n: view.row(cell).exact for cell in grids.two_level_sweep()}
        for row in table:
            row["exact_two_level"] = exact.get(row["n"])
    return table


def _draw_regression(swept: str) -> Callable[[Rows], Drawn]:
    def draw(rows: Rows) -> Drawn:
        import altair as alt

        scale = alt.Scale(zero=False)
        base = alt.Chart(chart_data(rows)).encode(
            x=alt.X(f"{swept}:Q", title=NAMES[swept], scale=scale)
        )
        band = base.mark_area(opacity=0.18).encode(
            y=alt.Y("lower_bound:Q", title="probability of success", scale=scale),
            y2=alt.Y2("cap:Q"),
            color=alt.datum("between the bounds"),
        )
        cap = base.mark_line(strokeDash=[5, 4]).encode(
            y=alt.Y("cap:Q"), color=alt.datum("cap 1 − 2^−m")
        )
        exact = (
            base.transform_filter("isValid(datum.exact_two_level)")
            .mark_line()
            .encode(y=alt.Y("exact_two_level:Q"), color=alt.datum("exact law, two-level data"))
        )
        lines = [exact] if "exact_two_level" in rows[0] else []
        return alt.layer(band, cap, *lines, *_sampled(base, swept, scale))

    return draw


def _regression_figure(panel: str) -> Figure:
    fixed = "m = ⌊log n⌋" if panel == "a" else "n = 1000"
    return Figure(
        id=f"fig-3{panel}",
        title=f"Figure 3({panel}): softmax regression, {fixed}",
        caption=f"Softmax regression with {fixed} and τ = 1/4, data uniform in its interval, 1000 "
        "trials per point. The band lies between the Chernoff lower bound and the cap 1 − 2^−m.",
        data=lambda view: _regression_rows(view, panel),
        draw=_draw_regression("n" if panel == "a" else "m"),
    )


SWEEPS = (
    *(_regression_figure(panel) for panel in "ab"),
    *(_sweep_figure(panel, x) for x in grids.XS for panel in grids.PANELS),
)
