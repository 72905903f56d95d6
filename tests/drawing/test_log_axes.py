"""Labels of a log axis: decimals or powers of ten, never both, and no power of ten left out."""

from __future__ import annotations

import re

import pytest

from attnlab.drawing.log_axes import with_log_labels
from attnlab.drawing.pictures import svg_of


def plot(*values: float, **scale) -> dict:
    return {
        "data": {"values": [{"x": k, "y": y} for k, y in enumerate(values)]},
        "mark": "point",
        "encoding": {
            "x": {"field": "x", "type": "quantitative", "axis": None},
            "y": {"field": "y", "type": "quantitative", "scale": {"type": "log", **scale}},
        },
    }


def labels(spec: dict) -> list[str]:
    """What is read on the axes of a picture."""
    found = re.findall(r"<text[^>]*?(opacity=\"0\")?[^>]*>([^<]+)</text>", svg_of(spec))
    return [text for hidden, text in found if not hidden and text != "y"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((1e-7, 1), [f"10{'⁻' if k else ''}{'⁰¹²³⁴⁵⁶⁷'[k]}" for k in range(7, -1, -1)]),
        ((1e9, 1e12), ["10⁹", "10¹⁰", "10¹¹", "10¹²"]),
        ((0.003, 7), ["0.001", "0.01", "0.1", "1", "10"]),
        ((20, 60), ["10", "20", "50", "100"]),
    ],
)
def test_an_axis_is_labelled_in_one_way(values, expected):
    assert labels(with_log_labels(plot(*values))) == expected


def test_a_short_axis_has_digits_between_the_powers_of_ten():
    assert labels(with_log_labels(plot(0.05, 0.6, nice=False))) == ["0.05", "0.1", "0.2", "0.5"]
    few = labels(with_log_labels(plot(2, 5, nice=False)))
    assert {"2", "3", "4", "5"} <= set(few)
    tiny = labels(with_log_labels(plot(2e-7, 5e-7, nice=False)))
    assert tiny == [f"{label}·10⁻⁷" for label in few]


def test_what_a_figure_says_of_its_axis_stays():
    spec = plot(1e-7, 1)
    spec["encoding"]["y"]["axis"] = {"format": "~e"}
    assert with_log_labels(spec) == spec
    linear = plot(1, 2)
    linear["encoding"]["y"]["scale"] = {"zero": False}
    assert with_log_labels(linear) == linear
    two = plot(1, 1024, base=2)
    assert with_log_labels(two) == two


def test_every_panel_is_labelled_by_its_own_range_and_layers_by_the_range_of_all():
    wide, short = plot(1e-9, 1), plot(0.2, 0.6)
    beside = with_log_labels({"hconcat": [wide, short]})
    assert beside["hconcat"] == [with_log_labels(wide), with_log_labels(short)]
    over = with_log_labels({"layer": [short, wide]})
    (first, second) = (layer["encoding"]["y"]["axis"] for layer in over["layer"])
    assert first == second == with_log_labels(wide)["encoding"]["y"]["axis"]
    domain = with_log_labels(plot(1e-9, 1, domain=[0.01, 1]))
    assert labels(domain) == ["0.01", "0.1", "1"]
