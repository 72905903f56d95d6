"""A checkpoint's reading as tables in the terminal: a row a layer, the spread over its heads.

Each number is a median over the heads of a layer, with the smallest and largest where they differ.
Beside the sizes stand those of well known models. Only the command line imports this module.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from attnlab.reading.checkpoint import CheckpointReading, HeadReading
from attnlab.reading.head_ranks import PUBLIC_SIZES, Form, Sizes
from attnlab.report import text

WIDE = 136  # columns that the tables with distance, norm and c need
DEFINITIONS = (
    "rank: singular values above what rounding can make; stable: |A|_F^2 / |A|_2^2; entropy: "
    "exp of the entropy of sigma / sum(sigma); angle: of A to the identity in degrees, its sine is "
    "the distance |A - c I|_F / |A|_F to the nearest c I."
)


def print_checkpoint(reading: CheckpointReading, console: Console) -> None:
    """Names and sizes, one table a form with a row a layer, a summary, and what was left out."""
    names = reading.naming
    console.print(Text(reading.path, "bold"), soft_wrap=True)
    console.print(
        Text(
            f"{names.scheme}: {names.template} ({', '.join(names.dtypes)}, {names.layout}), "
            f"{len(reading.sizes)} of {len(names.layers)} layers, {len(reading.heads)} heads"
        ),
        soft_wrap=True,
    )
    console.print(_sizes(reading))
    console.print(Text("Q K^T, how a key is scored against a query", "bold"))
    console.print(_layers(reading, "query_key", console.width))
    console.print(Text("V O, what a token is turned into", "bold"))
    console.print(_layers(reading, "value_output", console.width))
    for line in (DEFINITIONS, *summary(reading)):
        console.print(Text(line))


def summary(reading: CheckpointReading) -> list[str]:
    """What a person wants to know first, and what the reading leaves out, a sentence a line."""
    names = reading.naming
    pairs = [(head, reading.sizes[head.layer]) for head in reading.heads]
    full = sum(head.query_key.rank == min(size.rank, size.d) for head, size in pairs)
    lines = [f"{full} of {len(pairs)} heads have a Q K^T of the full rank r above rounding."]
    angled = [head for head in reading.heads if head.query_key.angle is not None]
    if angled:
        nearest = min(angled, key=_distance)
        size = reading.sizes[nearest.layer]
        lines.append(
            f"Nearest to a multiple of I: layer {nearest.layer} head {nearest.head}, "
            f"{nearest.query_key.angle:.1f} degrees and c = {nearest.query_key.multiple:.3g}; "
            f"a form of rank {size.rank} in {size.d} dimensions has {size.least_angle:.1f} degrees "
            f"or more ({180 - size.least_angle:.1f} or less to -I)."
        )
    zero = len(reading.heads) - len(angled)
    if zero:
        lines.append(f"{text.counted(zero, 'form')} Q K^T of zero, without an angle.")
    left_out = []
    if names.biases:
        left_out.append("biases")
    if names.rotary:
        left_out.append(f"rotary embedding ({names.rotary}; Q K^T is the form at offset 0)")
    if names.norms:
        left_out.append("norms of queries and keys")
    left_out += ["the gains of the norm before the layer", "the scale 1/sqrt(r)"]
    lines.append(f"Left out of the forms: {', '.join(left_out)}.")
    if names.incomplete:
        listed = ", ".join(map(str, names.incomplete))
        lines.append(f"Not read, because some of their projections are not here: layers {listed}.")
    return lines


def _distance(head: HeadReading) -> float:
    return 1.0 if head.query_key.distance is None else head.query_key.distance


def _table(*columns: str, left: Sequence[str] = ()) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    for name in columns:
        table.add_column(name, justify="left" if name in left else "right", overflow="fold")
    return table


def _sizes(reading: CheckpointReading) -> Table:
    table = _table("model", "d", "H", "r", "kv heads", "H r / d", "least angle", left=["model"])
    kinds: dict[Sizes, list[int]] = {}
    for number, size in reading.sizes.items():
        kinds.setdefault(size, []).append(number)
    for size, numbers in kinds.items():
        few = "this file" if len(kinds) == 1 else f"this file, layers {_span(numbers)}"
        _add_size(table, few, size, "bold")
    for name, size in PUBLIC_SIZES.items():
        _add_size(table, name, size, "dim")
    return table


def _add_size(table: Table, name: str, size: Sizes, style: str) -> None:
    shared = "" if size.key_value_heads is None else str(size.key_value_heads)
    numbers = (
        size.d,
        size.heads,
        size.rank,
        shared,
        f"{size.share:.3g}",
        f"{size.least_angle:.1f}",
    )
    table.add_row(name, *map(str, numbers), style=style)


def _layers(reading: CheckpointReading, form: str, width: int) -> Table:
    """Ranks and angle; norm, c and distance too where the terminal has room for them."""
    columns: dict[str, tuple[Callable[[Form], float | None], str]] = {
        "rank": (lambda f: f.rank, "d"),
        "stable": (lambda f: f.stable_rank, ".1f"),
        "entropy": (lambda f: f.entropy_rank, ".1f"),
        "angle": (lambda f: f.angle, ".1f"),
    }
    if width >= WIDE:
        columns["distance"] = (lambda f: f.distance, ".2f")
        columns["norm"] = (lambda f: f.norm, ".3g")
        columns["c"] = (lambda f: f.multiple, ".2g")
    table = _table("layer", *columns)
    for number in reading.sizes:
        forms: list[Form] = [getattr(head, form) for head in reading.layer(number)]
        cells = (spread(map(value, forms), told) for value, told in columns.values())
        table.add_row(str(number), *cells)
    return table


def spread(values: Iterable[float | None], form: str) -> str:
    """The median, and the smallest and largest in brackets where they are not the same."""
    known = [value for value in values if value is not None]
    if not known:
        return "none"
    low, middle, high = (
        f"{value:{form}}" for value in (min(known), statistics.median_low(known), max(known))
    )
    return middle if low == high else f"{middle} ({low}–{high})"


def _span(numbers: Sequence[int]) -> str:
    whole = list(numbers) == list(range(numbers[0], numbers[-1] + 1))
    if whole and len(numbers) > 2:
        return f"{numbers[0]}-{numbers[-1]}"
    return ", ".join(map(str, numbers))
