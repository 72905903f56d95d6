"""The picture of Conjecture 8: the error of a network of fixed size against N."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnlab.drawing.chart_data import chart_data
from attnlab.lab.study import Figure, View
from attnlab.rank.study import grids_theory

if TYPE_CHECKING:
    from attnlab.lab.study import Drawn

Rows = list[dict[str, Any]]
FORMS = {
    "hardmax": "rank 1, hardmax",
    "softmax": "rank 1, softmax",
    "full rank": "one head of rank d, softmax",
}


def _against_length(view: View) -> Rows:
    rows: Rows = [
        {
            "d": f"d = {cell.config.d}, {cell.config.d * cell.config.directions} heads",
            "N": row.N,
            "what": FORMS[row.form],
            "error": row.error,
            "standard_error": row.standard_error,
            "low": max(row.error - row.standard_error, row.error / 2),
            "high": row.error + row.standard_error,
        }
        for cell in grids_theory.covering_samples(view.seed)
        for row in view.rows(cell)
        if row.error > 0
    ]
    sampled = {(cell.config.d, cell.config.directions) for cell in grids_theory.covering_samples(0)}
    return rows + [
        {
            "d": f"d = {cell.config.d}, {cell.config.d * cell.config.directions} heads",
            "N": row.N,
            "what": "bound, hardmax",
            "error": row.bound,
        }
        for cell in grids_theory.covering_bounds()
        for row in view.rows(cell)
        if (cell.config.d, cell.config.directions) in sampled
    ]


def _draw(rows: Rows) -> Drawn:
    import altair as alt

    base = alt.Chart().encode(
        x=alt.X("N:Q", title="points N", scale=alt.Scale(type="log")),
        color=alt.Color("what:N", title=None, legend=alt.Legend(columns=2)),
    )
    error = alt.Y("error:Q", title="squared error", scale=alt.Scale(type="log"))
    layers = alt.layer(
        base.transform_filter("datum.what == 'bound, hardmax'")
        .mark_line(strokeDash=[5, 4])
        .encode(y=error),
        base.transform_filter("isValid(datum.low)")
        .mark_line(point=True)
        .encode(
            y=error,
            tooltip=[
                alt.Tooltip("what:N"),
                alt.Tooltip("N:Q"),
                alt.Tooltip("error:Q", format=".4f"),
                alt.Tooltip("standard_error:Q", format=".4f"),
            ],
        ),
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=2, opacity=0.5)
        .encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
    )
    return layers.properties(width=260, height=200).facet(
        column=alt.Column("d:N", title=None), data=chart_data(rows)
    )


FIGURES = (
    Figure(
        "conjecture-8",
        "Conjecture 8: heads of rank 1 that serve every number of points",
        "A network of fixed size and weights: heads of rank 1 for the directions of a net, and an "
        "MLP that takes the head whose direction is nearest to y. Points show sampled errors, bars "
        "one standard error (downwards at most half of the error, since the axis is logarithmic), "
        "dashes the bound on the hardmax form, which holds for every N.",
        _against_length,
        _draw,
    ),
)
