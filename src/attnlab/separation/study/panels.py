"""The panels of Figures 3-5: the points of each, its trials, and how neighbours are pooled.

The text gives the grids and the numbers of trials. It states no trend, and its pictures carry no
numbers. What is our reading of a panel stands here as moves from one stretch to another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from attnlab.lab.cell import Cell
from attnlab.lab.study import NO_SCALE, View
from attnlab.separation.study import grids
from attnlab.stats import Estimate

CHANGE = 0.1  # the least rise or fall of success that a panel is said to have
SMALL_CHANGE = 0.02  # the same in Figure 3(a), whose success is near 1 from the start
LARGE_CHANGE = 0.3  # the same for stretches of one to three points of 100 trials
POOLED = 1500  # trials per block of neighbours: enough to notice a departure of 0.1

Stretch = tuple[float, float]
WHOLE: Stretch = (-math.inf, math.inf)


@dataclass(frozen=True)
class Move:
    """How success changes from one stretch of a panel to another, by `least` or more."""

    first: Stretch
    second: Stretch
    way: Literal["rises", "falls", "stays"]
    least: float = CHANGE


@dataclass(frozen=True)
class Panel:
    """One panel.

    Parameters
    ----------
    trend
        Our reading of it.
    moves
        The moves that say the same.
    defined
        The stretch in which the parameter that varies is within Definition 3.7 or 6.1.
    words
        The same in words, where it is not the whole panel.
    """

    trend: str
    moves: tuple[Move, ...]
    defined: Stretch = WHOLE
    words: str = ""


RISES_IN_M = "rises with m up to about ten neurons and falls beyond, as the silent networks break"
BREAKS_IN_A0 = "falls once the spike a0 passes that at which softmax attention concentrates on it"
SPIKE_MOVES = (Move((0.1, 0.3), (0.9, 1.2), "rises"), Move((0.9, 1.2), (2.6, 3.0), "falls"))
WIDTH_MOVES = (
    Move((1, 3), (8, 16), "rises", LARGE_CHANGE),
    Move((8, 16), (60, 80), "falls"),
)

# Definition 3.7 has m = C log(n/delta) with C > 1, Definition 6.1 a1 >= 0.7 and a0 < 0.1.
WIDTHS = {n: (math.ceil(math.log(n / grids.DELTA)), math.inf) for n in (200, 1000)}
LARGE_SPIKES = (0.7, math.inf)
SMALL_SPIKES = (0.0, math.nextafter(0.1, 0.0))
ENOUGH = " from m = log(n/δ) on"
BELOW = " below a0 = 0.1"

PANELS: dict[str, Panel] = {
    "3a": Panel(
        "rises with n, from 100 to 2000 with m = log n",
        (Move((100, 500), (1500, 2000), "rises", SMALL_CHANGE),),
    ),
    "3b": Panel(
        "rises with m and then stays, n = 1000",
        (Move((1, 3), (10, 100), "rises"), Move((10, 50), (60, 100), "stays")),
        WIDTHS[1000],
        ENOUGH,
    ),
    "4a": Panel("does not depend on n from n = 220 on", (Move((220, 600), (610, 1000), "stays"),)),
    "4b": Panel(
        "rises with d from d = 6 on",
        (
            Move((6, 10), (18, 18), "rises", LARGE_CHANGE),
            Move((10, 18), (34, 66), "rises", LARGE_CHANGE),
        ),
    ),
    "4c": Panel(RISES_IN_M, WIDTH_MOVES, WIDTHS[200], ENOUGH),
    "4d": Panel(
        "is nil at small spikes a1, high near a1 = 1, and breaks again at large ones",
        SPIKE_MOVES,
        LARGE_SPIKES,
        " from a1 = 0.7 on",
    ),
    "4e": Panel(BREAKS_IN_A0, (Move((0.5, 0.65), (0.75, 0.8), "falls"),), SMALL_SPIKES, BELOW),
    "4f": Panel("rises with c", (Move((0.5, 0.6), (0.84, 0.9), "rises"),)),
    "5a": Panel("does not depend on n", (Move((200, 600), (610, 1000), "stays"),)),
    "5b": Panel(
        "rises with d",
        (
            Move((4, 6), (10, 18), "rises", LARGE_CHANGE),
            Move((10, 18), (34, 66), "rises", LARGE_CHANGE),
        ),
    ),
    "5c": Panel(RISES_IN_M, WIDTH_MOVES, WIDTHS[200], ENOUGH),
    "5d": Panel(
        "is nil at small spikes a1, high near a1 = 1, and lower again at large ones",
        SPIKE_MOVES,
        LARGE_SPIKES,
        " from a1 = 0.7 on",
    ),
    "5e": Panel(BREAKS_IN_A0, (Move((0.25, 0.38), (0.5, 0.65), "falls"),), SMALL_SPIKES, BELOW),
    "5f": Panel("hardly depends on c", (Move((0.5, 0.69), (0.7, 0.9), "stays"),)),
}

MODELS = {"3": "Softmax regression", "4": "Self-attention, X = I", "5": "Self-attention, X = 1"}


def swept_in(panel: str) -> str:
    """The parameter that a panel varies."""
    number, letter = panel
    if number == "3":
        return "n" if letter == "a" else "m"
    return grids.PANELS[letter]


def section(panel: str) -> str:
    """The section of the paper that a panel belongs to."""
    return "7.1" if panel[0] == "3" else "7.2"


def panel_cells(panel: str, view: View) -> tuple[str, Sequence[Cell]]:
    """The parameter that a panel varies, and its points."""
    number, letter = panel
    if number == "3":
        return swept_in(panel), grids.regression_sweep(letter, view.scale, view.seed)
    x: grids.X = "identity" if number == "4" else "ones"
    return swept_in(panel), grids.attention_sweep(letter, x, view.seed)


def within(cells: Sequence[Cell], swept: str, stretch: Stretch) -> list[Cell]:
    """The points of a stretch."""
    return [c for c in cells if stretch[0] <= getattr(c.config, swept) <= stretch[1]]


def blocks(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Neighbours pooled until each block has `POOLED` trials; a rest joins the last block."""
    found: list[list[Cell]] = []
    block: list[Cell] = []
    for cell in cells:
        block.append(cell)
        if trials(block) >= POOLED:
            found.append(block)
            block = []
    return [*found[:-1], [*found[-1], *block]] if found else [block]


def trials(cells: Sequence[Cell]) -> int:
    """The number of trials of some points together."""
    return sum(cell.config.trials for cell in cells)


def successes(view: View, cells: Sequence[Cell]) -> int:
    """How many of them succeeded."""
    return sum(view.row(cell).successes for cell in cells)


def frequency(view: View, cells: Sequence[Cell]) -> Estimate:
    """The share of successes; its standard error has one success and one failure added."""
    count, every = successes(view, cells), trials(cells)
    p = (count + 1) / (every + 2)
    return Estimate(count / every, math.sqrt(p * (1 - p) / every), every)


def named(swept: str, cells: Sequence[Cell]) -> str:
    """Points in words: "n = 220", or "n = 220 to 330"."""
    values = [getattr(cell.config, swept) for cell in cells]
    return f"{swept} = {min(values):g}" + (f" to {max(values):g}" if len(values) > 1 else "")


def left_open(view: View, panel: str) -> str:
    """Who decides an undecided panel; the lab names the next scale where there is a larger one.

    Figures 4 and 5 have the paper's grid and number of trials at every scale.
    """
    return "" if grids.thinned(panel, view.scale) else NO_SCALE
