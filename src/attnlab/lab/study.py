"""A study: one paper as cells to run, figures to draw and claims to judge.

Figures and claims are pure functions of a `View`: the stored results of the cells of one scale and
seed. A study never runs anything itself and never sees the store.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from attnlab.errors import UserError
from attnlab.lab.article import Article, Finding, Grid, GridCell
from attnlab.lab.cell import AnyCell, Cell, CellKind
from attnlab.lab.explorer import Explorer, Knob
from attnlab.lab.fault import describe
from attnlab.lab.judgement import (
    UNDECIDED,
    VERDICTS,
    Judgement,
    Resolution,
    Verdict,
    all_of,
    openness,
)
from attnlab.lab.network import NamedNetwork, Networks
from attnlab.lab.statement import Statement

if TYPE_CHECKING:
    from pathlib import Path

    import altair as alt

    from attnlab.lab.display import DrawnFigure

    Drawn = alt.Chart | alt.LayerChart | alt.FacetChart | alt.ConcatChart

Scale = Literal["quick", "standard", "paper"]
SCALES: tuple[Scale, ...] = get_args(Scale)
NO_SCALE = "No scale of the study decides it."  # in the note of a claim that stays undecided
NO_ARTICLE = Article()

__all__ = [
    "NO_SCALE",
    "SCALES",
    "UNDECIDED",
    "VERDICTS",
    "Article",
    "Claim",
    "Explorer",
    "Figure",
    "Finding",
    "Grid",
    "GridCell",
    "Judgement",
    "Knob",
    "Missing",
    "NamedNetwork",
    "Networks",
    "Plan",
    "Resolution",
    "Scale",
    "Statement",
    "Study",
    "Verdict",
    "View",
    "all_of",
    "check_seed",
    "openness",
]

Row = TypeVar("Row")


class Missing(Exception):
    """A claim or figure asked for a cell that has no stored result."""


@dataclass(frozen=True, repr=False)
class View:
    """The stored results of one scale and seed, as figures and claims see them."""

    scale: Scale
    seed: int
    results: Mapping[str, Sequence[Any]]  # by the key of the cell, or of the point of a sweep

    def __repr__(self) -> str:
        return f"View({self.scale}, seed {self.seed}, results of {len(self.results)} cells)"

    def rows(self, cell: Cell[Any, Row]) -> Sequence[Row]:
        """The rows of a cell; `Missing` where the store has none."""
        try:
            return self.results[cell.key]
        except KeyError:
            raise Missing(str(cell)) from None

    def row(self, cell: Cell[Any, Row]) -> Row:
        """The row of a cell that has exactly one."""
        (only,) = self.rows(cell)
        return only


@dataclass(frozen=True)
class Claim:
    """A statement of the paper (or of ours about it) and the check that can refute it.

    `figures` names the figures of the study that show the evidence. A claim that is `ours` says
    something that the paper does not; the study's statements say beside which sentence it stands.
    """

    id: str
    source: str
    statement: str
    check: Callable[[View], Judgement]
    figures: tuple[str, ...] = ()
    ours: bool = False


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


@dataclass(frozen=True, repr=False)
class Study:
    """What a study exports as `study`: one paper.

    `networks` gives names to the networks that it ships and stores; `article` has the words of its
    page in the report, and `explorers` are what `attnlab explore` shows of it. `evidence` is the
    folder of the results that ship with it (`attnlab.lab.evidence`).
    """

    name: str
    title: str
    source: str
    summary: str
    kinds: tuple[CellKind, ...]
    cells: Callable[[Scale, int], Sequence[AnyCell]]
    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...]
    statements: tuple[Statement, ...] = ()
    networks: Networks | None = None
    article: Article = NO_ARTICLE
    explorers: tuple[Explorer, ...] = ()
    evidence: Path | None = None

    def __repr__(self) -> str:
        return (
            f"Study({self.name}: {len(self.claims)} claims, {len(self.figures)} figures, "
            f"{len(self.kinds)} kinds of cells)"
        )

    def statement_of(self, claim: str) -> str | None:
        """The statement of the paper that a claim judges or stands beside.

        Of several the one with the claim's own id is taken, or else one that it judges, rather a
        result than a sentence of the text, and of these the one that has the fewest claims.
        """

        def far(statement: Statement) -> tuple[bool, bool, bool, bool, int]:
            own = statement.claims
            sentence = statement.kind == "sentence"
            return statement.id != claim, claim not in own, own != (claim,), sentence, len(own)

        found = [each for each in self.statements if claim in (*each.claims, *each.beside)]
        return min(found, key=far).id if found else None

    def kind(self, name: str) -> CellKind:
        """The kind of cell of this name."""
        for kind in self.kinds:
            if kind.name == name:
                return kind
        raise UserError(
            f"Study {self.name!r} has no kind of cell {name!r}; "
            f"it has {', '.join(k.name for k in self.kinds)}."
        )

    def figure(
        self, id: str, store: Path | str = "attnlab-store", scale: Scale = "quick", seed: int = 0
    ) -> DrawnFigure:
        """Draw a figure from stored results; a notebook shows it.

        Parameters
        ----------
        id
            Which figure: `[figure.id for figure in study.figures]` lists them.
        store
            Folder with the results, as `attnlab reproduce` leaves it.
        scale, seed
            Which of the results.
        """
        from attnlab.lab.display import DrawnFigure
        from attnlab.lab.store import Store

        known = {figure.id: figure for figure in self.figures}
        if id not in known:
            raise UserError(f"Study {self.name!r} has no figure {id!r}; it has {', '.join(known)}.")
        opened, found = Store(store, create=False), {}
        for cell in self.plan(scale, seed).cells.values():
            found.update(opened.results(cell) or {})
        try:
            rows = known[id].data(View(scale, seed, found))
        except Missing as cell:
            raise UserError(
                f"The store {store} has no result for {cell}; run "
                f"'attnlab reproduce {self.name} --scale {scale}' first."
            ) from None
        return DrawnFigure(known[id].title, known[id].caption, rows, known[id].draw)

    def plan(self, scale: Scale, seed: int) -> Plan:
        """What the study asks for at one scale and seed; worked out once per command."""
        if scale not in SCALES:
            raise UserError(f"scale must be one of {', '.join(SCALES)}, got {scale!r}.")
        try:
            distinct = {cell.key: cell for cell in self.cells(scale, seed)}
        except UserError:
            raise
        except Exception as reason:
            raise UserError(
                f"Study {self.name!r} cannot say which cells it needs: {describe(reason)}."
            ) from reason
        return Plan(self, scale, seed, distinct)


@dataclass(frozen=True, repr=False)
class Plan:
    """The cells of a study at one scale and seed, each of them once, by key."""

    study: Study
    scale: Scale
    seed: int
    cells: Mapping[str, AnyCell]

    def __repr__(self) -> str:
        return f"Plan({self.study.name}, {self.scale}, seed {self.seed}, {len(self.cells)} cells)"


def check_seed(seed: int) -> int:
    """A seed, or the sentence that says what a seed is."""
    if seed < 0:
        raise UserError(f"seed must be an integer of at least 0, got {seed}.")
    return seed
