"""A figure at the size of a stamp: its marks alone, without words that nobody could read there."""

from __future__ import annotations

import copy
from typing import Any

WIDTH, HEIGHT = 240, 150
SPACING = 6
PANELS = 3  # of a facet, about
BARE = {"labels": False, "ticks": False, "title": None}
LAYOUTS = ("concat", "hconcat", "vconcat")


def thumbnail(spec: dict[str, Any]) -> dict[str, Any]:
    """The document of a small picture: of several panels beside one another the middle one."""
    small = copy.deepcopy(spec)
    config = small.get("config", {})
    for layout in LAYOUTS:
        if panels := small.get(layout):
            shared = {name: small[name] for name in ("data", "datasets") if name in small}
            small = {**shared, **panels[len(panels) // 2]}
    _strip(small)
    faceted = "facet" in small or {"facet", "row", "column"} & set(small.get("encoding", {}))
    plot = small.get("spec", small)
    plot["width"] = WIDTH // PANELS - SPACING if faceted else WIDTH
    plot["height"] = HEIGHT
    return {**small, "config": {**config, "padding": 2, "facet": {"spacing": SPACING}}}


def _strip(part: dict[str, Any]) -> None:
    """Take away titles, labels and legends, however deep."""
    part.pop("title", None)
    for name, channel in part.get("encoding", {}).items():
        if not isinstance(channel, dict):
            continue
        if name in ("x", "y"):
            if channel.get("axis", {}) is not None:
                channel["axis"] = {**(channel.get("axis") or {}), **BARE}
        elif name in ("facet", "row", "column"):
            channel["header"] = None
        elif "field" in channel or "datum" in channel:
            channel["legend"] = None
    facet = part.get("facet", {})
    for given in (facet, facet.get("row"), facet.get("column")):
        if isinstance(given, dict) and "field" in given:
            given["header"] = None
    for inner in (*part.get("layer", ()), part.get("spec")):
        if isinstance(inner, dict):
            _strip(inner)
