"""The pictures of the majority vote, of the decay of Theorem 4, and of published sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnlab.drawing.chart_data import chart_data
from attnlab.lab.study import Figure, View
from attnlab.rank.study import grids_theory
from attnlab.rank.study.figures_bounds import heads_axis

if TYPE_CHECKING:
    from attnlab.lab.study import Drawn

Rows = list[dict[str, Any]]


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

    base = alt.Chart(chart_data(rows)).encode(
        x=heads_axis(), color=alt.Color("d:O", title="d", scale=alt.Scale(scheme="viridis"))
    )
    y = alt.Y("law:Q", title="squared error", scale=alt.Scale(type="log"))
    return alt.layer(
        base.mark_line(point=True).encode(y=y),
        base.transform_filter("isValid(datum.bound)")
        .mark_line(strokeDash=[5, 4])
        .encode(y=alt.Y("bound:Q")),
        base.transform_filter("isValid(datum.sampled)")
        .mark_point(shape="diamond", size=80)
        .encode(y=alt.Y("sampled:Q")),
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
        alt.Chart(chart_data(rows))
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
        alt.Chart(chart_data(rows))
        .mark_bar()
        .encode(
            x=alt.X("share:Q", title="H r / d"),
            y=alt.Y("model:N", title=None),
            tooltip=[
                alt.Tooltip("model:N"),
                alt.Tooltip("d:Q"),
                alt.Tooltip("heads:Q"),
                alt.Tooltip("rank:Q"),
                alt.Tooltip("share:Q"),
                alt.Tooltip("least_angle:Q"),
            ],
        )
    )


def _architectures(view: View) -> Rows:
    """One row per H r / d; an architecture counts at every value that it has."""
    found: dict[float, set[str]] = {}
    for row in view.rows(grids_theory.architecture_cell()):
        found.setdefault(round(row.share, 2), set()).add(row.architecture)
    return [
        {"share": share, "architectures": len(names), "names": ", ".join(sorted(names))}
        for share, names in sorted(found.items())
    ]


def _draw_architectures(rows: Rows) -> Drawn:
    import altair as alt

    base = alt.Chart(chart_data(rows)).encode(
        x=alt.X("architectures:Q", title="architectures"),
        y=alt.Y("share:O", title="H r / d", sort="descending"),
        tooltip=[
            alt.Tooltip("share:Q"),
            alt.Tooltip("architectures:Q"),
            alt.Tooltip("names:N"),
        ],
    )
    counts = base.mark_text(align="left", dx=4).encode(text=alt.Text("architectures:Q"))
    return base.mark_bar() + counts


FIGURES = (
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
    Figure(
        "architectures",
        "Heads and ranks in a library of transformers",
        "Every architecture of Transformers 4.42.4 with its default settings, by the value of "
        "H r / d of its attention layers.",
        _architectures,
        _draw_architectures,
    ),
)
