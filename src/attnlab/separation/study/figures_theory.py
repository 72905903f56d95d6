"""Pictures of the exact law and of the lemmas: maps, thresholds and sums of signs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from attnlab.drawing.chart_data import chart_data
from attnlab.lab.study import Figure, View
from attnlab.separation.models import Kind
from attnlab.separation.study import grids
from attnlab.separation.study.figures_sweeps import NAMES, SUCCESS, X_TEXT, Rows

if TYPE_CHECKING:
    from attnlab.lab.study import Drawn

NAMED_KINDS: tuple[tuple[Kind, str], ...] = (("linear", "f_lin"), ("softmax", "f_exp"))


def _map_figure(plane: Literal["d-m", "a0-a1"], x: grids.X) -> Figure:
    across, up = ("d", "m") if plane == "d-m" else ("a0", "a1")

    def data(view: View) -> Rows:
        rows = view.rows(grids.map_cell(plane, x))
        return [{across: row.across, up: row.up, "exact": row.probability} for row in rows]

    def draw(rows: Rows) -> Drawn:
        import altair as alt

        if plane == "d-m":
            horizontal, vertical = alt.X("d:O"), alt.Y("m:Q", bin=alt.Bin(step=2))
        else:
            horizontal = alt.X("a0:Q", bin=alt.Bin(step=0.03))
            vertical = alt.Y("a1:Q", bin=alt.Bin(step=0.06))
        scale = alt.Scale(scheme="viridis", domain=SUCCESS)
        return (
            alt.Chart(chart_data(rows))
            .mark_rect()
            .encode(
                x=horizontal.title(NAMES[across]),
                y=vertical.title(NAMES[up]),
                color=alt.Color("exact:Q", title="success", scale=scale),
                tooltip=[
                    alt.Tooltip(f"{across}:Q"),
                    alt.Tooltip(f"{up}:Q"),
                    alt.Tooltip("exact:Q", format=".3f"),
                ],
            )
        )

    fixed = "m = 15 and d = 22" if plane == "a0-a1" else "the default spikes"
    return Figure(
        id=f"map-{plane}-{x}",
        title=f"Success over ({across}, {up}), {X_TEXT[x]}",
        caption=f"Exact probability of success at n = 240 with {fixed}, {X_TEXT[x]}.",
        data=data,
        draw=draw,
    )


def _offset_figure(x: grids.X) -> Figure:
    def data(view: View) -> Rows:
        return [
            {"offset": cell.config.offset, "d": cell.config.d, "exact": view.row(cell).exact}
            for d in grids.PANEL_DS
            for cell in grids.offset_sweep(d, x)
        ]

    return Figure(
        id=f"offset-{x}",
        title=f"The threshold that mends the theorem, {X_TEXT[x]}",
        caption="Exact probability of success at n = 256, m = ⌈3.55 log(n/δ)⌉ = 37 against the "
        "offset o, one line "
        "per dimension. Dashed: the paper's 0.1, then b = 0.2 and 0.9, between which every d "
        "succeeds.",
        data=data,
        draw=_draw_offsets,
    )


def _draw_offsets(rows: Rows) -> Drawn:
    import altair as alt

    lines = (
        alt.Chart(chart_data(rows))
        .mark_line(point=True)
        .encode(
            x=alt.X("offset:Q", title="offset o of the threshold (c + o) √log n"),
            y=alt.Y("exact:Q", title="probability of success", scale=alt.Scale(domain=SUCCESS)),
            color=alt.Color("d:O", title="d", scale=alt.Scale(scheme="viridis")),
            tooltip=[
                alt.Tooltip("d:O"),
                alt.Tooltip("offset:Q"),
                alt.Tooltip("exact:Q", format=".4f"),
            ],
        )
    )
    marks = chart_data([{"at": 0.1}, {"at": 0.2}, {"at": 0.9}])
    return alt.layer(lines, alt.Chart(marks).mark_rule(strokeDash=[4, 4]).encode(x=alt.X("at:Q")))


def _sum_rows(view: View) -> Rows:
    return [
        {
            "n": cell.config.n,
            "sum": f"{name} on D{label}",
            "rms": view.row(cell).mean_square ** 0.5,
            "bound": view.row(cell).bound if kind == "linear" else None,
        }
        for kind, name in NAMED_KINDS
        for label in (0, 1)
        for cell in grids.sign_sum_cells(kind, label, view.seed)
    ]


def _draw_sums(rows: Rows) -> Drawn:
    import altair as alt

    base = alt.Chart(chart_data(rows)).encode(
        x=alt.X("n:Q", title="n", scale=alt.Scale(type="log", domain=[90, 1800])),
        color=alt.Color("sum:N", title=None),
    )
    return alt.layer(
        base.mark_line(point=True).encode(
            y=alt.Y("rms:Q", title="size of ⟨f, σ⟩", scale=alt.Scale(type="log"))
        ),
        base.transform_filter("isValid(datum.bound)")
        .mark_line(strokeDash=[4, 4])
        .encode(y=alt.Y("bound:Q")),
    )


MAPS = tuple(_map_figure(plane, x) for plane in grids.PLANES for x in grids.XS)
THEORY = (
    *(_offset_figure(x) for x in grids.XS),
    Figure(
        id="sign-sums",
        title="Random sums of attention weights (Lemmas 4.1 and 4.2)",
        caption="Root mean square of ⟨f, σ⟩ over random signs σ against n. Dashed: the lemmas' "
        "bounds for f_lin with Hoeffding's constant and δ = 0.01.",
        data=_sum_rows,
        draw=_draw_sums,
    ),
)
