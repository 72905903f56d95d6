"""What the paper says of its experiments: that they show the robustness of the theoretical results.

The text (Section 2, roadmap) says this of all experiments together; of a panel it gives the grid
and the number of trials alone. The theoretical results promise a success of 1 - delta / poly(n),
and the experiments have delta = 0.01: a panel holds where success is 1 - delta or more at every
point, and fails where it is less at some point. What would follow from lower lines, 0.9 and one
half, is shown beside it. Figures 4 and 5 are judged by the exact law, point by point; Figure 3 has
no closed law and is judged on the experiment repeated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from attnlab.lab.cell import Cell
from attnlab.lab.study import Claim, Judgement, Resolution, Verdict, View
from attnlab.separation.study import grids
from attnlab.separation.study.claims_theorems import EXACT, PAPER
from attnlab.separation.study.panels import (
    MODELS,
    PANELS,
    named,
    panel_cells,
    section,
    swept_in,
    within,
)
from attnlab.stats import LEVEL, binomial_p_value

PROMISED = 1 - grids.DELTA  # the weakest reading of 1 - delta / poly(n)
LINES = (0.5, 0.9, PROMISED)  # the last decides; the first is the lowest "robust" could mean
UNIT = "of success at one point"
PROMISE = "The theory promises 1 − δ / poly(n), and the experiments have δ = 0.01."


@dataclass(frozen=True)
class Robust:
    """What one panel shows: the points below each line, and the verdict that follows."""

    verdict: Verdict
    shown: str
    below: dict[float, list[Cell]]
    resolution: Resolution | None  # None where the law decides


def robust(view: View, panel: str) -> Robust:
    """Whether success keeps to the lines at the judged points of a panel."""
    swept, cells = panel_cells(panel, view)
    judged = within(cells, swept, PANELS[panel].defined)
    exact = panel[0] != "3"
    below = {line: [c for c in judged if _below(view, c, line, len(judged))] for line in LINES}
    least = min(judged, key=lambda cell: _share(view, cell))
    verdict: Verdict = "fails" if below[PROMISED] else "holds"
    row = view.row(least)
    shown = f"least success {_share(view, least):.3f}, for {named(swept, [least])}"
    if exact:
        shown += f" (95% interval of the trials {row.low:.2f} to {row.high:.2f})"
    word = "below" if exact else "clearly below"
    shown += "; " + ", ".join(
        f"{_where(swept, judged, below[line])} {word} {line:g}" for line in LINES
    )
    return Robust(verdict, shown, below, None if exact else _resolution(view, judged, below))


def _share(view: View, cell: Cell) -> float:
    """Success at one point: by the law, or counted where there is none."""
    row = view.row(cell)
    return row.sampled if row.exact is None else row.exact


def _below(view: View, cell: Cell, line: float, tests: int) -> bool:
    """Whether success is below a line; no more than one half is not the usual outcome."""
    row = view.row(cell)
    if row.exact is not None:
        return row.exact < line or row.exact == LINES[0]
    refused = binomial_p_value(row.successes, cell.config.trials, line) < LEVEL / tests
    return row.sampled < line and refused


def _resolution(view: View, judged: Sequence[Cell], below: dict[float, list[Cell]]) -> Resolution:
    """The shortfall that the counts of one point would have shown, and the one that there is.

    Where there is none, the next lower line is what a shortfall would have to reach.
    """
    trials = min(cell.config.trials for cell in judged)
    level = LEVEL / len(judged)
    count = math.floor(PROMISED * trials)
    while count > 0 and binomial_p_value(count, trials, PROMISED) >= level:
        count -= 1
    lowest = min((view.row(cell).sampled for cell in below[PROMISED]), default=LINES[1])
    return Resolution(PROMISED - count / trials, PROMISED - lowest, UNIT)


def _where(swept: str, judged: Sequence[Cell], cells: Sequence[Cell]) -> str:
    if len(cells) == len(judged):
        return f"all {len(judged)} points"
    return f"{len(cells)} of {len(judged)} points" + (
        f" ({named(swept, cells)})" if 0 < len(cells) <= 3 else ""
    )


def covered(view: View, panel: str) -> str:
    """Which points of a panel meet the conditions that the theory states."""
    _, cells = panel_cells(panel, view)
    if panel == "3a":
        return "Definition 3.7 has m = C log(n/δ) with C > 1; m = log n meets it at no point."
    if panel == "3b":
        return (
            "Definition 3.7 has m = C log(n/δ) with C > 1: met from m = "
            f"{PANELS[panel].defined[0]} on with δ = {grids.DELTA}; Section 7.1 names no δ."
        )
    met = [
        cell
        for cell in cells
        if not view.row(cell).outside_definition
        and cell.config.m > math.log(cell.config.n / grids.DELTA)
    ]
    share = f"{len(met)} of {len(cells)} points"
    if panel[0] == "4":
        return (
            f"Theorem 6.2 has x = 1 and covers no point; {share} have its datasets (Definition "
            "6.1) and m > log(n/δ)."
        )
    return (
        f"{share} have the X, the datasets (Definition 6.1) and the m > log(n/δ) of Theorem 6.2, "
        "whose condition on d is asymptotic."
    )


def _panel(view: View, panel: str) -> Judgement:
    found = robust(view, panel)
    swept, cells = panel_cells(panel, view)
    judged = within(cells, swept, PANELS[panel].defined)
    thinned = grids.thinned(panel, view.scale)
    exact = found.resolution is None
    left = [cell for cell in cells if cell not in judged]
    outside = f"Not judged: {named(swept, left)}." if left else ""
    notes = (covered(view, panel), outside, _by_line(found))
    return Judgement(
        found.verdict,
        found.shown,
        f"{PROMISED:g} = 1 − δ or more at every point",
        EXACT if exact else f"exact binomial tests at familywise level {LEVEL:g}",
        " ".join(filter(None, notes)),
        grade="exact" if exact else "smaller setting" if thinned else "paper's setting",
        differs="" if exact else thinned,
        resolution=found.resolution,
    )


def _by_line(found: Robust) -> str:
    kept = "holds" if found.resolution is None else "not refuted"
    verdicts = ", ".join(f"{'fails' if found.below[line] else kept} at {line:g}" for line in LINES)
    return f"{PROMISE} By line: {verdicts}."


def _name(panel: str) -> str:
    return f"{panel[0]}({panel[1]})"


def _all(view: View) -> Judgement:
    found = {panel: robust(view, panel) for panel in PANELS}
    failing = [panel for panel, each in found.items() if each.verdict == "fails"]
    by_law = [panel for panel in failing if found[panel].resolution is None]
    verdict: Verdict = "fails" if failing else "holds"
    exact = bool(by_law)
    sampled = {p: seen for p, each in found.items() if (seen := each.resolution) is not None}
    used = {p: seen for p, seen in sampled.items() if p in failing} or sampled
    thinned = "; ".join(filter(None, (grids.thinned(panel, view.scale) for panel in used)))
    lines = "; ".join(
        f"{line:g}: {_panels([p for p, each in found.items() if each.below[line]])}"
        for line in LINES
    )
    return Judgement(
        verdict,
        f"panels with a point below each line, {lines}",
        "every point of every panel has 1 − δ or more",
        f"{EXACT}; for Figure 3 exact binomial tests at familywise level {LEVEL:g} for each panel",
        PROMISE + (" It fails at every line from 1/2 on." if _below_all(found.values()) else ""),
        grade="exact" if exact else "smaller setting" if thinned else "paper's setting",
        differs="" if exact else thinned,
        resolution=None if exact else max(used.values(), key=lambda seen: seen.value / seen.limit),
    )


def _below_all(found: Iterable[Robust]) -> bool:
    """Whether some panel is below the lowest line, and so below all of them."""
    return any(each.below[LINES[0]] for each in found)


def _panels(panels: Sequence[str]) -> str:
    return f"{len(panels)} of {len(PANELS)} ({', '.join(map(_name, panels)) or 'none'})"


def _claim(panel: str) -> Claim:
    return Claim(
        id=f"figure-{panel}",
        source=f"{PAPER}, Sections 2 and {section(panel)}, Figure {_name(panel)}",
        statement=f"{MODELS[panel[0]]}: the experiment shows that the separation is robust in "
        f"{swept_in(panel)}{PANELS[panel].words}.",
        check=lambda view: _panel(view, panel),
        figures=(f"fig-{panel}",),
    )


CLAIMS = (
    *(_claim(panel) for panel in PANELS),
    Claim(
        "experiments-robust",
        f"{PAPER}, Section 2 (roadmap) and Section 7",
        "The experiments of Section 7 show the robustness of the theoretical results.",
        _all,
        tuple(f"fig-{panel}" for panel in PANELS),
    ),
)
