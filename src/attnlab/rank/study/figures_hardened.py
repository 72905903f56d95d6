"""The picture of what the softness of a softmax costs: trained encoders with a hardmax instead.

Beside Figure 2 of Amsel, Yehudai, Bruna (arXiv 2407.16153): one layer of full rank at each width.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnlab.drawing.chart_data import chart_data
from attnlab.lab.study import Figure, View
from attnlab.rank.study import grids, panels
from attnlab.rank.study.results import error_times_norm

if TYPE_CHECKING:
    from attnlab.lab.study import Drawn

Rows = list[dict[str, Any]]
TRAINED, LAW = "as trained", "law of one head"
HARDENED, MOVED = "with a hardmax", "answers move by"


def _softness(view: View) -> Rows:
    constant, d = error_times_norm(view), grids.PANELS[view.scale].base.d
    found: Rows = []
    for cell in panels.figure_1(view, (1,), [d]).every:
        for row in view.rows(cell):
            if row.test is not None and row.median_norm:
                found += _points(row, {TRAINED: row.test, LAW: constant / row.median_norm})
    for cell in grids.hardened_heads(view.scale, view.seed):
        for row in view.rows(cell) if panels.is_stored(view, cell) else ():
            if row.hard is not None:
                found += _points(row, {HARDENED: row.hard, MOVED: row.moved})
    return found


def _points(row: Any, errors: dict[str, float]) -> Rows:
    at = {"heads": row.head_count, "seed": row.member, "norm": row.median_norm}
    return [{**at, "part": part, "error": error} for part, error in errors.items()]


def _draw_softness(rows: Rows) -> Drawn:
    import altair as alt

    parts = [TRAINED, LAW, HARDENED, MOVED]
    return (
        alt.Chart(chart_data(rows))
        .mark_point(filled=True, size=60)
        .encode(
            x=alt.X("heads:Q", title="heads H", scale=alt.Scale(type="log", base=2)),
            y=alt.Y("error:Q", title="squared error or distance", scale=alt.Scale(type="log")),
            color=alt.Color("part:N", title=None, sort=parts, legend=alt.Legend(columns=2)),
            tooltip=[
                alt.Tooltip("part:N"),
                alt.Tooltip("heads:Q"),
                alt.Tooltip("seed:Q"),
                alt.Tooltip("norm:Q"),
                alt.Tooltip("error:Q"),
            ],
        )
        .properties(width=320)
    )


FIGURES = (
    Figure(
        "softness",
        "Beside Figure 2: what the softness of the softmax costs",
        "One layer of full rank, one point per seed: the held-out error as trained, that of a "
        "single softmax head −c I with the learned norm (Fact 1), the error with a hardmax in the "
        "place of the softmax, and how far the answers move then. The scale `quick` has the first "
        "two.",
        _softness,
        _draw_softness,
    ),
)
