"""A checkpoint's reading as sentences and tables: a row a layer, the spread over its heads.

Each number is a median over the heads of a layer, with the smallest and largest where they differ.
Beside the sizes stand those of well known models.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence

from attnlab.checkpoints.forms import Form
from attnlab.checkpoints.reading import FORMS, CheckpointReading, HeadReading
from attnlab.checkpoints.reference import SHARE, RandomHead, Spread
from attnlab.lab.presentation import TextTable
from attnlab.rank.theory.public_sizes import PUBLIC_SIZES, Sizes

DEFINITIONS = (
    "The median over the heads of a layer, and the smallest and largest. rank: singular values "
    "above what rounding can make; stable: |A|_F^2 / |A|_2^2; entropy: exp of the entropy of "
    "sigma / sum(sigma); angle: of A to the identity in degrees; random: heads of this shape with "
    "independent normal entries, the median and the ends of the central 95 %"
)
COPYING = (
    "; copying: sum of the eigenvalues of V O over the sum of their absolute values, 1 for a head "
    "that copies and near 0 for a random one"
)
WIDE_DEFINITIONS = "; distance: |A - c I|_F / |A|_F to the nearest c I; norm: |A|_F"


def sentences(reading: CheckpointReading) -> list[str]:
    """What was found where, then the summary."""
    names = reading.naming
    found = (
        f"{names.scheme}: {names.template} ({', '.join(names.dtypes)}, {names.layout}), "
        f"{len(reading.sizes)} of {len(names.layers)} layers, {len(reading.heads)} heads."
    )
    stacks = [f"{'; '.join(names.stacks).capitalize()}."] if names.stacks else []
    return [found, *stacks, *summary(reading)]


def tables(reading: CheckpointReading, wide: bool = True) -> list[TextTable]:
    """The sizes, then one table a form with a row a layer; `wide` adds distance, norm and c."""
    note = f"{DEFINITIONS}{COPYING}{WIDE_DEFINITIONS if wide else ''}."
    return [
        _sizes(reading),
        _layers(reading, "query_key", "Q K^T, how a key is scored against a query", wide, ""),
        _layers(reading, "value_output", "V O, what a token is turned into", wide, note),
    ]


def summary(reading: CheckpointReading) -> list[str]:
    """What a person wants to know first, and what the reading leaves out, a sentence a line."""
    names = reading.naming
    full = sum(head.query_key.rank == reading.bounds[head.layer][0].rank for head in reading.heads)
    lines = [
        f"{full} of {len(reading.heads)} heads have a Q K^T of the largest rank that the "
        f"architecture allows, above rounding: {_bounds(reading)}."
    ]
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
        lines.append(_findings(reading, angled))
    zero = len(reading.heads) - len(angled)
    if zero:
        noun = "form" if zero == 1 else "forms"
        lines.append(f"{zero} {noun} Q K^T of zero, without an angle.")
    left_out = []
    if names.biases:
        left_out.append("biases")
    if names.rotary:
        left_out.append(f"rotary embedding ({names.rotary}; Q K^T is the form at offset 0)")
    if names.norms:
        left_out.append(
            "norms of queries and keys (the form is without them; one that subtracts a mean lowers "
            "the rank by one)"
        )
    left_out += names.beside
    left_out += ["the gains of the norm before the layer", "the scale 1/sqrt(r)"]
    lines.append(f"Left out of the forms: {', '.join(left_out)}.")
    if names.incomplete:
        listed = ", ".join(map(str, names.incomplete))
        lines.append(f"Not read, because some of their projections are not here: layers {listed}.")
    return lines


def _findings(reading: CheckpointReading, angled: Sequence[HeadReading]) -> str:
    """How many heads differ from random ones in angle and in entropy rank."""
    expected = (1 - SHARE) * len(angled)
    outside = {
        name: sum(
            not getattr(reading.random(head.layer)[0], name).holds(getattr(head.query_key, name))
            for head in angled
        )
        for name in ("angle", "entropy_rank")
    }
    angle = reading.random(angled[0].layer)[0].angle
    first = f"layer {angled[0].layer}: {angle.low:.2f} to {angle.high:.2f} degrees"
    return (
        f"Outside the central {SHARE:.0%} of random heads of the same shape ({first}): "
        f"{outside['angle']} of {len(angled)} heads by the angle of Q K^T and "
        f"{outside['entropy_rank']} by its entropy rank; of random heads it would be about "
        f"{expected:.2g} each."
    )


def _bounds(reading: CheckpointReading) -> str:
    """The bounds on the rank of Q K^T, each with what makes it."""
    found = dict.fromkeys(bound for bound, _ in reading.bounds.values())
    return ", ".join(f"{bound.rank} by {bound.why}" for bound in found)


def _distance(head: HeadReading) -> float:
    return 1.0 if head.query_key.distance is None else head.query_key.distance


def _sizes(reading: CheckpointReading) -> TextTable:
    kinds: dict[Sizes, list[int]] = {}
    for number, size in reading.sizes.items():
        kinds.setdefault(size, []).append(number)
    own = {
        "this file" if len(kinds) == 1 else f"this file, layers {_span(numbers)}": size
        for size, numbers in kinds.items()
    }
    return TextTable(
        "Sizes",
        ("model", "d", "H", "r", "kv heads", "H r / d", "least angle"),
        [_size(name, size) for name, size in (own | PUBLIC_SIZES).items()],
        "H heads of rank r at width d; least angle: the smallest to the identity, in degrees, that "
        "a form of rank r can have.",
        own=len(own),
    )


def _size(name: str, size: Sizes) -> tuple[str, ...]:
    shared = "" if size.key_value_heads is None else str(size.key_value_heads)
    counts = (name, str(size.d), str(size.heads), str(size.rank), shared)
    return (*counts, f"{size.share:.3g}", f"{size.least_angle:.1f}")


def _layers(reading: CheckpointReading, form: str, title: str, wide: bool, note: str) -> TextTable:
    columns: dict[str, tuple[Callable[[Form], float | None], str]] = {
        "rank": (lambda f: f.rank, "d"),
        "stable": (lambda f: f.stable_rank, ".1f"),
        "entropy": (lambda f: f.entropy_rank, ".1f"),
        "angle": (lambda f: f.angle, ".1f"),
    }
    if wide:
        columns["distance"] = (lambda f: f.distance, ".2f")
        columns["norm"] = (lambda f: f.norm, ".3g")
        columns["c"] = (lambda f: f.multiple, ".2g")
    rows = []
    for number in reading.sizes:
        heads = reading.layer(number)
        forms: list[Form] = [getattr(head, form) for head in heads]
        cells = [spread(map(value, forms), stated) for value, stated in columns.values()]
        if form == "value_output":
            cells.append(spread((head.copying for head in heads), ".2f"))
        rows.append((str(number), *cells))
    names = ["layer", *columns, *(["copying"] if form == "value_output" else [])]
    rows += [(label, *_random(random, names[1:])) for label, random in _random_heads(reading, form)]
    return TextTable(title, tuple(names), rows, note)


def _random_heads(reading: CheckpointReading, form: str) -> list[tuple[str, RandomHead]]:
    """A random head of each shape that was read."""
    kinds: dict[tuple[int, int], tuple[list[int], RandomHead]] = {}
    for number in reading.sizes:
        random = reading.random(number)[FORMS.index(form)]
        kinds.setdefault((random.d, random.r), ([], random))[0].append(number)
    several = len(kinds) > 1
    return [
        (f"random, as layers {_span(numbers)}" if several else "random", random)
        for numbers, random in kinds.values()
    ]


def _random(random: RandomHead, columns: Sequence[str]) -> tuple[str, ...]:
    known: dict[str, tuple[Spread, str]] = {
        "stable": (random.stable_rank, ".1f"),
        "entropy": (random.entropy_rank, ".1f"),
        "angle": (random.angle, ".1f"),
    }
    cells = []
    for name in columns:
        if name in known:
            found, form = known[name]
            cells.append(f"{found.median:{form}} ({found.low:{form}}–{found.high:{form}})")
        else:
            cells.append(str(min(random.d, random.r)) if name == "rank" else "")
    return tuple(cells)


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
