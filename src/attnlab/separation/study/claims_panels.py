"""Claims about the panels of Figures 3-5: how success moves with the parameter that a panel varies.

The text gives the grids and no trend, and its pictures no numbers. What a panel can show is judged
on the paper's experiment repeated, with its grid and number of trials: whether success rises, falls
or stays between two stretches of the panel. The law is shown beside it and decides nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from attnlab.lab.cell import Cell
from attnlab.lab.study import Claim, Judgement, Resolution, Verdict, View
from attnlab.separation.study import grids
from attnlab.separation.study.claims_theorems import PAPER
from attnlab.stats import Estimate, normal_threshold

LEVEL_SLACK = 0.02  # a panel may drift by this much and still be called level
LEVEL_LIMIT = 0.1  # a change of success that a level panel must not have

UNDECIDED: Verdict = "undecided at this scale"
Stretch = tuple[float, float]


@dataclass(frozen=True)
class Move:
    """How success changes from one stretch of a panel to another."""

    first: Stretch
    second: Stretch
    way: Literal["rises", "falls", "stays"]


@dataclass(frozen=True)
class Panel:
    """One panel: what is said of it, and the moves that say it."""

    statement: str
    moves: tuple[Move, ...]


RISES_IN_M = "rises with m up to about ten neurons and falls beyond, as the silent networks break"
SPIKE_MOVES = (Move((0.1, 0.3), (0.9, 1.2), "rises"), Move((0.9, 1.2), (2.6, 3.0), "falls"))
WIDTH_MOVES = (Move((1, 3), (8, 16), "rises"), Move((8, 16), (60, 80), "falls"))
PANELS: dict[str, Panel] = {
    "3a": Panel(
        "rises with n, from 100 to 2000 with m = log n", (Move((100, 500), (1500, 2000), "rises"),)
    ),
    "3b": Panel(
        "rises with m and then stays, n = 1000",
        (Move((1, 3), (10, 100), "rises"), Move((10, 50), (60, 100), "stays")),
    ),
    "4a": Panel("does not depend on n", (Move((200, 600), (610, 1000), "stays"),)),
    "4b": Panel("rises with d", (Move((4, 10), (34, 66), "rises"),)),
    "4c": Panel(RISES_IN_M, WIDTH_MOVES),
    "4d": Panel(
        "is nil at small spikes a1, high near a1 = 1, and breaks again at large ones", SPIKE_MOVES
    ),
    "4e": Panel(
        "breaks where the spike a0 of D0 nears that of D1",
        (Move((0.01, 0.2), (0.7, 0.8), "falls"),),
    ),
    "4f": Panel("rises with c", (Move((0.5, 0.6), (0.84, 0.9), "rises"),)),
    "5a": Panel("does not depend on n", (Move((200, 600), (610, 1000), "stays"),)),
    "5b": Panel("rises with d", (Move((4, 10), (34, 66), "rises"),)),
    "5c": Panel(RISES_IN_M, WIDTH_MOVES),
    "5d": Panel(
        "is nil at small spikes a1, high near a1 = 1, and lower again at large ones", SPIKE_MOVES
    ),
    "5e": Panel(
        "breaks where the spike a0 of D0 nears that of D1",
        (Move((0.01, 0.2), (0.7, 0.8), "falls"),),
    ),
    "5f": Panel("does not depend on c", (Move((0.5, 0.69), (0.7, 0.9), "stays"),)),
}


def panel_cells(panel: str, view: View) -> tuple[str, list[Cell]]:
    """The parameter that a panel varies, and its points."""
    number, letter = panel
    if number == "3":
        return "n" if letter == "a" else "m", grids.regression_sweep(letter, view.scale, view.seed)
    x: grids.X = "identity" if number == "4" else "ones"
    return grids.PANELS[letter], grids.attention_sweep(letter, x, view.seed)


def within(cells: Sequence[Cell], swept: str, stretch: Stretch) -> list[Cell]:
    """The points of a stretch."""
    return [c for c in cells if stretch[0] <= getattr(c.config, swept) <= stretch[1]]


def frequency(view: View, cells: Sequence[Cell]) -> Estimate:
    """The share of successes; its standard error has one success and one failure added."""
    count = sum(view.row(cell).successes for cell in cells)
    trials = sum(cell.config.trials for cell in cells)
    p = (count + 1) / (trials + 2)
    return Estimate(count / trials, math.sqrt(p * (1 - p) / trials), trials)


def _expected(view: View, cells: Sequence[Cell]) -> float:
    """The law's mean, or that of its upper bound where there is no law."""
    rows = [view.row(cell) for cell in cells]
    return sum(row.upper if row.exact is None else row.exact for row in rows) / len(rows)


def judge_panel(view: View, panel: str) -> Judgement:
    """Whether every move of a panel is seen."""
    swept, cells = panel_cells(panel, view)
    moves, shown, expected = PANELS[panel].moves, [], []
    threshold = normal_threshold(len(moves))
    verdicts, resolutions = [], []
    for move in moves:
        ends = [within(cells, swept, stretch) for stretch in (move.first, move.second)]
        low, high = (frequency(view, each) for each in ends)
        law = [_expected(view, each) for each in ends]
        change = high.value - low.value
        allowed = threshold * math.hypot(low.standard_error, high.standard_error)
        if move.way == "stays":
            verdicts.append("holds" if abs(change) <= allowed + LEVEL_SLACK else "fails")
            resolutions.append((allowed + LEVEL_SLACK, LEVEL_LIMIT))
        else:
            along = change if move.way == "rises" else -change
            verdicts.append("holds" if along > allowed else "fails" if along < -allowed else None)
            resolutions.append((allowed, abs(law[1] - law[0])))
        shown.append(
            f"{low.value:.3f} for {_named(swept, move.first)}, {high.value:.3f} for "
            f"{_named(swept, move.second)}"
        )
        expected.append(f"{move.way} (law or bound {law[0]:.3f}, {law[1]:.3f})")
    value, limit = max(resolutions, key=lambda each: each[0] / max(each[1], 1e-12))
    verdict = "fails" if "fails" in verdicts else UNDECIDED if None in verdicts else "holds"
    return Judgement(
        verdict,
        "; ".join(shown),
        "; ".join(expected),
        f"difference of two shares beyond {threshold:.2f} standard errors"
        + (
            f"; stays: within that and {LEVEL_SLACK}"
            if any(m.way == "stays" for m in moves)
            else ""
        ),
        "The trials of --scale paper do not tell the two stretches apart."
        if verdict == UNDECIDED
        else _breaks(view, swept, cells),
        grade="smaller setting"
        if (thinned := grids.thinned(panel, view.scale))
        else "paper's setting",
        differs=thinned,
        resolution=Resolution(value, limit, "of success between two stretches"),
    )


def _breaks(view: View, swept: str, cells: Sequence[Cell]) -> str:
    """Where the law passes half of its highest value, for the sweeps over the spikes."""
    if swept not in ("a0", "a1"):
        return ""
    law = {getattr(cell.config, swept): view.row(cell).exact for cell in cells}
    high = [value for value, p in law.items() if p > max(law.values()) / 2]
    return (
        f"By the law success is above half of its highest value from {swept} = {min(high):g} to "
        f"{max(high):g}."
    )


def _named(swept: str, stretch: Stretch) -> str:
    return f"{swept} = {stretch[0]:g} to {stretch[1]:g}"


def _claim(panel: str) -> Claim:
    number, letter = panel
    model = {"3": "Softmax regression", "4": "Self-attention, X = I", "5": "Self-attention, X = 1"}
    section = "7.1" if number == "3" else "7.2"
    return Claim(
        id=f"figure-{panel}",
        source=f"{PAPER}, Section {section}, Figure {number}({letter})",
        statement=f"{model[number]}: success {PANELS[panel].statement}.",
        check=lambda view: judge_panel(view, panel),
        figures=(f"fig-{panel}",),
    )


CLAIMS = tuple(_claim(panel) for panel in PANELS)
