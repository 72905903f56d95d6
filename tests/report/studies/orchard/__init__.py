"""A long study for the report's tests: statements, many figures, small multiples and a table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import altair as alt

from attnlab.lab.cell import CellKind, Outcome
from attnlab.lab.part import compute
from attnlab.lab.store import Store
from attnlab.lab.study import (
    Article,
    Claim,
    Figure,
    Finding,
    Grid,
    GridCell,
    Judgement,
    Statement,
    Study,
    View,
)

PLOTS, PANELS, STATEMENTS = 16, 21, 60


@dataclass(frozen=True)
class Tree:
    kind: str = "apple"


@dataclass(frozen=True)
class Fruit:
    year: int
    fruit: float


def bear(config: Tree) -> Outcome[Fruit]:
    return Outcome([Fruit(year, math.sqrt(year) * len(config.kind)) for year in range(1, 11)])


trees = CellKind("orchard_trees", Tree, Fruit, bear)
CELL = trees(Tree())


def rows_of(view: View) -> list[dict[str, Any]]:
    return [{"year": row.year, "fruit": row.fruit} for row in view.rows(CELL)]


def draw(rows: list[dict[str, Any]]) -> alt.Chart:
    return alt.Chart(alt.Data(values=rows)).mark_line().encode(x="year:Q", y="fruit:Q")


def draw_panels(rows: list[dict[str, Any]]) -> alt.ConcatChart:
    panels = [draw(rows).properties(width=210, height=150, title=f"{i}") for i in range(PANELS)]
    return alt.concat(*panels, columns=3)


def draw_bars(rows: list[dict[str, Any]]) -> alt.Chart:
    named = [{**row, "name": f"a long name of the year {row['year']}"} for row in rows]
    return alt.Chart(alt.Data(values=named)).mark_bar().encode(x="fruit:Q", y="name:N")


def table(rows: list[dict[str, Any]]) -> Grid:
    cells = tuple(
        GridCell((("ours", f"{row['fruit']:.3g}"), ("paper", "2"), ("floor", "1")), row["year"] > 3)
        for row in rows
    )
    columns = tuple(str(row["year"]) for row in rows)
    return Grid("kind", columns, (("apple", cells), ("pear", (None, *cells[1:]))), "A note.")


def figure(name: str, drawn: Any) -> Figure:
    return Figure(
        name, f"Figure {name}", "Fruit against the year, in words enough.", rows_of, drawn
    )


def claim(number: int) -> Claim:
    verdicts = ("holds", "holds as corrected", "fails", "undecided at this scale")
    verdict = verdicts[number % 4]

    def check(view: View) -> Judgement:
        view.rows(CELL)
        note = "What is wrong with it, said in one sentence of some length. --scale paper decides."
        return Judgement(verdict, f"{number} fruits of x_{number}", "n^2", "3 errors", note)

    shown = (
        (f"plot-{number}",) if number < PLOTS else ("panels", "table") if number == PLOTS else ()
    )
    return Claim(f"claim-{number}", f"Section {number}", f"Tree {number} grows.", check, shown)


CLAIMS = tuple(claim(number) for number in range(STATEMENTS))


def statement(number: int) -> Statement:
    if number % 10 == 9:
        return Statement(
            f"s-{number}", f"Section {number}", "definition", "A tree.", reason="A definition."
        )
    claims = (f"claim-{number}",)
    if number == 0:
        claims = tuple(f"claim-{each}" for each in range(PLOTS))  # an abstract names everything
    return Statement(
        f"s-{number}",
        f"Section {number}",
        "theorem" if number else "sentence",
        f"For every $n \\ge {number}$ tree number {number} bears at least $\\frac{{n}}{{2}}$ "
        "fruits with high probability, whatever the weather.",
        claims,
    )


study = Study(
    name="orchard",
    title="How an orchard bears",
    source="Green, “An Orchard”, 2025, arXiv:2501.00002",
    summary="Trees bear fruit. They are counted.",
    kinds=(trees,),
    cells=lambda scale, seed: [CELL],
    figures=(
        *(figure(f"plot-{number}", draw) for number in range(PLOTS)),
        figure("panels", draw_panels),
        figure("table", draw),
        figure("bars", draw_bars),
    ),
    claims=CLAIMS,
    statements=tuple(statement(number) for number in range(STATEMENTS)),
    article=Article(
        introduction="A tree has $n$ leaves and bears $\\sum_{i=1}^n x_i^2$ fruits.\n\nNo more.",
        findings=(
            Finding("Tree 2 does not grow.", ("claim-2",), "fails"),
            Finding("Tree 0 grows.", ("claim-0",)),
            Finding("This is not what was found.", ("claim-2",), "holds"),
            Finding("Of a claim that does not exist.", ("claim-x",), "holds"),
        ),
        glossary=(("tree", "what bears $x_i$."),),
        picture="panels",
        tables={"table": table},
        page="orchard.md",
    ),
)


def fill(store: Store) -> None:
    """Compute and keep the only cell."""
    store.add(CELL, compute(CELL))
