"""A slice of a plan: the cells of one kind whose configurations have given values.

A plan may take longer than one sitting. `attnlab reproduce rank --scale paper --cells
rank_encoder:layers=1,N=16` computes these of its cells and leaves the others for later.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from attnlab.errors import UserError, did_you_mean
from attnlab.lab.cell import AnyCell, CellKind, column_types, config_values
from attnlab.lab.study import Study

Value = bool | int | float | str | None
NEXT_NAME = re.compile(r",(?=[^,=]+=)")  # a comma before a name; others belong to a value
WORDS = {"true": True, "yes": True, "false": False, "no": False}


@dataclass(frozen=True)
class Slice:
    """Cells of one kind, with the values that some fields of their configuration must have."""

    kind: str
    values: tuple[tuple[str, Value], ...] = ()

    def __contains__(self, cell: AnyCell) -> bool:
        """Whether a cell belongs here; a sweep does where one of its configurations does."""
        if cell.kind.name != self.kind:
            return False
        given = (config_values(point.config) for point in cell.points)
        return any(all(each[name] == value for name, value in self.values) for each in given)


def read_slices(texts: Sequence[str], studies: Sequence[Study]) -> tuple[Slice, ...]:
    """Slices from KIND or KIND:NAME=VALUE,...; what no study has is the user's mistake."""
    kinds = {kind.name: kind for study in studies for kind in study.kinds}
    return tuple(_read(text, kinds) for text in texts)


def check_slices(texts: Sequence[str], slices: Sequence[Slice], cells: Sequence[AnyCell]) -> None:
    """Refuse a slice that none of the planned cells belongs to."""
    for text, given in zip(texts, slices, strict=True):
        if not any(cell in given for cell in cells):
            raise UserError(f"--cells {text} names none of the {len(cells)} cells of the plan.")


def _read(text: str, kinds: dict[str, CellKind]) -> Slice:
    name, colon, rest = text.partition(":")
    if name not in kinds:
        raise UserError(
            f"--cells needs a kind of cell, got {name!r}; {did_you_mean(name, kinds, 3)}"
            "'attnlab run' lists them all."
        )
    pairs = NEXT_NAME.split(rest) if colon else []
    return Slice(name, tuple(_condition(pair, kinds[name]) for pair in pairs))


def _condition(pair: str, kind: CellKind) -> tuple[str, Value]:
    name, equals, text = (part.strip() for part in pair.partition("="))
    columns = column_types(kind.config)
    if not equals or name not in columns:
        raise UserError(
            f"--cells {kind.name} needs NAME=VALUE after the colon, got {pair!r}; the names are "
            f"{', '.join(columns)}."
        )
    scalar, optional = columns[name]
    if optional and text.lower() == "none":
        return name, None
    try:
        value = WORDS[text.lower()] if scalar is bool else scalar(text)
    except (KeyError, ValueError):
        value = math.nan
    if value != value:  # not a number, or no such word
        raise UserError(f"{name} of {kind.name} must be {scalar.__name__}, got {text!r}.")
    return name, value
