"""Claims about the panels of Figures 3-5: how success moves with the parameter that a panel varies.

The text gives the grids and no trend, and its pictures no numbers, so that what is said of a panel
is our reading of it. It is judged on the paper's experiment repeated, with its grid and number of
trials: whether success rises or falls from one stretch of the panel to another, or stays, at every
point of both as well. The law is shown beside it and decides nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from attnlab.lab.cell import Cell
from attnlab.lab.study import Claim, Judgement, Resolution, Verdict, View, openness
from attnlab.separation.study import grids
from attnlab.separation.study.claims_theorems import PAPER
from attnlab.stats import LEVEL, Estimate, binomial_p_value, normal_threshold

LEVEL_SLACK = 0.02  # a panel may drift by this much and still be called level
LEVEL_LIMIT = 0.1  # a change between its halves that a level panel must not have
POINT_LIMIT = 1 / 3  # a departure of one of its points that it must not have

UNDECIDED: Verdict = "undecided at this scale"
STRETCHES = "of success between two stretches"
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
    "4a": Panel("does not depend on n from n = 220 on", (Move((220, 600), (610, 1000), "stays"),)),
    "4b": Panel(
        "rises with d from d = 6 on",
        (Move((6, 10), (18, 18), "rises"), Move((10, 18), (34, 66), "rises")),
    ),
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
    "5b": Panel(
        "rises with d",
        (Move((4, 6), (10, 18), "rises"), Move((10, 18), (34, 66), "rises")),
    ),
    "5c": Panel(RISES_IN_M, WIDTH_MOVES),
    "5d": Panel(
        "is nil at small spikes a1, high near a1 = 1, and lower again at large ones", SPIKE_MOVES
    ),
    "5e": Panel(
        "breaks where the spike a0 of D0 nears that of D1",
        (Move((0.01, 0.2), (0.7, 0.8), "falls"),),
    ),
    "5f": Panel("hardly depends on c", (Move((0.5, 0.69), (0.7, 0.9), "stays"),)),
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


@dataclass(frozen=True)
class Seen:
    """What the trials say of one move."""

    verdict: Verdict
    resolution: Resolution
    shown: str
    expected: str


def _seen(view: View, panel: str, move: Move, tests: int) -> Seen:
    """One move, tested at a level that all tests of its panel share."""
    swept, cells = panel_cells(panel, view)
    ends = [within(cells, swept, stretch) for stretch in (move.first, move.second)]
    low, high = (frequency(view, each) for each in ends)
    change = high.value - low.value
    allowed = normal_threshold(tests) * math.hypot(low.standard_error, high.standard_error)
    shown = (
        f"{low.value:.3f} for {_named(swept, move.first)}, {high.value:.3f} for "
        f"{_named(swept, move.second)}"
    )
    if move.way == "stays":
        every = [*ends[0], *ends[1]]
        law = [_expected(view, [cell]) for cell in every]
        off, noticed = _points_off(view, every, LEVEL / tests)
        names = ", ".join(f"{swept} = {getattr(cell.config, swept):g}" for cell in off)
        halves = Resolution(allowed + LEVEL_SLACK, LEVEL_LIMIT, STRETCHES)
        point = Resolution(noticed, POINT_LIMIT, "of success at one point")
        return Seen(
            "holds" if not off and abs(change) <= halves.value else "fails",
            max(halves, point, key=openness),
            f"{shown}; off at {names or 'no point'}",
            f"stays (law or bound {min(law):.3f} to {max(law):.3f})",
        )
    first, second = (_expected(view, each) for each in ends)
    along = change if move.way == "rises" else -change
    verdict: Verdict = "holds" if along > allowed else "fails" if along < -allowed else UNDECIDED
    # A refutation has seen the change itself; a confirmation is about the change of the law.
    about = abs(change) if verdict == "fails" else abs(second - first)
    return Seen(
        verdict,
        Resolution(allowed, about, STRETCHES),
        shown,
        f"{move.way} (law or bound {first:.3f}, {second:.3f})",
    )


def _points_off(view: View, cells: Sequence[Cell], level: float) -> tuple[list[Cell], float]:
    """The points whose counts refuse the pooled share, and the least departure that is refused.

    Each count is compared with the share next to it that a drift of `LEVEL_SLACK` allows.
    """
    pooled = frequency(view, cells).value

    def refused(count: int, trials: int) -> bool:
        low, high = max(pooled - LEVEL_SLACK, 0.0), min(pooled + LEVEL_SLACK, 1.0)
        return binomial_p_value(count, trials, min(max(count / trials, low), high)) < level

    off = [cell for cell in cells if refused(view.row(cell).successes, cell.config.trials)]
    trials = min(cell.config.trials for cell in cells)
    middle = round(pooled * trials)
    # Where no count is refused on one side, a departure to that side is smaller than on the other.
    ends = (
        next((k for k in range(middle, -1, -1) if refused(k, trials)), 0),
        next((k for k in range(middle, trials + 1) if refused(k, trials)), trials),
    )
    return off, max(abs(k / trials - pooled) for k in ends)


def judge_panel(view: View, panel: str) -> Judgement:
    """Whether every move of a panel is seen."""
    swept, cells = panel_cells(panel, view)
    moves = PANELS[panel].moves
    level = [move for move in moves if move.way == "stays"]
    points = [len(within(cells, swept, s)) for move in level for s in (move.first, move.second)]
    tests = len(moves) + sum(points)
    found = [_seen(view, panel, move, tests) for move in moves]
    verdicts = [each.verdict for each in found]
    refuted = [each.resolution for each in found if each.verdict == "fails"]
    verdict = "fails" if refuted else UNDECIDED if UNDECIDED in verdicts else "holds"
    thinned = grids.thinned(panel, view.scale)
    return Judgement(
        verdict,
        "; ".join(each.shown for each in found),
        "; ".join(each.expected for each in found),
        f"difference of two shares beyond {normal_threshold(tests):.2f} standard errors"
        + (
            f"; stays: within that and {LEVEL_SLACK}, and every point within {LEVEL_SLACK} of the "
            f"pooled share up to chance (exact binomial tests); familywise level {LEVEL:g}"
            if level
            else ""
        ),
        "The trials of --scale paper do not tell the two stretches apart."
        if verdict == UNDECIDED
        else f"{_before(view, panel)} {_breaks(view, swept, cells)}".strip(),
        grade="smaller setting" if thinned else "paper's setting",
        differs=thinned,
        resolution=min(refuted, key=openness)
        if refuted
        else max((each.resolution for each in found), key=openness),
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


def _before(view: View, panel: str) -> str:
    """What the law says of the points before those that are judged."""
    swept, cells = panel_cells(panel, view)
    start = min(min(*move.first, *move.second) for move in PANELS[panel].moves)
    before = within(cells, swept, (-math.inf, math.nextafter(start, -math.inf)))
    if not before:
        return ""
    values = ", ".join(
        f"{_expected(view, [cell]):.3f} at {swept} = {getattr(cell.config, swept):g}"
        for cell in before
    )
    (first,) = within(cells, swept, (start, start))
    return f"By the law success is {values} and {_expected(view, [first]):.3f} at {start:g}."


def _named(swept: str, stretch: Stretch) -> str:
    return f"{swept} = {stretch[0]:g}" + (f" to {stretch[1]:g}" if len({*stretch}) > 1 else "")


def _claim(panel: str) -> Claim:
    number, letter = panel
    model = {"3": "Softmax regression", "4": "Self-attention, X = I", "5": "Self-attention, X = 1"}
    section = "7.1" if number == "3" else "7.2"
    return Claim(
        id=f"figure-{panel}",
        source=f"{PAPER}, Section {section}, Figure {number}({letter})",
        statement=f"{model[number]}: success {PANELS[panel].statement}. Our reading of the panel; "
        "the text states no trend.",
        check=lambda view: judge_panel(view, panel),
        figures=(f"fig-{panel}",),
    )


CLAIMS = tuple(_claim(panel) for panel in PANELS)
