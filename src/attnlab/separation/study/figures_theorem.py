"""Pictures of Theorem 6.2 at growing sizes: where it holds, from which d on, and up to which a1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnlab.drawing.chart_data import chart_data
from attnlab.lab.study import Figure, View
from attnlab.separation.study import grids_spikes
from attnlab.separation.study import grids_theory as grids
from attnlab.separation.study.figures_sweeps import SUCCESS, X_TEXT, Rows

if TYPE_CHECKING:
    from attnlab.lab.study import Drawn

WIDEST_SHOWN = 1000
TINY = 1e-12  # where the axis of a failure ends


def _map_rows(view: View) -> Rows:
    """The widths that serve at each (n, d); both ends None where none does."""
    table = []
    for b in grids.THEOREM_BS:
        for cell in grids.theorem_map(b):
            row = view.row(cell)
            served = row.least_width is not None and row.least_width <= WIDEST_SHOWN
            table.append(
                {
                    "n": f"10^{cell.config.exponent}",
                    "b": b,
                    "d": cell.config.d,
                    "least m": row.least_width if served else None,
                    "largest m": min(row.largest_width or 0, WIDEST_SHOWN) if served else None,
                    "m tried": cell.config.m,
                    "failure": row.failure,
                    "δ/n": row.goal,
                }
            )
    return table


def _draw_map(rows: Rows) -> Drawn:
    import altair as alt

    served = [row for row in rows if row["least m"] is not None]
    colour = alt.Color(
        "n:O", sort=[f"10^{e}" for e in grids.EXPONENTS], scale=alt.Scale(scheme="viridis")
    )
    panels = []
    for b in sorted({row["b"] for row in rows}):
        base = alt.Chart(chart_data([row for row in served if row["b"] == b])).encode(
            x=alt.X(
                "d:Q",
                title="dimension d",
                scale=alt.Scale(type="log", domain=[5, grids.MAP_DS[-1]]),
            ),
            color=colour,
        )
        height = alt.Scale(type="log", domain=[20, WIDEST_SHOWN])
        panels.append(
            alt.layer(
                base.mark_area(opacity=0.12).encode(
                    y=alt.Y("least m:Q", title="number of neurons m", scale=height),
                    y2=alt.Y2("largest m:Q"),
                ),
                base.mark_line(point=True).encode(
                    y=alt.Y("least m:Q", scale=height),
                    tooltip=[
                        alt.Tooltip("n:O"),
                        alt.Tooltip("d:Q"),
                        alt.Tooltip("least m:Q"),
                        alt.Tooltip("largest m:Q"),
                        alt.Tooltip("failure:Q"),
                    ],
                ),
            ).properties(title=f"b = {b}", width=190, height=220)
        )
    return alt.concat(*panels, columns=len(panels))


def _dimension_rows(view: View) -> Rows:
    return [
        {
            "n": 10.0**cell.config.exponent,
            "b": b,
            "first d": view.row(cell).first,
            "settled d": view.row(cell).settled,
            "predicted d": view.row(cell).predicted,
        }
        for b in grids.THEOREM_BS
        for cell in grids.least_dimensions(b)
    ]


def _draw_dimension(rows: Rows) -> Drawn:
    import altair as alt

    height = alt.Scale(type="log")
    base = alt.Chart(chart_data(rows)).encode(
        x=alt.X("n:Q", title="n", scale=alt.Scale(type="log")),
        color=alt.Color("b:O", title="b", scale=alt.Scale(scheme="viridis")),
    )
    return alt.layer(
        base.mark_line(point=True).encode(
            y=alt.Y("settled d:Q", title="dimension from which the theorem holds", scale=height),
            tooltip=[
                alt.Tooltip("n:Q"),
                alt.Tooltip("b:O"),
                alt.Tooltip("first d:Q"),
                alt.Tooltip("settled d:Q"),
                alt.Tooltip("predicted d:Q"),
            ],
        ),
        base.mark_line(strokeDash=[4, 4]).encode(y=alt.Y("predicted d:Q", scale=height)),
    )


def _spike_rows(view: View) -> Rows:
    return [
        {"a1": cell.config.a1, "failure": view.row(cell).failure, "δ/n": view.row(cell).goal}
        for cell in grids_spikes.spike_limit_sweep()
    ]


def _draw_spikes(rows: Rows) -> Drawn:
    import altair as alt

    height = alt.Scale(type="log", domain=[TINY, 1])
    base = alt.Chart(chart_data(rows)).encode(x=alt.X("a1:Q", title="spike a1 on D1"))
    return alt.layer(
        base.mark_line(point=True).encode(
            y=alt.Y("failure:Q", title="probability of failure", scale=height),
            tooltip=[alt.Tooltip("a1:Q"), alt.Tooltip("failure:Q")],
        ),
        base.mark_line(strokeDash=[4, 4]).encode(y=alt.Y("δ/n:Q", scale=height)),
    )


def _drawn_rows(view: View) -> Rows:
    return [
        {
            "a0": cell.config.a0,
            "X": X_TEXT[x],
            "rows": name,
            "success": value,
        }
        for x in ("identity", "ones")
        for cell in grids.row_sweep(x)
        for name, value in (
            ("one row in both", view.row(cell).shared_row),
            ("drawn independently", view.row(cell).drawn_rows),
        )
    ]


def _draw_rows(rows: Rows) -> Drawn:
    import altair as alt

    return (
        alt.Chart(chart_data(rows))
        .mark_line()
        .encode(
            x=alt.X("a0:Q", title="spike a0 on D0"),
            y=alt.Y("success:Q", title="probability of success", scale=alt.Scale(domain=SUCCESS)),
            color=alt.Color("X:N", title=None),
            strokeDash=alt.StrokeDash(
                "rows:N", title="spike row", legend=alt.Legend(symbolType="stroke")
            ),
        )
    )


THEOREM = (
    Figure(
        id="theorem-map",
        title="Where Theorem 6.2 holds, X = 1",
        caption="The numbers of neurons m for which the exact probability of failure is at most "
        f"δ/n, δ = {grids.DELTA}, against the dimension, one band per n. Where a band begins is "
        "the dimension that the theorem needs; its lower edge is C log(n/δ) with C near 3.5.",
        data=_map_rows,
        draw=_draw_map,
    ),
    Figure(
        id="dimension",
        title="The dimension that Theorem 6.2 needs, X = 1",
        caption=f"The d from which on the failure is at most δ/n, m = {grids.THEOREM_C} log(n/δ). "
        "Dashed: 2 (b/0.1)² log(mn/δ).",
        data=_dimension_rows,
        draw=_draw_dimension,
    ),
    Figure(
        id="spike-limit",
        title="The spikes that serve Theorem 6.2 at one n",
        caption="Exact probability of failure at n = 10^4, d = 202, m = "
        f"{grids_spikes.SPIKE_WIDTH} against a1. Dashed: δ/n. From a1 of about 15 on linear "
        "attention fires on D1 too; the a1 at which it does so grows as √n.",
        data=_spike_rows,
        draw=_draw_spikes,
    ),
    Figure(
        id="spike-rows",
        title="One spike row, or two drawn independently",
        caption="Exact probability of success of Figures 4(e) and 5(e) with the spike in the same "
        "row of D0 and D1, as in our figures, and in independently drawn rows.",
        data=_drawn_rows,
        draw=_draw_rows,
    ),
)
