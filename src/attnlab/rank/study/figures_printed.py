"""The pictures of Theorems 2 and 4: what is printed, and what our bound and constructions give."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from attnlab.drawing.chart_data import chart_data
from attnlab.lab.study import Figure, View
from attnlab.rank.study import grids_theory

if TYPE_CHECKING:
    from attnlab.lab.study import Drawn

Rows = list[dict[str, Any]]


def _theorem_2(view: View) -> Rows:
    rows: Rows = []
    for row in view.rows(grids_theory.theorem_2_high_dimension(rank_one=True)):
        rows.append(
            {"epsilon": row.epsilon, "what": f"bound (B), d = {row.d}", "error": row.lower_b}
        )
        if row.d == 64:
            rows.append({"epsilon": row.epsilon, "what": "limit of large d", "error": row.limit})
            rows.append({"epsilon": row.epsilon, "what": "printed: ε", "error": row.epsilon})
    built = view.rows(grids_theory.coordinate_cell(view.seed))[-1]
    return [
        *rows,
        {"epsilon": 0.24, "what": f"{built.d} heads, built", "error": built.error},
        {"epsilon": 0.19, "what": f"{built.d} heads, built", "error": built.error},
    ]


def _draw_theorem_2(rows: Rows) -> Drawn:
    import altair as alt

    return (
        alt.Chart(chart_data(rows))
        .mark_line(point=True)
        .encode(
            x=alt.X("epsilon:Q", title="ε, at H = d^(1/(4ε)) heads of rank 1"),
            y=alt.Y("error:Q", title="squared error"),
            color=alt.Color("what:N", title=None),
            tooltip=[
                alt.Tooltip("what:N"),
                alt.Tooltip("epsilon:Q"),
                alt.Tooltip("error:Q", format=".4f"),
            ],
        )
    )


def _theorem_4(view: View) -> Rows:
    from attnlab.rank.theory.biased_bound import printed

    rows: Rows = []
    for row in view.rows(grids_theory.theorem_4()):
        if row.d in (16, 64, 256):
            gap = row.d - row.rank
            lines = {
                "H, any weights": row.log_heads,
                "H max‖V‖": row.log_weight,
                "printed, c₁ = 1/2": printed(row.d, row.rank, 0.5),
            }
            rows += [
                {"d": row.d, "gap": gap, "what": what, "digits": value / math.log(10)}
                for what, value in lines.items()
            ]
    return rows


def _draw_theorem_4(rows: Rows) -> Drawn:
    import altair as alt

    return (
        alt.Chart(chart_data(rows))
        .mark_line(point=True)
        .encode(
            x=alt.X("gap:Q", title="d − r"),
            y=alt.Y("digits:Q", title="log₁₀ of what an error of 1/20 needs"),
            color=alt.Color("what:N", title=None),
            strokeDash=alt.StrokeDash("d:O", title="d", legend=alt.Legend(symbolType="stroke")),
            tooltip=[
                alt.Tooltip("d:O"),
                alt.Tooltip("gap:Q"),
                alt.Tooltip("what:N"),
                alt.Tooltip("digits:Q", format=".1f"),
            ],
        )
    )


FIGURES = (
    Figure(
        "theorem-2",
        "Theorem 2 for r = 1: the bound at the printed number of heads",
        "The sentence says that the error is at least ε with d^(1/(4ε)) heads. Our bound and its "
        "limit are above that line but for ε between 0.18 and 0.25, where d heads that were built "
        "are below it.",
        _theorem_2,
        _draw_theorem_2,
    ),
    Figure(
        "theorem-4",
        "Theorem 4: heads and weights that an error of 1/20 needs",
        "From our bound at b = (0, 0), and the printed limit exp(c₁(d − r))/(c₂ d²) with c₁ = 1/2, "
        "c₂ = 1.",
        _theorem_4,
        _draw_theorem_4,
    ),
)
