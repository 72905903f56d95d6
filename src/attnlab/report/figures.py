"""A figure as files: its table as CSV, its Vega-Lite spec, and the SVG, PNG and PDF drawn from it.

The spec is drawn once, to SVG; the other pictures are that SVG. A figure whose cells are missing
becomes a sentence instead.
"""

from __future__ import annotations

import csv
import functools
import io
import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attnlab.errors import AttnlabError
from attnlab.lab.fault import told
from attnlab.lab.study import Figure, Missing, Study, View
from attnlab.report import text, theme

PIXELS = 2  # of the PNG, for each unit of the spec
DEFINED = re.compile(r'( id="|url\(#|href="#)((?:gradient_|clip)\d+)("|\))')
SHORT = 4  # characters


@dataclass(frozen=True)
class Drawn:
    """What a page needs to know of a figure. `missing` is empty when the figure was drawn."""

    id: str
    anchor: str
    title: str
    caption: str
    spec: dict[str, Any] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)  # label -> path within the site
    rows: int = 0
    missing: str = ""


def write_figure(study: Study, figure: Figure, seen: View, site: Path) -> Drawn:
    about = (figure.id, f"figure-{text.slug(figure.id)}", figure.title, figure.caption)
    try:
        rows = [plain(row) for row in figure.data(seen)]
    except Missing as cell:
        return Drawn(*about, missing=str(cell))
    except Exception as reason:
        raise AttnlabError(
            f"The figure {figure.id!r} of study {study.name!r} has no data: {told(reason)}."
        ) from reason
    spec = {"description": figure.caption, **spec_of(study, figure, rows)}
    stem = f"figures/{text.slug(study.name)}-{text.slug(figure.id)}"
    svg, png, pdf = _pictures(study, figure, theme.themed(spec))
    contents = {
        "data (CSV)": (".csv", as_csv(rows).encode()),
        "SVG": (".svg", svg.encode()),
        "PNG": (".png", png),
        "PDF": (".pdf", pdf),
        "spec (JSON)": (".vl.json", (json.dumps(theme.themed(spec)) + "\n").encode()),
    }
    for suffix, data in contents.values():
        (site / f"{stem}{suffix}").write_bytes(data)
    files = {label: f"{stem}{suffix}" for label, (suffix, _) in contents.items()}
    return Drawn(*about, spec=spec, files=files, rows=len(rows))


def spec_of(study: Study, figure: Figure, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The Vega-Lite document of a figure, its data inside, without any theme."""
    import altair as alt

    with alt.theme.enable("none"), alt.data_transformers.enable("default", max_rows=None):
        try:
            spec = figure.draw(rows).to_dict()
        except Exception as reason:
            raise AttnlabError(
                f"Figure {figure.id!r} of study {study.name!r} could not be drawn: "
                f"{type(reason).__name__}: {reason}"
            ) from reason
    return _upright(plain(spec), rows)


def as_csv(rows: Sequence[dict[str, Any]]) -> str:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


@functools.cache
def vega_bundle() -> str:
    """Vega, Vega-Lite and vega-embed as one classic script; a page on disk may load no module."""
    import vl_convert

    # The stub asks for a snippet; without one the bundle puts vegaEmbed on window.
    bundle: Any = vl_convert.javascript_bundle
    script = bundle(vl_version=_vega_lite())
    return f"(function(){{\n{script}\n}})();\n"


def plain(given: Any) -> Any:
    """The same structure in what JSON can say: NumPy scalars become Python's, NaN becomes null."""
    if isinstance(given, dict):
        return {str(key): plain(item) for key, item in given.items()}
    if isinstance(given, list | tuple):
        return [plain(item) for item in given]
    if given is None or isinstance(given, str | bool):
        return given
    number = given.item() if hasattr(given, "item") else given
    return None if isinstance(number, float) and not math.isfinite(number) else number


def _upright(spec: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
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


def _pictures(study: Study, figure: Figure, spec: dict[str, Any]) -> tuple[str, bytes, bytes]:
    import vl_convert

    try:
        svg = _seamless(vl_convert.vegalite_to_svg(spec, vl_version=_vega_lite()))
        svg = _renumbered(svg)
        return svg, vl_convert.svg_to_png(svg, scale=PIXELS), vl_convert.svg_to_pdf(svg)
    except ValueError as reason:
        raise AttnlabError(
            f"Figure {figure.id!r} of study {study.name!r} is not a chart that Vega-Lite draws: "
            f"{str(reason).splitlines()[0]}"
        ) from reason


def _seamless(svg: str) -> str:
    """Neighbouring cells of a heat map meet on whole pixels, without hairlines between them."""
    return svg.replace('<g class="mark-rect', '<g shape-rendering="crispEdges" class="mark-rect')


def _renumbered(svg: str) -> str:
    """Gradients and clips numbered from 0: Vega counts on from picture to picture."""
    numbers: dict[str, str] = {}

    def renamed(found: re.Match[str]) -> str:
        name = numbers.setdefault(found[2], f"part{len(numbers)}")
        return f"{found[1]}{name}{found[3]}"

    return DEFINED.sub(renamed, svg)


def _vega_lite() -> str:
    """The version of Vega-Lite that the installed Altair writes, as vl-convert names it."""
    import altair as alt

    return ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
