"""Checkpoints of one model over its training: ranks and angles of every layer, step by step."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from attnlab.checkpoints.forms import Form
from attnlab.checkpoints.reading import FORMS, CheckpointReading
from attnlab.checkpoints.tables import spread
from attnlab.drawing.chart_data import chart_data
from attnlab.errors import UserError
from attnlab.lab.presentation import Picture, Rows, TextTable

if TYPE_CHECKING:
    from attnlab.lab.presentation import Chart

TITLES = {"query_key": "Q K^T", "value_output": "V O"}
NUMBER = re.compile(r"\d+")
DIGITS = 15
SINGLE = 9  # lines that a legend names one by one; more become a ramp of colours


@dataclass(frozen=True)
class Series:
    """Readings in the order of training; `steps` are the numbers in their names, or 0, 1, 2, ..."""

    steps: tuple[int, ...]
    named: bool
    readings: tuple[CheckpointReading, ...]


def order(paths: Sequence[Path]) -> tuple[list[int], list[Path], bool]:
    """The paths by the last number in their names; as given where not all have one of their own."""
    numbers = [NUMBER.findall(path.resolve().name) for path in paths]
    steps = [int(found[-1]) for found in numbers if found and len(found[-1]) <= DIGITS]
    if len(set(steps)) < len(paths):
        return list(range(len(paths))), list(paths), False
    ordered = sorted(zip(steps, paths, strict=True), key=lambda pair: pair[0])
    return [step for step, _ in ordered], [path for _, path in ordered], True


def series(paths: Sequence[Path], read: Callable[[Path], CheckpointReading]) -> Series:
    """Read every checkpoint; all have to be of one model."""
    steps, ordered, named = order(paths)
    readings: list[CheckpointReading] = []
    for path in ordered:
        found = read(path)
        first = readings[0] if readings else found
        if found.sizes != first.sizes or found.naming.template != first.naming.template:
            raise UserError(
                f"A series must be checkpoints of one model; {found.path} has other layers, heads "
                f"or names than {first.path}."
            )
        readings.append(found)
    return Series(tuple(steps), named, tuple(readings))


def rows(found: Series) -> Rows:
    """One row per checkpoint, layer and form: the medians over the heads."""
    table = []
    for step, reading in zip(found.steps, found.readings, strict=True):
        for number in reading.sizes:
            for form in FORMS:
                forms: list[Form] = [getattr(head, form) for head in reading.layer(number)]
                angles = [each.angle for each in forms if each.angle is not None]
                table.append(
                    {
                        "checkpoint": reading.path,
                        "step": step,
                        "layer": number,
                        "form": TITLES[form],
                        "rank": statistics.median(each.rank for each in forms),
                        "stable rank": statistics.median(each.stable_rank for each in forms),
                        "entropy rank": statistics.median(each.entropy_rank for each in forms),
                        "angle": statistics.median(angles) if angles else None,
                    }
                )
    return table


def sentences(found: Series) -> list[str]:
    """What was read, and how the ranks moved from the first checkpoint to the last."""
    first, last = found.readings[0], found.readings[-1]
    names = first.naming
    order = "by the numbers in their names" if found.named else "in the order given"
    lines = [
        f"{names.scheme}: {names.template}, {len(found.readings)} checkpoints {order}, "
        f"{len(first.sizes)} layers, {len(first.heads)} heads."
    ]
    for form, title in TITLES.items():
        before, after = (
            statistics.median(getattr(head, form).entropy_rank for head in reading.heads)
            for reading in (first, last)
        )
        lines.append(
            f"The median entropy rank of {title} is {before:.2f} at {found.steps[0]} and "
            f"{after:.2f} at {found.steps[-1]}."
        )
    return lines


def table(found: Series) -> TextTable:
    """One row per checkpoint: the spread over all its heads."""
    lines = []
    for step, reading in zip(found.steps, found.readings, strict=True):
        cells = []
        for form in FORMS:
            forms: list[Form] = [getattr(head, form) for head in reading.heads]
            cells += [
                spread((each.rank for each in forms), "d"),
                spread((each.entropy_rank for each in forms), ".1f"),
                spread((each.angle for each in forms), ".1f"),
            ]
        lines.append((str(step), *cells))
    columns = [
        f"{name} {title}" for title in TITLES.values() for name in ("rank", "entropy", "angle")
    ]
    note = (
        "The median over all heads, and the smallest and largest. entropy: exp of the entropy of "
        "sigma / sum(sigma); angle: to the identity in degrees."
    )
    return TextTable("Over training", ("step", *columns), lines, note)


def pictures(found: Series) -> list[Picture]:
    """Entropy rank, stable rank and angle over training, one line per layer."""
    every = rows(found)
    about = {
        "entropy rank": "Exp of the entropy of sigma / sum(sigma), median over a layer's heads.",
        "stable rank": "|A|_F^2 / |A|_2^2; the median over a layer's heads.",
        "angle": "Of A to the identity in degrees; the median over a layer's heads.",
    }
    return [
        Picture(
            f"training-{name.replace(' ', '-')}",
            f"{name.capitalize()} over training",
            caption,
            every,
            lambda drawn, name=name: draw(drawn, name, "step" if found.named else "checkpoint"),
        )
        for name, caption in about.items()
    ]


def draw(drawn: Rows, name: str, axis: str) -> Chart:
    """One line per layer, over the steps; a panel for each form."""
    import altair as alt

    single = len({row["layer"] for row in drawn}) <= SINGLE
    return (
        alt.Chart(chart_data(drawn))
        .mark_line(strokeWidth=1.5, point=alt.OverlayMarkDef(size=14))
        .encode(
            x=alt.X("step:Q", title=axis),
            y=alt.Y(f"{name}:Q", scale=alt.Scale(zero=False)),
            color=alt.Color(f"layer:{'O' if single else 'Q'}"),
            detail=alt.Detail("layer:N"),
            tooltip=[
                alt.Tooltip("checkpoint:N"),
                alt.Tooltip("layer:O"),
                alt.Tooltip("step:Q"),
                alt.Tooltip(f"{name}:Q", format=".4"),
            ],
        )
        .properties(width=220, height=220)
        .facet(alt.Facet("form:N", title=None), columns=2)
    )
