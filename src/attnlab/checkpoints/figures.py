"""A checkpoint's reading as pictures: maps over layers and heads, and the spectra of the forms.

A map has a cell a head. Spectra are drawn layer by layer, as medians over the heads, and head by
head where few layers were read: a page stays readable whatever the depth.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attnlab.checkpoints.forms import Form
from attnlab.checkpoints.reading import CheckpointReading
from attnlab.drawing.chart_data import chart_data
from attnlab.lab.presentation import Picture, Rows

if TYPE_CHECKING:
    from altair.vegalite.v6.schema._typing import ColorScheme_T

    from attnlab.drawing import theme
    from attnlab.lab.presentation import Chart

FORMS = {"query_key": "Q K^T", "value_output": "V O"}
DRAWN = 1e-12  # singular values below this share of the largest are left out of a log axis
FEW = 6  # layers whose spectra are drawn head by head
CELL = 18  # pixels of a map's cell
LEAST, MOST = 160, 380
SINGLE = 9  # lines that a legend names one by one; more become a ramp of colours


@dataclass(frozen=True)
class NamedChart:
    """A chart with a name for its file, a title and a caption."""

    name: str
    title: str
    caption: str
    chart: Any


def checkpoint_figures(
    reading: CheckpointReading, scheme: theme.Scheme = "light"
) -> list[NamedChart]:
    """The pictures as Altair's charts in the project's look, for light paper or dark screens."""
    from attnlab.drawing import theme

    return [
        NamedChart(p.id, p.title, p.caption, p.draw(p.rows).configure(**theme.config(scheme)))
        for p in pictures(reading)
    ]


def pictures(reading: CheckpointReading) -> list[Picture]:
    """Maps of the effective ranks and of the angle to I, then the singular values."""
    least = min(size.least_angle for size in reading.sizes.values())
    most = max(size.rank for size in reading.sizes.values())
    made = [
        Picture(
            "entropy-rank",
            "Entropy rank of every head",
            "exp of the entropy of sigma / sum(sigma), by layer and head; at most r.",
            map_rows(reading, lambda form: form.entropy_rank),
            lambda rows: draw_map(rows, "entropy rank", [0, most]),
        ),
        Picture(
            "stable-rank",
            "Stable rank of every head",
            "The square of the Frobenius norm over that of the spectral norm, by layer and head; "
            "at most r.",
            map_rows(reading, lambda form: form.stable_rank),
            lambda rows: draw_map(rows, "stable rank", [0, max(row["value"] for row in rows)]),
        ),
        Picture(
            "angle",
            "Angle of every head to the identity",
            "In degrees: 0 is a positive multiple of I, 90 is orthogonal to it, 180 a negative "
            f"one; at these ranks {least:.1f} to {180 - least:.1f} are possible. A form that is 0 "
            "has none.",
            map_rows(reading, lambda form: form.angle),
            draw_angles,
        ),
    ]
    if len(reading.sizes) > 1:
        few = "" if len(reading.sizes) <= FEW else " Read a few layers alone to see every head."
        made.append(
            Picture(
                "singular-values",
                "Singular values by layer",
                f"The median over the heads of a layer, of each form's i-th singular value.{few}",
                layer_rows(reading),
                lambda rows: draw_spectra(rows, "layer"),
            )
        )
    if len(reading.sizes) <= FEW:
        made += [_heads_of(reading, number) for number in reading.sizes]
    return made


def _heads_of(reading: CheckpointReading, number: int) -> Picture:
    return Picture(
        f"singular-values-layer-{number}",
        f"Singular values of layer {number}",
        "Of each head's two forms; those below 1e-12 of the largest are not drawn.",
        head_rows(reading, number),
        lambda rows: draw_spectra(rows, "head"),
    )


def map_rows(reading: CheckpointReading, value: Callable[[Form], float | None]) -> Rows:
    return [
        {"form": title, "layer": head.layer, "head": head.head, "value": value(getattr(head, form))}
        for form, title in FORMS.items()
        for head in reading.heads
    ]


def head_rows(reading: CheckpointReading, number: int) -> Rows:
    found = []
    for form, title in FORMS.items():
        for head in reading.layer(number):
            drawn = _drawn(getattr(head, form).singular_values)
            found += [{"form": title, "head": head.head, **point} for point in drawn]
    return found


def layer_rows(reading: CheckpointReading) -> Rows:
    found = []
    for form, title in FORMS.items():
        for number in reading.sizes:
            spectra = [getattr(head, form).singular_values for head in reading.layer(number)]
            medians = [statistics.median(values) for values in zip(*spectra, strict=True)]
            found += [{"form": title, "layer": number, **point} for point in _drawn(medians)]
    return found


def _drawn(values: Sequence[float]) -> Rows:
    least = DRAWN * values[0]
    return [{"index": i, "value": sigma} for i, sigma in enumerate(values, 1) if sigma > least]


def draw_angles(rows: Rows) -> Chart:
    """White at 90 degrees, and the colours as far as the farthest head from there."""
    far = max([1.0, *(abs(row["value"] - 90) for row in rows if row["value"] is not None)])
    return draw_map(rows, "angle", [90 - far, 90 + far], "blueorange")


def draw_map(
    rows: Rows, name: str, domain: Sequence[float], colours: ColorScheme_T = "viridis"
) -> Chart:
    """One cell a head."""
    import altair as alt

    scale = alt.Scale(scheme=colours, domain=list(domain))
    return (
        alt.Chart(chart_data(rows))
        .mark_rect()
        .encode(
            x=alt.X("head:O", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("layer:O", sort="descending"),
            color=alt.Color("value:Q", title=name, scale=scale),
            tooltip=[
                alt.Tooltip("layer:O"),
                alt.Tooltip("head:O"),
                alt.Tooltip("value:Q", title=name, format=".4"),
            ],
        )
        .properties(width=_pixels(rows, "head"), height=_pixels(rows, "layer"))
        .facet(alt.Facet("form:N", title=None), columns=2)
    )


def draw_spectra(rows: Rows, by: str) -> Chart:
    """One line a head or a layer; y on a log axis of its own for each form."""
    import altair as alt

    single = len({row[by] for row in rows}) <= SINGLE
    return (
        alt.Chart(chart_data(rows))
        .mark_line(strokeWidth=1.5, point=alt.OverlayMarkDef(size=10))
        .encode(
            x=alt.X(
                "index:Q", axis=alt.Axis(tickMinStep=1), scale=alt.Scale(zero=False, nice=False)
            ),
            y=alt.Y("value:Q", title="singular value", scale=alt.Scale(type="log", nice=False)),
            color=alt.Color(f"{by}:{'O' if single else 'Q'}", title=by),
            detail=alt.Detail(f"{by}:N"),
            tooltip=[
                alt.Tooltip(f"{by}:O"),
                alt.Tooltip("index:Q"),
                alt.Tooltip("value:Q", format=".4"),
            ],
        )
        .properties(width=190, height=220)
        .facet(alt.Facet("form:N", title=None), columns=2, align="each")
        .resolve_scale(y="independent")
    )


def _pixels(rows: Rows, name: str) -> int:
    return min(max(CELL * len({row[name] for row in rows}), LEAST), MOST)
