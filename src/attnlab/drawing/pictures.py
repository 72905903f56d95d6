"""Pictures of Vega-Lite documents: drawn once, as SVG; PNG and PDF are that SVG.

The SVG of one document has the same bytes every time, and so has the PNG.
"""

from __future__ import annotations

import functools
import re
from typing import Any

PIXELS = 2  # of a PNG, for each unit of the document
DEFINED = re.compile(r'( id="|url\(#|href="#)((?:gradient_|clip)\d+)("|\))')


def svg_of(spec: dict[str, Any], version: str = "") -> str:
    """The picture of a document; ValueError where it is none that Vega-Lite draws.

    `version` is that of Vega-Lite: Altair's if it is not given.
    """
    import vl_convert

    drawn = vl_convert.vegalite_to_svg(spec, vl_version=version or vega_lite())
    return _renumbered(_seamless(drawn))


def png_of(svg: str) -> bytes:
    """A picture as PNG, two pixels per unit."""
    import vl_convert

    return vl_convert.svg_to_png(svg, scale=PIXELS)


def pdf_of(svg: str) -> bytes:
    """A picture as PDF. Its bytes differ from time to time: vl-convert writes the date into it."""
    import vl_convert

    return vl_convert.svg_to_pdf(svg)


def bundle_version() -> str:
    """What the script of `vega_bundle` was put together from."""
    from importlib import metadata

    return f"Vega-Lite {vega_lite()} by vl-convert {metadata.version('vl-convert-python')}"


@functools.cache
def vega_bundle(version: str = "") -> str:
    """Vega, Vega-Lite and vega-embed as one classic script; a page on disk may load no module."""
    import vl_convert

    # The stub asks for a snippet; without one the bundle puts vegaEmbed on window.
    bundle: Any = vl_convert.javascript_bundle
    script = bundle(vl_version=version or vega_lite())
    return f"(function(){{\n{script}\n}})();\n"


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


def vega_lite() -> str:
    """The version of Vega-Lite that the installed Altair writes, as vl-convert names it."""
    import altair as alt

    return ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
