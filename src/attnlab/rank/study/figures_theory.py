"""The pictures without encoders: bounds, an orthonormal pair, the vote, the decay, sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnlab.lab.study import Figure, View
from attnlab.rank.study import grids, grids_theory

if TYPE_CHECKING:
    from attnlab.lab.study import Drawn

Rows = list[dict[str, Any]]


def _heads() -> Any:
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

    base = alt.Chart(alt.Data(values=rows)).encode(
        x=_heads(),
        y=alt.Y("error:Q", title="squared error"),
        color=alt.Color("what:N", title=None),
        tooltip=["what:N", "heads:Q", alt.Tooltip("error:Q", format=".4f")],
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
        alt.Chart(alt.Data(values=rows))
        .mark_line(point=True)
        .encode(
            x=_heads(),
            y=alt.Y("B:Q", title="lower bound (B) on the error"),
            color=alt.Color("rank:O", title="rank r", scale=alt.Scale(scheme="viridis")),
            tooltip=["rank:Q", "heads:Q", "A:Q", "B:Q", "C:Q"],
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
    return [*rows, {**sampled, "standard_error": found.standard_error}]


def _draw_full_rank(rows: Rows) -> Drawn:
    import altair as alt

    log = alt.Scale(type="log")
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("c:Q", title="c of K Qᵀ = c I", scale=log), color=alt.Color("d:O", title="d")
    )
    law = base.transform_filter("isValid(datum.law)")
    return alt.layer(
        law.mark_line().encode(y=alt.Y("law:Q", title="squared error", scale=log)),
        law.mark_line(strokeDash=[4, 4]).encode(y="limit:Q"),
        base.transform_filter("isValid(datum.sampled)")
        .mark_point(filled=True, size=60)
        .encode(y="sampled:Q"),
    )


def _votes(view: View) -> Rows:
    rows: Rows = [
        {
            "d": cell.config.d,
            "heads": cell.config.heads,
            "law": view.row(cell).vote,
            "limit": view.row(cell).vote_limit,
            "bound": view.row(cell).lower_b_vote,
        }
        for cell in grids_theory.vote_laws()
    ]
    return rows + [
        {
            "d": cell.config.d,
            "heads": cell.config.heads,
            "law": view.row(cell).law,
            "sampled": view.row(cell).error,
            "standard_error": view.row(cell).standard_error,
        }
        for cell in grids_theory.votes(view.seed)
    ]


def _draw_votes(rows: Rows) -> Drawn:
    import altair as alt

    base = alt.Chart(alt.Data(values=rows)).encode(
        x=_heads(), color=alt.Color("d:O", title="d", scale=alt.Scale(scheme="viridis"))
    )
    y = alt.Y("law:Q", title="squared error", scale=alt.Scale(type="log"))
    return alt.layer(
        base.mark_line(point=True).encode(y=y),
        base.transform_filter("isValid(datum.bound)")
        .mark_line(strokeDash=[5, 4])
        .encode(y="bound:Q"),
        base.transform_filter("isValid(datum.sampled)")
        .mark_point(shape="diamond", size=80)
        .encode(y="sampled:Q"),
    )


def _decay(view: View) -> Rows:
    return [
        {"d": cell.config.d, "gap": row.gap, "correlation": row.correlation,
         "by_thresholds": row.by_thresholds}
        for cell in grids_theory.decay_cells()
        for row in view.rows(cell)
    ]  # fmt: skip


def _draw_decay(rows: Rows) -> Drawn:
    import altair as alt

    return (
        alt.Chart(alt.Data(values=rows))
        .mark_line(point=True)
        .encode(
            x=alt.X("gap:Q", title="d − r"),
            y=alt.Y("correlation:Q", title="largest correlation", scale=alt.Scale(type="log")),
            color=alt.Color("d:O", title="d"),
        )
    )


def _sizes(view: View) -> Rows:
    return [
        {"model": row.model, "d": row.d, "heads": row.heads, "rank": row.rank, "share": row.share,
         "least_angle": row.least_angle}
        for row in view.rows(grids_theory.size_cell())
    ]  # fmt: skip


def _draw_sizes(rows: Rows) -> Drawn:
    import altair as alt

    return (
        alt.Chart(alt.Data(values=rows))
        .mark_bar()
        .encode(
            x=alt.X("share:Q", title="H r / d"),
            y=alt.Y("model:N", title=None),
            tooltip=["model:N", "d:Q", "heads:Q", "rank:Q", "share:Q", "least_angle:Q"],
        )
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
        "Error on an orthonormal pair against c: the exact law, its limit const / c (dashed), and "
        "one sampled point.",
        _full_rank,
        _draw_full_rank,
    ),
    Figure(
        "votes",
        "Theorem 7: the majority vote of rank-1 heads in two layers",
        "The exact law of the vote, sampled networks (diamonds), and the bound on a single layer "
        "with as many heads (dashed).",
        _votes,
        _draw_votes,
    ),
    Figure(
        "decay",
        "Theorem 4: what a head of rank r sees of a periodic threshold",
        "The largest correlation of any g(K x, y) with the periodic threshold, by quadrature.",
        _decay,
        _draw_decay,
    ),
    Figure(
        "sizes",
        "Heads and ranks of published models",
        "H r / d is 1 where r = d / H; the table below the figure has the sizes.",
        _sizes,
        _draw_sizes,
    ),
)
