"""What a reading shows a person: tables of short texts, and pictures with the rows they draw.

Both are plain values: the terminal prints the tables, the report's figure stack adds the look to
the pictures and writes their files. Altair is imported only when something is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import altair as alt

    Chart = alt.Chart | alt.LayerChart | alt.FacetChart | alt.ConcatChart

Rows = list[dict[str, Any]]


class TextTable(NamedTuple):
    """A title, the columns' names and rows of as many texts; `note` explains the columns.

    `own` counts the first rows, which are the subject where the others are there to compare with.
    """

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    note: str
    own: int = 0


class Picture(NamedTuple):
    """What the report needs to show one figure; `draw` gives a chart without a theme."""

    id: str
    title: str
    caption: str
    rows: Rows
    draw: Callable[[Rows], Chart]
