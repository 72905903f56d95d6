"""The look: readable in both schemes, and the figure's own settings win."""

from __future__ import annotations

import re

import altair as alt
import pytest
import vl_convert

from attnlab.drawing import theme
from attnlab.report.provenance import span


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("scheme", "page"), [("light", "#ffffff"), ("dark", "#11151b")])
def test_marks_and_words_stand_out_from_the_page(scheme, page):
    for colour in theme.PALETTE[scheme]:
        assert contrast(colour, page) >= 2.8, colour
    for role in ("text", "faint"):
        assert contrast(theme.INK[scheme][role], page) >= 4.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_look_is_a_vega_lite_config_and_bands_are_faint(scheme):
    values = [{"x": x, "y": x + shift} for x in (1, 2) for shift in (0, 1, 5)]
    band = alt.Chart(alt.Data(values=values)).mark_errorband().encode(x="x:Q", y="y:Q")
    spec = band.configure(**theme.config(scheme)).to_dict()  # validated against the schema
    assert re.search(r'fill-?opacity="0.2"|[^-]opacity="0.2"', vl_convert.vegalite_to_svg(spec))


def test_what_the_figure_configures_wins():
    spec = {"mark": "point", "config": {"axis": {"grid": False}, "background": "beige"}}
    found = theme.themed(spec)["config"]
    assert found["background"] == "beige"
    assert found["axis"]["grid"] is False
    assert found["axis"]["labelFontSize"] == theme.config()["axis"]["labelFontSize"]


def test_a_column_is_told_by_its_values_or_its_range():
    assert span([3, 1, 1]) == "1, 3"
    assert span(range(10)) == "0 to 9 (10 values)"
    assert span([True, False]) == "no, yes"
    assert span(["b", None, "a"]) == "a, b, none"
