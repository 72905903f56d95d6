"""Claims of ours about the panels of Figures 3-5: how success moves with the parameter that varies.

Our reading of a panel is judged on the paper's experiment repeated, with its grid and number of
trials: whether success rises or falls from one stretch of the panel to another, by a least change,
or stays. What stays is compared between its halves, in blocks of neighbouring points, and point by
point. Verdicts and resolutions come from the counts; the law is shown beside them and decides
nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from attnlab.lab.cell import Cell
from attnlab.lab.study import UNDECIDED, Claim, Judgement, Resolution, Verdict, View, all_of
from attnlab.separation.study import grids
from attnlab.separation.study.claims_theorems import PAPER
from attnlab.separation.study.panels import (
    CHANGE,
    MODELS,
    PANELS,
    Move,
    blocks,
    frequency,
    left_open,
    named,
    panel_cells,
    section,
    successes,
    trials,
    within,
)
from attnlab.stats import LEVEL, binomial_p_value, normal_threshold

LEVEL_SLACK = 0.02  # a panel may drift by this much and still be called level

STRETCHES = "of success between two stretches"
BLOCK = "of success over a block of neighbouring points"
POINT = "of success at one point"


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
        f"{low.value:.3f} for {named(swept, ends[0])}, {high.value:.3f} for {named(swept, ends[1])}"
    )
    if move.way == "stays":
        halves = Resolution(allowed + LEVEL_SLACK, move.least, STRETCHES)
        verdict: Verdict = "holds" if abs(change) <= halves.value else "fails"
        return _level(view, swept, [*ends[0], *ends[1]], tests, Seen(verdict, halves, shown, ""))
    first, second = (_expected(view, each) for each in ends)
    along = change if move.way == "rises" else -change
    short = move.least - along
    verdict = "fails" if short > allowed else "holds" if along > allowed else UNDECIDED
    # A refutation has seen what is missing to the least change.
    about = short if verdict == "fails" else move.least
    return Seen(
        verdict,
        Resolution(allowed, about, STRETCHES),
        shown,
        f"{move.way} by {move.least:g} or more (law or bound {first:.3f}, {second:.3f})",
    )


def _level(view: View, swept: str, cells: Sequence[Cell], tests: int, halves: Seen) -> Seen:
    """A stretch that stays: its halves, its blocks, and its single points, which only refute."""
    pooled = frequency(view, cells).value
    level = LEVEL / tests
    off, noticed = _off(view, blocks(cells), pooled, level)
    alone, at_point = _off(view, [[cell] for cell in cells], pooled, level)
    parts: list[tuple[Verdict, Resolution]] = [
        (halves.verdict, halves.resolution),
        ("fails" if off else "holds", Resolution(noticed, CHANGE, BLOCK)),
    ]
    for point in alone:
        away = abs(frequency(view, point).value - pooled)
        parts.append(("fails", Resolution(at_point, away, POINT)))
    verdict, resolution = all_of(parts)
    law = [_expected(view, [cell]) for cell in cells]
    names = ", ".join(named(swept, each) for each in (*off, *alone))
    return Seen(
        verdict,
        resolution,
        f"{halves.shown}; off at {names or 'no block and no point'}",
        f"stays (law or bound {min(law):.3f} to {max(law):.3f})",
    )


def _off(
    view: View, groups: Sequence[Sequence[Cell]], pooled: float, level: float
) -> tuple[list[Sequence[Cell]], float]:
    """The groups whose counts refuse the pooled share, and the least departure that is refused.

    Each count is compared with the share next to it that a drift of `LEVEL_SLACK` allows.
    """

    def refused(count: int, every: int) -> bool:
        low, high = max(pooled - LEVEL_SLACK, 0.0), min(pooled + LEVEL_SLACK, 1.0)
        return binomial_p_value(count, every, min(max(count / every, low), high)) < level

    off = [group for group in groups if refused(successes(view, group), trials(group))]
    least = min(trials(group) for group in groups)
    middle = round(pooled * least)
    # Where no count is refused on one side, a departure to that side is smaller than on the other.
    ends = (
        next((k for k in range(middle, -1, -1) if refused(k, least)), 0),
        next((k for k in range(middle, least + 1) if refused(k, least)), least),
    )
    return off, max(abs(k / least - pooled) for k in ends)


def _expected(view: View, cells: Sequence[Cell]) -> float:
    """The law's mean, or that of its upper bound where there is no law."""
    rows = [view.row(cell) for cell in cells]
    return sum(row.upper if row.exact is None else row.exact for row in rows) / len(rows)


def judge_panel(view: View, panel: str) -> Judgement:
    """Whether every move of a panel is seen."""
    swept, cells = panel_cells(panel, view)
    moves = PANELS[panel].moves
    level = [
        within(cells, swept, (move.first[0], move.second[1]))
        for move in moves
        if move.way == "stays"
    ]
    tests = len(moves) + sum(len(each) + len(blocks(each)) for each in level)
    found = [_seen(view, panel, move, tests) for move in moves]
    verdict, resolution = all_of([(each.verdict, each.resolution) for each in found])
    decided = verdict != UNDECIDED and resolution.suffices
    thinned = grids.thinned(panel, view.scale)
    return Judgement(
        verdict,
        "; ".join(each.shown for each in found),
        "; ".join(each.expected for each in found),
        f"difference of two shares beyond {normal_threshold(tests):.2f} standard errors, and not "
        "below the least change by as much"
        + (
            f"; stays: within that and {LEVEL_SLACK}, and every block and point within "
            f"{LEVEL_SLACK} of the pooled share up to chance (exact binomial tests); familywise "
            f"level {LEVEL:g}"
            if level
            else ""
        ),
        f"{_before(view, panel)} {_breaks(view, swept, cells)}".strip()
        if decided
        else left_open(view, panel),
        grade="smaller setting" if thinned else "paper's setting",
        differs=thinned,
        resolution=resolution,
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
    """What the law says of the points before a panel's level stretch."""
    swept, cells = panel_cells(panel, view)
    start = min(min(*move.first, *move.second) for move in PANELS[panel].moves)
    before = within(cells, swept, (-math.inf, math.nextafter(start, -math.inf)))
    if not before or swept not in ("n", "d"):
        return ""
    values = ", ".join(
        f"{_expected(view, [cell]):.3f} at {named(swept, [cell])}" for cell in before
    )
    (first,) = within(cells, swept, (start, start))
    return f"By the law success is {values} and {_expected(view, [first]):.3f} at {start:g}."


def _claim(panel: str) -> Claim:
    return Claim(
        id=f"figure-{panel}-trend",
        source=f"{PAPER}, Section {section(panel)}, Figure {panel[0]}({panel[1]}) (our reading)",
        statement=f"{MODELS[panel[0]]}: success {PANELS[panel].trend}.",
        check=lambda view: judge_panel(view, panel),
        figures=(f"fig-{panel}",),
        ours=True,
    )


CLAIMS = tuple(_claim(panel) for panel in PANELS)
