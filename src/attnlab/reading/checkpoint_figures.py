"""A checkpoint's reading as figures: maps over layers and heads, and the spectra of each layer.

Charts carry their data and the project's look, so that they can be shown, saved or put on a page
as they are. Only the command line and the documentation import this module.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import altair as alt

from attnlab.reading.checkpoint import CheckpointReading, HeadReading
from attnlab.reading.head_ranks import Form
from attnlab.report import theme

FORMS = {"query_key": "Q K^T", "value_output": "V O"}
DRAWN = 1e-12  # singular values below this share of the largest are left out of a log axis
CELL = 18  # pixels of a map's cell
LEAST, MOST = 160, 560
SINGLE = 9  # heads that a legend names one by one; more become a ramp of colours
LOG = alt.Scale(type="log", nice=False)


@dataclass(frozen=True)
class NamedChart:
    """A chart with a name for its file, a title and a caption."""

    name: str
    title: str
    caption: str
    chart: alt.HConcatChart


def checkpoint_figures(
    reading: CheckpointReading, scheme: theme.Scheme = "light"
) -> list[NamedChart]:
    """Maps of the effective ranks and of the angle to I, then the singular values, layer by layer.

    `scheme` picks the look for light paper or for dark screens.
    """
    least = min(size.least_angle for size in reading.sizes.values())
    charts = [
        NamedChart(
            "entropy-rank",
            "Entropy rank of every head",
            "exp of the entropy of sigma / sum(sigma), by layer and head; at most r.",
            _maps(reading, "entropy rank", lambda form: form.entropy_rank),
        ),
        NamedChart(
            "stable-rank",
            "Stable rank of every head",
            "The square of the Frobenius norm over that of the spectral norm, by layer and head.",
            _maps(reading, "stable rank", lambda form: form.stable_rank),
        ),
        NamedChart(
            "angle",
            "Angle of every head to the identity",
            "In degrees: 0 is a positive multiple of I, 90 is orthogonal to it, 180 a negative "
            f"one; at these ranks {least:.1f} to {180 - least:.1f} are possible. A form that is 0 "
            "has none.",
            _maps(reading, "angle", lambda form: form.angle, [least, 180 - least]),
        ),
        *(_spectra(reading, number) for number in reading.sizes),
    ]
    return [NamedChart(c.name, c.title, c.caption, _themed(c.chart, scheme)) for c in charts]


def _themed(chart: alt.HConcatChart, scheme: theme.Scheme) -> alt.HConcatChart:
    """The chart with the project's look; no figure here has error bands, whose look is left out."""
    look = theme.config(scheme)
    return chart.configure(**{name: item for name, item in look.items() if name != "errorband"})


def _maps(
    reading: CheckpointReading,
    name: str,
    value: Callable[[Form], float | None],
    domain: list[float] | None = None,
) -> alt.HConcatChart:
    panels = []
    for form, title in FORMS.items():
        rows = [
            {"layer": head.layer, "head": head.head, "value": value(getattr(head, form))}
            for head in reading.heads
        ]
        colours = alt.Scale(domain=domain, scheme="blueorange") if domain else alt.Scale(zero=True)
        panels.append(
            alt.Chart(alt.InlineData(values=rows), title=title)
            .mark_rect()
            .encode(
                x=alt.X("head:O", axis=alt.Axis(labelAngle=0)),
                y=alt.Y("layer:O", sort="descending"),
                color=alt.Color("value:Q", title=name, scale=colours),
                tooltip=["layer:O", "head:O", alt.Tooltip("value:Q", title=name, format=".4")],
            )
            .properties(
                width=_pixels(max(size.heads for size in reading.sizes.values())),
                height=_pixels(len(reading.sizes)),
            )
        )
    return alt.hconcat(*panels)


def _pixels(cells: int) -> int:
    return min(max(CELL * cells, LEAST), MOST)


def _spectra(reading: CheckpointReading, number: int) -> NamedChart:
    heads = reading.layer(number)
    panels = []
    for form, title in FORMS.items():
        rows = [row for head in heads for row in _values(head, getattr(head, form))]
        panels.append(
            alt.Chart(alt.InlineData(values=rows), title=title)
            .mark_line(strokeWidth=1.5, point=alt.OverlayMarkDef(size=10))
            .encode(
                x=alt.X(
                    "index:Q", axis=alt.Axis(tickMinStep=1), scale=alt.Scale(zero=False, nice=False)
                ),
                y=alt.Y("value:Q", title="singular value", scale=LOG),
                color=alt.Color(f"head:{'O' if len(heads) <= SINGLE else 'Q'}", title="head"),
                detail="head:N",
                tooltip=["head:O", "index:Q", alt.Tooltip("value:Q", format=".4")],
            )
            .properties(width=300, height=260)
        )
    return NamedChart(
        f"singular-values-layer-{number}",
        f"Singular values of layer {number}",
        "Of each head's two forms; those below 1e-12 of the largest are not drawn.",
        alt.hconcat(*panels),
    )


def _values(head: HeadReading, form: Form) -> list[dict[str, Any]]:
    least = DRAWN * form.singular_values[0]
    return [
        {"head": head.head, "index": index, "value": sigma}
        for index, sigma in enumerate(form.singular_values, 1)
        if sigma > least
    ]
