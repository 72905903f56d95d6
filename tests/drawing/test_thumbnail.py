"""A thumbnail keeps the marks of a figure and none of its words."""

import re

from attnlab.drawing.pictures import svg_of
from attnlab.drawing.thumbnail import HEIGHT, WIDTH, thumbnail

ROWS = [{"x": x, "y": x * x, "k": k} for x in (1, 2, 3) for k in ("a", "b")]
PLOT = {
    "title": "one panel",
    "mark": "line",
    "encoding": {
        "x": {"field": "x", "type": "quantitative", "title": "the x"},
        "y": {"field": "y", "type": "quantitative", "axis": {"title": "the y"}},
        "color": {"field": "k", "type": "nominal"},
    },
}


def words(spec):
    return re.findall(r"<text[^>]*>([^<]+)</text>", svg_of(spec))


def test_layers_and_panels_lose_their_words_and_one_panel_is_left():
    spec = {"data": {"values": ROWS}, "concat": [{"layer": [PLOT]}, {"layer": [PLOT]}]}
    assert {"one panel", "the x", "the y", "a"} <= set(words(spec))
    small = thumbnail(spec)
    assert words(small) == []
    assert svg_of(small).count("mark-line") == svg_of(spec).count("mark-line") / 2
    assert (small["width"], small["height"]) == (WIDTH, HEIGHT)
    assert spec["concat"][0]["layer"][0]["title"] == "one panel"  # the figure is as it was


def test_facets_stay_beside_one_another():
    facet = {"column": {"field": "k", "type": "nominal"}}
    small = thumbnail({"data": {"values": ROWS}, "facet": facet, "spec": PLOT})
    assert words(small) == []
    assert small["spec"]["width"] < WIDTH / 2
