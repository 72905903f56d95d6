"""A study small enough to kill: squares of integers, some with weights, and one claim each way.

TOY_DELAY (seconds per cell), TOY_FAIL (an x that raises), TOY_KILL (an x that ends its process),
TOY_LARGE (an x that needs a million GB) and TOY_PRINT are read from the environment so that they
change how a run goes and not what it computes.
TOY_TURN (a scale at which the false claim holds) changes what is judged.
"""

import os
import signal
import time
from dataclasses import dataclass

import numpy as np

from attnlab.lab.cell import CellKind, Outcome
from attnlab.lab.needs import Needs
from attnlab.lab.study import Claim, Figure, Judgement, Statement, Study


@dataclass(frozen=True)
class Number:
    """A number to square."""

    x: int
    shift: float = 0.0


@dataclass(frozen=True)
class Square:
    square: float
    parity: str


def run_square(config: Number) -> Square:
    time.sleep(float(os.environ.get("TOY_DELAY", "0")))
    if str(config.x) == os.environ.get("TOY_FAIL"):
        raise RuntimeError("asked to fail")
    if str(config.x) == os.environ.get("TOY_KILL"):
        os.kill(os.getpid(), signal.SIGKILL)
    if "TOY_PRINT" in os.environ:
        print("a cell that prints")
    return Square((config.x + config.shift) ** 2, "even" if config.x % 2 == 0 else "odd")


def needs_of_square(config: Number) -> Needs:
    return Needs(1e15, reduce="x") if str(config.x) == os.environ.get("TOY_LARGE") else Needs()


@dataclass(frozen=True)
class Length:
    length: int
    kept: int


def run_vector(config: Length) -> Outcome:
    values = np.random.default_rng(config.length).normal(size=config.length)
    matrix = np.outer(values, values) @ np.outer(values, values)
    return Outcome([Norm(float(v), i) for i, v in enumerate(values)], {"matrix": matrix})


@dataclass(frozen=True)
class Norm:
    value: float
    index: int


squares = CellKind("toy_square", Number, Square, run_square, needs=needs_of_square)
vectors = CellKind("toy_vector", Length, Norm, run_vector)
SIZES = {"quick": 30, "standard": 120, "paper": 1000}


def cells(scale, seed):
    numbers = [squares(Number(x, float(seed))) for x in range(SIZES[scale])]
    return [*numbers, *(vectors(Length(n, 0)) for n in (3, 40))]


def check_sum(view):
    rows = [view.row(cell) for cell in cells(view.scale, view.seed) if cell.kind is squares]
    found = sum(row.square for row in rows)
    expected = sum((x + view.seed) ** 2 for x in range(SIZES[view.scale]))
    verdict = "holds" if found == expected else "fails"
    return Judgement(verdict, found, expected, "equality", grade="exact")


def check_false(view):
    first = view.row(squares(Number(1, float(view.seed)))).square
    turned = view.scale == os.environ.get("TOY_TURN")
    verdict = "fails" if first != -1 and not turned else "holds"
    return Judgement(verdict, first, -1, "equality", grade="exact")


def figure_data(view):
    chosen = [cell for cell in cells(view.scale, view.seed) if cell.kind is squares]
    return [{"x": cell.config.x, "square": view.row(cell).square} for cell in chosen]


def draw(rows):
    import altair as alt

    return alt.Chart(alt.Data(values=rows)).mark_line().encode(x="x:Q", y="square:Q")


study = Study(
    name="toy",
    title="Squares",
    source="arithmetic",
    summary="Squares of integers.",
    kinds=(squares, vectors),
    cells=cells,
    figures=(Figure("squares", "Squares", "The square of x against x.", figure_data, draw),),
    claims=(
        Claim("toy-sum", "arithmetic", "The squares add up.", check_sum, ("squares",)),
        Claim("toy-false", "arithmetic", "The square of one is minus one.", check_false),
    ),
    statements=(
        Statement(
            "toy-squares",
            "Chapter 1",
            "theorem",
            "The squares add up, and that of one is minus one.",
            ("toy-sum", "toy-false"),
        ),
        Statement("toy-more", "Chapter 2", "remark", "And so on.", reason="No more than a joke."),
    ),
)
