"""Labels of log axes that a reader can follow: one way of writing numbers, and every power of ten.

Left alone, Vega writes 0.00001 and 1e-7 on the same axis, and of labels that are too close it keeps
every second one, so that 0.002, 0.01, 0.03, 0.2 stand there and 0.1 does not. Here an axis
that leaves the range of short decimals is labelled 10⁻⁷, 10⁻⁵, ..., and only as many digits between
two powers of ten are labelled as its range has room for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

SHORTEST, LONGEST = 1e-4, 1e5  # what is written as a decimal
EXPONENT = "floor(log(datum.value) / LN10 + 1e-9)"
LEADING = f"format(datum.value / pow(10, {EXPONENT}), '.4~r')"  # '1' of 0.1, '2.5' of 250
SUPERSCRIPTS = "'⁰¹²³⁴⁵⁶⁷⁸⁹'"
PANELS = ("concat", "hconcat", "vconcat")
SETTLED = ("format", "labelExpr", "values")  # an axis with one of these knows what it wants


@dataclass(frozen=True)
class Shown:
    """A channel of a plot and the rows that it shows."""

    channel: dict[str, Any]
    rows: list[Any]

    @property
    def scale(self) -> dict[str, Any]:
        return self.channel.get("scale") or {}

    @property
    def numbers(self) -> list[Any]:
        """Everything that it puts onto the axis."""
        name = self.channel.get("field")
        found = [row.get(name) for row in self.rows if isinstance(row, dict)] if name else []
        return [*found, self.channel.get("datum")]


def with_log_labels(spec: dict[str, Any], given: list[Any] | None = None) -> dict[str, Any]:
    """The same document, the log axes of every panel labelled by the range of what they show.

    `given` are the rows of panels that have none of their own.
    """
    rows = _rows(spec, given or [])
    for layout in PANELS:
        if layout in spec:
            spec = {**spec, layout: [with_log_labels(panel, rows) for panel in spec[layout]]}
    for axis in ("x", "y"):
        found = list(_channels(spec, axis, rows))
        if any(each.scale.get("type") == "log" and "base" not in each.scale for each in found):
            spec = _labelled(spec, axis, label_expression(*_range(found)))
    return spec


def label_expression(low: float, high: float) -> str:
    """The Vega expression of a label on a log axis from `low` to `high`."""
    text = "datum.label" if low >= SHORTEST and high <= LONGEST else power_label()
    digits = _digits(low, high)
    if len(digits) == 9:
        return text
    chosen = " || ".join(f"{LEADING} == '{digit}'" for digit in digits)
    return f"{chosen} ? {text} : ''"


def _digits(low: float, high: float) -> tuple[int, ...]:
    """The leading digits that are labelled: few where the range is long."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    if last - first >= 2:
        return (1,)
    marks = [digit * 10.0**power for power in (first - 1, first, last) for digit in (1, 2, 5)]
    round_ones = {mark for mark in marks if low <= mark <= high}
    return (1, 2, 5) if first <= last and len(round_ones) > 1 else tuple(range(1, 10))


def power_label() -> str:
    """A power of ten with its exponent raised; 5·10⁻² where the digit is not 1."""
    size = f"abs({EXPONENT})"
    tens = f"({size} > 9 ? {SUPERSCRIPTS}[floor({size} / 10)] : '')"
    raised = f"({EXPONENT} < 0 ? '⁻' : '') + {tens} + {SUPERSCRIPTS}[{size} % 10]"
    return f"({LEADING} == '1' ? '' : {LEADING} + '·') + '10' + {raised}"


def _range(found: Sequence[Shown]) -> tuple[float, float]:
    """Where the axis begins and ends: at powers of ten, unless the scale says otherwise."""
    domains = [each.scale["domain"] for each in found if "domain" in each.scale]
    numbers = [*(domains or (each.numbers for each in found))]
    shown = [
        number
        for group in numbers
        if isinstance(group, list)
        for number in group
        if isinstance(number, int | float) and number > 0
    ]
    if not shown:
        return 1.0, 1000.0
    low, high = min(shown), max(shown)
    if domains or any(each.scale.get("nice") is False for each in found):
        return low, high
    return 10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high))


def _rows(part: dict[str, Any], given: list[Any]) -> list[Any]:
    """The rows of a part of a document, which are its parent's where it has none."""
    rows = part.get("data", {}).get("values", given)
    return rows if isinstance(rows, list) else []


def _channels(part: dict[str, Any], axis: str, given: list[Any]) -> Iterator[Shown]:
    """The channels of one plot that share an axis."""
    rows = _rows(part, given)
    for name in (axis, f"{axis}2"):
        channel = part.get("encoding", {}).get(name)
        if isinstance(channel, dict):
            yield Shown(channel, rows)
    for inner in (*part.get("layer", ()), part.get("spec")):
        if isinstance(inner, dict):
            yield from _channels(inner, axis, rows)


def _labelled(part: dict[str, Any], axis: str, label: str) -> dict[str, Any]:
    """The plot with this label on one axis, wherever the axis says nothing of its own."""
    part = dict(part)
    channel = part.get("encoding", {}).get(axis)
    if isinstance(channel, dict) and ("field" in channel or "datum" in channel):
        own = channel.get("axis", {})
        if own is not None and not any(name in own for name in SETTLED):
            channel = {**channel, "axis": {**own, "labelExpr": label}}
            part["encoding"] = {**part["encoding"], axis: channel}
    if "layer" in part:
        part["layer"] = [_labelled(each, axis, label) for each in part["layer"]]
    if isinstance(part.get("spec"), dict):
        part["spec"] = _labelled(part["spec"], axis, label)
    return part
