"""A study: one paper as cells to run, figures to draw and claims to judge.

Figures and claims are pure functions of a `View`: the stored results of the cells of one scale and
seed. A study never runs anything itself and never sees the store.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from attnlab.errors import UserError
from attnlab.lab.cell import Cell, CellKind

if TYPE_CHECKING:
    import altair as alt

    Drawn = alt.Chart | alt.LayerChart | alt.FacetChart | alt.ConcatChart

Scale = Literal["quick", "standard", "paper"]
SCALES: tuple[Scale, ...] = get_args(Scale)

Verdict = Literal["holds", "holds as corrected", "fails", "undecided at this scale"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

Row = TypeVar("Row")


class Missing(Exception):
    """A claim or figure asked for a cell that has no stored result."""


@dataclass(frozen=True)
class View:
    """The stored results of one scale and seed, as figures and claims see them."""

    scale: Scale
    seed: int
    results: Mapping[str, Sequence[Any]]  # by the key of the cell

    def rows(self, cell: Cell[Any, Row]) -> Sequence[Row]:
        try:
            return self.results[cell.key]
        except KeyError:
            raise Missing(str(cell)) from None

    def row(self, cell: Cell[Any, Row]) -> Row:
        (only,) = self.rows(cell)
        return only


@dataclass(frozen=True)
class Judgement:
    """What a check found: the verdict, the numbers behind it, and the law behind the tolerance."""

    verdict: Verdict
    measured: str | float
    reference: str | float
    tolerance: str
    note: str = ""


@dataclass(frozen=True)
class Claim:
    """A statement of the paper (or of ours about it) and the check that can refute it.

    `figures` names the figures of the study that show the evidence.
    """

    id: str
    source: str
    statement: str
    check: Callable[[View], Judgement]
    figures: tuple[str, ...] = ()


@dataclass(frozen=True)
class Figure:
    """A picture and the table it is drawn from."""

    id: str
    title: str
    caption: str
    data: Callable[[View], list[dict[str, Any]]]
    draw: Callable[
        [list[dict[str, Any]]], alt.Chart | alt.LayerChart | alt.FacetChart | alt.ConcatChart
    ]


@dataclass(frozen=True)
class Study:
    """What a study folder exports as `study`."""

    name: str
    title: str
    source: str
    summary: str
    kinds: tuple[CellKind, ...]
    cells: Callable[[Scale, int], Sequence[Cell]]
    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...]

    def kind(self, name: str) -> CellKind:
        for kind in self.kinds:
            if kind.name == name:
                return kind
        raise UserError(
            f"Study {self.name!r} has no kind of cell {name!r}; "
            f"it has {', '.join(k.name for k in self.kinds)}."
        )


def check_seed(seed: int) -> int:
    if seed < 0:
        raise UserError(f"seed must be an integer of at least 0, got {seed}.")
    return seed


def parse_scale(text: str) -> Scale:
    for scale in SCALES:
        if text == scale:
            return scale
    raise UserError(f"Unknown scale {text!r}; accepted are {', '.join(SCALES)}.")
