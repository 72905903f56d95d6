"""The matrices P and Q of an AXIS network, and Figure 6, losses that are not adjusted.

Source: Vladymyrov et al. (arXiv 2402.14180). AXIS is a family of ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from attnlab.drawing.chart_data import chart_data
from attnlab.lab.cell import Cell
from attnlab.lab.study import Figure, View
from attnlab.linear.study import grids, results
from attnlab.linear.study.figures import Rows
from attnlab.linear.study.figures_profiles import deepest_rows, named, shaded

if TYPE_CHECKING:
    import altair as alt

    from attnlab.lab.study import Drawn


def unadjusted_rows(view: View) -> Rows:
    """Figure 6: adjusted losses plus the oracle's loss, which is exact at every level."""
    oracle = results.ridge_profile(view, "oracle (unadjusted)", grids.U5)
    return [
        {**row, "loss": row["loss"] + oracle[row["sigma"]].value}
        for row in deepest_rows(view, [grids.U5])
        if row["model"] != "BAYES" and row["loss"] is not None
    ] + [
        {
            **named(grids.U5),
            "model": "oracle",
            "layers": 0,
            "sigma": sigma,
            "loss": loss.value,
            "error": 0.0,
        }
        for sigma, loss in oracle.items()
        if sigma <= 6
    ]


def draw_unadjusted(rows: Rows) -> Drawn:
    import altair as alt

    lines = (
        alt.Chart(chart_data(rows))
        .mark_line(point=alt.OverlayMarkDef(size=14), clip=True)
        .encode(
            x=alt.X("sigma:Q", title="noise level σ"),
            y=alt.Y("loss:Q", title="loss, not adjusted", scale=alt.Scale(domain=[0, 6])),
            color=alt.Color("model:N", title=None),
            tooltip=[
                alt.Tooltip("model:N"),
                alt.Tooltip("sigma:Q"),
                alt.Tooltip("loss:Q", format=".3f"),
            ],
        )
    )
    return alt.layer(shaded(rows), lines)


def matrix_rows(view: View) -> Rows:
    """The entries of P and Q."""
    return entries(view, [grids.heat_map()])


def entries(view: View, cells: Iterable[Cell]) -> Rows:
    """The entries of the matrices that some cells hold."""
    return [
        {
            "matrix": f"{row.matrix}, layer {row.layer}",
            "row": row.row,
            "column": row.column,
            "value": row.value,
        }
        for cell in cells
        for row in view.rows(cell)
    ]


def draw_matrices(rows: Rows) -> Drawn:
    import altair as alt

    def one(name: str) -> alt.Chart:
        kept = [row for row in rows if row["matrix"] == name]
        most = max(abs(row["value"]) for row in kept) or 1.0
        return (
            alt.Chart(chart_data(kept))
            .mark_rect()
            .encode(
                x=alt.X("column:O", title=None, axis=None),
                y=alt.Y("row:O", title=None, axis=None),
                color=alt.Color(
                    "value:Q",
                    title=None,
                    legend=None,
                    scale=alt.Scale(scheme="blueorange", domain=[-most, most], domainMid=0),
                ),
                tooltip=[
                    alt.Tooltip("row:O"),
                    alt.Tooltip("column:O"),
                    alt.Tooltip("value:Q", format=".3g"),
                ],
            )
            .properties(title=name, width=140, height=140)
        )

    names = list(dict.fromkeys(row["matrix"] for row in rows))
    panels = [one(name) for name in names]
    return alt.concat(*panels, columns=len(names) // 2).resolve_scale(color="independent")


FIGURES = (
    Figure(
        "axis-matrices",
        "Beside Figure 4: P and Q of an AXIS network on {1,3}",
        "The shipped network of four layers, most of whose entries are 0 by construction. Every "
        "matrix has a colour scale of its own, with white at 0; the last row and column belong to "
        "y.",
        matrix_rows,
        draw_matrices,
    ),
    Figure(
        "fig-6",
        "Figure 6: losses that are not adjusted, U(0,5)",
        "The loss of the oracle hides the differences between models, which is why losses are "
        "adjusted. Shown are adjusted losses plus the oracle's, which is exact.",
        unadjusted_rows,
        draw_unadjusted,
    ),
)
