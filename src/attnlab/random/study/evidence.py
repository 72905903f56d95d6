"""What a run is evidence for: the grade of a verdict, and when a smaller run may decide.

A sentence about a figure is a sentence about its dimension, d = 80. The simulation at that
dimension decides it. A simulation at a smaller one decides only where the limit law says the same,
so that the dimension of the figure lies between two that agree; elsewhere the claim stays open.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from attnlab.lab.study import NO_SCALE, UNDECIDED, Resolution, Verdict, View
from attnlab.random.study import grids

PAPER_D = grids.SIZES["paper"].d


class Evidence(NamedTuple):
    """The fields of a judgement that say where it was made."""

    grade: Literal["exact", "paper's setting", "smaller setting"]
    differs: str


EXACT = Evidence("exact", "")


def at_dimension(view: View, d: int | None = None, runs: int | None = None) -> Evidence:
    """The evidence of a simulation at one dimension: that of the figures unless given."""
    at = grids.size(view.scale)
    used, several = d or at.d, runs or at.runs
    if used >= PAPER_D:
        return Evidence("paper's setting", "")
    return Evidence("smaller setting", f"d = {used}, {several} runs")


def at_dimensions(sizes: Sequence[int]) -> Evidence:
    """The evidence of an extrapolation from several dimensions."""
    if max(sizes) >= PAPER_D:
        return Evidence("paper's setting", "")
    return Evidence("smaller setting", f"d = {min(sizes)} to {max(sizes)}")


def decided(view: View, simulated: Verdict, limit: Verdict) -> tuple[Verdict, str]:
    """The verdict about a figure, and a note where this scale leaves it open."""
    if grids.size(view.scale).d >= PAPER_D or simulated == limit != UNDECIDED:
        return simulated, still_open(view) if simulated == UNDECIDED else ""
    reason = "the simulation does not decide"
    if UNDECIDED not in (simulated, limit):
        reason = f"'{simulated}' at this d, '{limit}' in the limit"
    return UNDECIDED, f"Here {reason}; {still_open(view)}"


def listed(sizes: Sequence[int]) -> str:
    """d = 30, 50 and 80."""
    *several, last = map(str, sizes)
    return f"d = {', '.join(several)} and {last}" if several else f"d = {last}"


def lacks(view: View, missing: Sequence[int]) -> str:
    """The dimensions at which a stored run lacks runs, and the command that computes them."""
    if not missing:
        return ""
    return (
        f"This run lacks runs at {listed(missing)}; 'attnlab reproduce random --scale "
        f"{view.scale}' computes them."
    )


def still_open(view: View) -> str:
    """Which scale decides what this one leaves open, or what it would take where none does."""
    if view.scale == "paper":
        runs = grids.size(view.scale).runs
        return f"{NO_SCALE} That takes more runs for each point; the figures have {runs}."
    return f"'attnlab reproduce random --scale paper' has d = {PAPER_D} and more runs."


BY_OUR_LAW = Evidence("smaller setting", "by our limit law, which is conjectured")
ROUNDING = 1e-9  # to which the laws are evaluated


def by_law(margin: float, unit: str) -> Resolution:
    """What a check of the laws notices: more than rounding. The statement is about the margin, how
    far the laws are from its line."""
    return Resolution(ROUNDING, max(abs(margin), ROUNDING), unit)
