"""One look for every figure: the Vega configuration, for light paper and for dark screens.

The colours are those of Okabe and Ito, which people with any common colour blindness can tell
apart, in the same order of hues for both schemes. Studies draw without a theme; it is added here.
"""

from __future__ import annotations

from typing import Any, Literal

Scheme = Literal["light", "dark"]

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
WIDTH, HEIGHT = 600, 320

# blue, vermilion, green, purple, orange, sky, grey, black
PALETTE: dict[Scheme, list[str]] = {
    "light": [
        "#0072b2",
        "#d55e00",
        "#009e73",
        "#b8578f",
        "#c98a00",
        "#3e9fd6",
        "#757d88",
        "#14181d",
    ],
    "dark": [
        "#5aa9e6",
        "#ff8a4c",
        "#2fc79a",
        "#e39ac4",
        "#f0b429",
        "#9fd3f5",
        "#98a1ac",
        "#f4f6f9",
    ],
}
INK: dict[Scheme, dict[str, str]] = {
    "light": {"text": "#1f2733", "faint": "#55606e", "grid": "#e7eaee", "line": "#aab2bd"},
    "dark": {"text": "#e4e8ee", "faint": "#a7b0bd", "grid": "#2b333e", "line": "#566171"},
}
# of viridis: its darkest end vanishes on a dark page, its lightest on paper
ORDINAL: dict[Scheme, list[float]] = {"light": [0.0, 0.85], "dark": [0.25, 1.0]}


def config(scheme: Scheme = "light") -> dict[str, Any]:
    """The Vega-Lite `config` of one scheme."""
    ink, palette = INK[scheme], PALETTE[scheme]
    return {
        "background": "#ffffff" if scheme == "light" else "transparent",
        "font": FONT,
        "padding": 6,
        "view": {"continuousWidth": WIDTH, "continuousHeight": HEIGHT, "stroke": None},
        "axis": {
            "domainColor": ink["line"],
            "tickColor": ink["line"],
            "gridColor": ink["grid"],
            "labelColor": ink["faint"],
            "labelFontSize": 12,
            "titleColor": ink["text"],
            "titleFontSize": 13,
            "titleFontWeight": 500,
            "titlePadding": 8,
            "labelOverlap": True,
            "labelSeparation": 5,
        },
        "axisBand": {"grid": False},
        "legend": {
            "orient": "top",
            "columns": 3,
            "labelColor": ink["faint"],
            "labelFontSize": 12,
            "labelLimit": 260,
            "titleColor": ink["text"],
            "titleFontSize": 12,
            "titleFontWeight": 500,
            "symbolStrokeWidth": 2,
            "symbolBaseFillColor": ink["faint"],
            "symbolBaseStrokeColor": ink["faint"],
            "symbolOpacity": 1,
            "offset": 12,
        },
        "header": {
            "labelColor": ink["faint"],
            "labelFontSize": 12,
            "titleColor": ink["text"],
            "titleFontSize": 13,
            "titleFontWeight": 500,
        },
        "title": {
            "color": ink["text"],
            "subtitleColor": ink["faint"],
            "fontSize": 14,
            "fontWeight": 600,
            "anchor": "start",
        },
        "mark": {"color": palette[0]},
        "line": {"strokeWidth": 2},
        "point": {"size": 42, "filled": True},
        "area": {"opacity": 0.25},
        "rule": {"color": ink["faint"], "strokeWidth": 1.2},
        "text": {"color": ink["text"], "fontSize": 12},
        "errorband": {"band": {"opacity": 0.2}},
        "range": {
            "category": palette,
            "heatmap": {"scheme": "viridis"},
            "ramp": {"scheme": "viridis"},
            "ordinal": {"scheme": "viridis", "extent": ORDINAL[scheme]},
            "diverging": {"scheme": "blueorange"},
        },
    }


def themed(spec: dict[str, Any], scheme: Scheme = "light") -> dict[str, Any]:
    """The spec with this look; what the figure itself configures wins."""
    return {**spec, "config": _merged(config(scheme), spec.get("config", {}))}


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    result = dict(base)
    for key, given in over.items():
        known = result.get(key)
        if isinstance(known, dict) and isinstance(given, dict):
            given = _merged(known, given)
        result[key] = given
    return result
