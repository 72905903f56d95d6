"""The Vega-Lite document of a chart, its data inside, in what JSON can say and without a theme."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from attnlab.drawing.chart_data import Rows, filled, tables
from attnlab.drawing.log_axes import with_log_labels

SHORT = 4  # characters
AS_THEY_ARE = frozenset((str, int, bool, type(None)))


def spec_of(draw: Callable[[Rows], Any], rows: Rows) -> dict[str, Any]:
    """The document of the Altair chart that `draw` makes of these rows.

    Altair's check of every part against the schema takes twice as long as all the rest and is left
    out: a document that Vega-Lite does not draw shows itself when it is drawn. For the same reason
    figures write alt.X("n:Q") and not "n:Q", which Altair looks up in all of the schema (5 ms).
    """
    import altair as alt
    from altair.utils.schemapi import debug_mode

    themed = alt.theme.enable("none"), alt.data_transformers.enable("default", max_rows=None)
    with themed[0], themed[1], debug_mode(False), tables() as held:
        spec = draw(rows).to_dict(validate=False)
        return _upright(with_log_labels(plain(filled(spec, held))), rows)


def plain(given: Any) -> Any:
    """The same structure in what JSON can say: NumPy scalars become Python's, NaN becomes null."""
    if (kind := type(given)) in AS_THEY_ARE:
        return given
    if kind is float:
        return given if math.isfinite(given) else None
    if isinstance(given, dict):
        return {str(key): plain(item) for key, item in given.items()}
    if isinstance(given, list | tuple):
        return [plain(item) for item in given]
    if isinstance(given, str):
        return given
    number = given.item() if hasattr(given, "item") else given
    return None if isinstance(number, float) and not math.isfinite(number) else number


def _upright(spec: dict[str, Any], rows: Rows) -> dict[str, Any]:
    """Short labels of a discrete x axis stand upright; Vega-Lite would turn all of them."""
    fields = {
        channel["field"]
        for channel in _channels(spec, "x")
        if channel.get("type") in ("ordinal", "nominal") and "field" in channel
    }
    labels = [row.get(name) for name in fields for row in rows]
    if not labels or any(item is None or len(str(item)) > SHORT for item in labels):
        return spec
    config = spec.get("config", {})
    discrete = {"labelAngle": 0, **config.get("axisXDiscrete", {})}
    return {**spec, "config": {**config, "axisXDiscrete": discrete}}


def _channels(spec: Any, name: str) -> Iterator[dict[str, Any]]:
    """Every encoding of this channel, however deep in layers and concatenations."""
    if isinstance(spec, list):
        for part in spec:
            yield from _channels(part, name)
    elif isinstance(spec, dict):
        found = spec.get("encoding", {}).get(name)
        if isinstance(found, dict):
            yield found
        for key in ("layer", "hconcat", "vconcat", "concat", "spec"):
            yield from _channels(spec.get(key), name)
