"""Composition scores as a table, a picture and rows for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from attnlab.checkpoints.composition import KINDS, Pair, strongest
from attnlab.drawing.chart_data import chart_data
from attnlab.lab.presentation import Picture, Rows, TextTable

if TYPE_CHECKING:
    from attnlab.lab.presentation import Chart

NOTE = (
    "How much of what a later head reads as its query, key or value is what an earlier head "
    "writes: |product| / (|one| |other|) of the forms (Elhage et al. 2021). A pair of heads that "
    "have nothing to do with each other has 1/sqrt(d) in the root mean square."
)


def tables(pairs: Sequence[Pair]) -> list[TextTable]:
    """The strongest links of each kind; nothing where there are no pairs of layers."""
    if not pairs:
        return []
    rows = [
        (
            link.kind,
            f"layer {link.earlier[0]} head {link.earlier[1]}",
            f"layer {link.later[0]} head {link.later[1]}",
            f"{link.score:.3f}",
            f"{link.times_random:.1f}",
        )
        for link in strongest(pairs)
    ]
    columns = ("by", "writes", "reads", "score", "times random")
    return [TextTable("Composition, the strongest links", columns, rows, NOTE)]


def rows(pairs: Sequence[Pair]) -> Rows:
    """One row per kind and pair of layers: the largest score, and its multiple of a random one."""
    return [
        {
            "kind": f"{kind}-composition",
            "writes": pair.earlier,
            "reads": pair.later,
            "score": float(pair.scores[kind].max()),
            "times random": float(pair.scores[kind].max()) / pair.random,
        }
        for kind in KINDS
        for pair in pairs
    ]


def document(pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """Every score: one entry per pair of layers, a row per later head and a column per earlier."""
    return [
        {
            "earlier": pair.earlier,
            "later": pair.later,
            "random": pair.random,
            **{kind: pair.scores[kind].tolist() for kind in KINDS},
        }
        for pair in pairs
    ]


def pictures(pairs: Sequence[Pair]) -> list[Picture]:
    """A map over pairs of layers; nothing where there are none."""
    if not pairs:
        return []
    caption = (
        "The largest score between a head of the layer that writes and one of the layer that "
        "reads, in multiples of 1/sqrt(d), which unrelated heads have."
    )
    return [Picture("composition", "Composition between layers", caption, rows(pairs), draw)]


def draw(drawn: Rows) -> Chart:
    """One cell per pair of layers, a panel for each kind."""
    import altair as alt

    return (
        alt.Chart(chart_data(drawn))
        .mark_rect()
        .encode(
            x=alt.X("writes:O", title="layer that writes", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("reads:O", title="layer that reads", sort="descending"),
            color=alt.Color("times random:Q", scale=alt.Scale(scheme="viridis")),
            tooltip=[
                alt.Tooltip("writes:O"),
                alt.Tooltip("reads:O"),
                alt.Tooltip("score:Q", format=".4"),
            ],
        )
        .properties(width=180, height=180)
        .facet(alt.Facet("kind:N", title=None), columns=3)
    )
