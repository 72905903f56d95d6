"""The pictures of the lower bound, of layers on an orthonormal pair, and of Fact 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnlab.drawing.chart_data import chart_data
from attnlab.lab.study import Figure, View
from attnlab.rank.study import grids, grids_theory

if TYPE_CHECKING:
    from attnlab.lab.study import Drawn

Rows = list[dict[str, Any]]


def heads_axis() -> Any:
    """The axis of the number of heads."""
    import altair as alt

    return alt.X("heads:Q", title="heads H", scale=alt.Scale(type="log", base=2))


def _pair(view: View) -> Rows:
    from attnlab.rank.theory.lower_bound import lower_bound

    d = grids.PANELS[view.scale].pair_d
    rows: Rows = []
    for H in (2**k for k in range(11)):
        for variant, name in (("B", "bound (B), any V"), ("C", "bound (C), V = c I")):
            value = lower_bound(d, 1, H, variant).value  # pyright: ignore[reportArgumentType]
            rows.append({"heads": H, "error": value, "what": name, "line": True})
    if d in (8, 16):
        for cell in grids_theory.random_heads(d, view.seed):
            error = view.row(cell).exact
            rows.append({"heads": cell.config.heads, "error": error, "what": "random, exact"})
    for cell in grids_theory.optimised_cells(view.seed):
        if cell.config.d == d:
            error = view.row(cell).exact
            rows.append({"heads": cell.config.heads, "error": error, "what": "optimised, exact"})
    for start in ("random", "construction"):
        for cell in grids.pair_cells(view.scale, view.seed, start):
            rows += [
                {"heads": row.head_count, "error": row.test, "what": f"trained from {start}",
                 "seed": row.member}
                for row in view.rows(cell)
            ]  # fmt: skip
    return rows


def _draw_pair(rows: Rows) -> Drawn:
    import altair as alt

    base = alt.Chart(chart_data(rows)).encode(
        x=heads_axis(),
        y=alt.Y("error:Q", title="squared error"),
        color=alt.Color("what:N", title=None),
        tooltip=[
            alt.Tooltip("what:N"),
            alt.Tooltip("heads:Q"),
            alt.Tooltip("error:Q", format=".4f"),
        ],
    )
    return alt.layer(
        base.transform_filter("datum.line === true").mark_line(strokeDash=[5, 4]),
        base.transform_filter("datum.line !== true").mark_point(filled=True, size=45),
    )


def _bounds(view: View) -> Rows:
    return [
        {
            "rank": cell.config.rank,
            "heads": cell.config.heads,
            "A": view.row(cell).lower_a,
            "B": view.row(cell).lower_b,
            "C": view.row(cell).lower_c,
        }
        for rank in grids_theory.BOUND_RANKS
        for cell in grids_theory.bound_curves(rank)
    ]


def _draw_bounds(rows: Rows) -> Drawn:
    import altair as alt

    return (
        alt.Chart(chart_data(rows))
        .mark_line(point=True)
        .encode(
            x=heads_axis(),
            y=alt.Y("B:Q", title="lower bound (B) on the error"),
            color=alt.Color("rank:O", title="rank r", scale=alt.Scale(scheme="viridis")),
            tooltip=[
                alt.Tooltip("rank:Q"),
                alt.Tooltip("heads:Q"),
                alt.Tooltip("A:Q"),
                alt.Tooltip("B:Q"),
                alt.Tooltip("C:Q"),
            ],
        )
    )


def _full_rank(view: View) -> Rows:
    from attnlab.rank.theory.full_rank import full_rank_error, full_rank_rate

    rows: Rows = [
        {"c": c, "d": d, "law": full_rank_error(d, c).value, "limit": full_rank_rate(d, c)}
        for d in (16, 64)
        for c in (2.0**k for k in range(11))
    ]
    soft = grids_theory.full_rank(view.seed)[0]
    found = view.row(soft)
    sampled = {"c": soft.config.scale, "d": soft.config.d, "sampled": found.error}
    rows.append({**sampled, "N": 2, "standard_error": found.standard_error})
    for cell in grids_theory.softmax_curves(view.seed):
        rows += [
            {"c": row.c, "d": cell.config.d, "N": cell.config.N, "sampled": row.error,
             "standard_error": row.standard_error}
            for row in view.rows(cell)
        ]  # fmt: skip
    return rows


def _draw_full_rank(rows: Rows) -> Drawn:
    import altair as alt

    log = alt.Scale(type="log")
    base = alt.Chart(chart_data(rows)).encode(
        x=alt.X("c:Q", title="c of K Qᵀ = c I", scale=log), color=alt.Color("d:O", title="d")
    )
    law = base.transform_filter("isValid(datum.law)")
    return alt.layer(
        law.mark_line().encode(y=alt.Y("law:Q", title="squared error", scale=log)),
        law.mark_line(strokeDash=[4, 4]).encode(y=alt.Y("limit:Q")),
        base.transform_filter("isValid(datum.sampled)")
        .mark_point(filled=True, size=60)
        .encode(y=alt.Y("sampled:Q"), shape=alt.Shape("N:N", title="points N")),
    )


FIGURES = (
    Figure(
        "pair",
        "An orthonormal pair: bare layers of rank-1 heads and the bounds",
        "One layer of H heads of rank 1 looks for the nearest of two orthonormal points. Dashed: "
        "no such layer has an error below (B), and none with V = c I below (C).",
        _pair,
        _draw_pair,
    ),
    Figure(
        "bounds",
        "The lower bound against the number of heads",
        "Variant (B) at d = 64 for several ranks; at full rank, and one below it, it is 0.",
        _bounds,
        _draw_bounds,
    ),
    Figure(
        "full-rank",
        "Fact 1: one head of full rank",
        "Error against c on an orthonormal pair: the exact law and its limit const / c (dashed). "
        "Points are sampled; those at several N are on independent points.",
        _full_rank,
        _draw_full_rank,
    ),
)
