"""Rows as the data of a chart, without Altair copying them.

Altair copies and hashes the data of a chart every time that it is layered, which takes most of the
time to draw an explorer. Inside of `tables()` a chart carries the number of its table instead, and
`filled` puts the rows back into the finished document; elsewhere the rows are the data as usual.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as alt

Rows = list[dict[str, Any]]
MARK = "attnlab table "
_held: contextvars.ContextVar[list[Rows] | None] = contextvars.ContextVar("tables", default=None)


def chart_data(rows: Rows) -> alt.Data:
    """The data of a chart."""
    import altair as alt

    held = _held.get()
    if held is None:
        return alt.Data(values=rows)
    known = next((number for number, table in enumerate(held) if table is rows), len(held))
    if known == len(held):
        held.append(rows)
    return alt.Data(values=f"{MARK}{known}")


@contextlib.contextmanager
def tables() -> Generator[list[Rows]]:
    """Charts that are made inside carry numbers in place of their rows."""
    held: list[Rows] = []
    token = _held.set(held)
    try:
        yield held
    finally:
        _held.reset(token)


def filled(spec: Any, held: list[Rows]) -> Any:
    """The same document with the rows in their places."""
    if isinstance(spec, dict):
        return {key: filled(item, held) for key, item in spec.items()}
    if isinstance(spec, list):
        return [filled(item, held) for item in spec]
    if isinstance(spec, str) and spec.startswith(MARK):
        return held[int(spec.removeprefix(MARK))]
    return spec
