"""A cell of Table 1: our loss against the paper's, and what the comparison can show.

A cell is reached when our loss is at most max(paper's, laws) plus a margin: z standard errors, the
paper's and ours together, and half a printed digit, with z for all cells of a model. The laws are
the two of `attnlab.linear.theory.laws`; values of the paper below them are impossible.

A margin of more than a quarter of the paper's value shows nothing, unless our loss needs nothing of
the paper's sampling error: within our own error and half a digit it is at most the printed value.
Where the paper's own sampling error and its printed digits make the margin that wide, the cell is
blind: it is left out of every claim, and listed. Where our error does, the cell is open, and so is
a loss whose standard error is more than 5% of it: a single sequence can then make up the mean. What
other sequences show of such a tail counts in that standard error (`tails`). A loss beyond the
margin is above, however wide that is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from attnlab.lab.study import Resolution, View
from attnlab.linear.study import results
from attnlab.linear.study.table_1 import COMPARED, DEPTHS, LAWS, PAPER, law_name, rounding
from attnlab.stats import LEVEL, Estimate, normal_threshold

LARGEST = 0.25  # of the paper's value, the largest margin with which a cell is judged
SLIGHT = 0.05  # of the paper's value: a loss further above it is counted, also inside the margin
NOISELESS, STEEP = LAWS[0], 3  # without noise, from this depth on, rare sequences rule the mean
CELLS = len(LAWS) * len(DEPTHS) - len(range(STEEP, DEPTHS[-1] + 1))
SUBFAMILIES = {"GD++": (), "DIAG": ("GD++",), "AXIS": (), "FULL": ("DIAG", "AXIS")}


@dataclass(frozen=True)
class TableCell:
    """One cell: our loss, the paper's, the least lawful one, and the margin of the comparison.

    `papers` is the part of the margin that comes from the paper's sampling error and digits, if its
    network has no heavy tail, and `own` the part of our sampling error and the digits.
    """

    model: str
    depth: int
    law: str
    ours: Estimate
    paper: float
    lawful: float
    margin: float
    papers: float
    own: float

    @property
    def target(self) -> float:
        """What our loss is compared with."""
        return max(self.paper, self.lawful)

    @property
    def state(self) -> Literal["reached", "open", "above", "blind"]:
        """Whether our loss is at most the paper's or the law's value, as far as can be seen."""
        if not math.isfinite(self.ours.value):
            return "above"
        if not results.steady(self.ours):
            return "open"
        if self.ours.value > self.target + self.margin:
            return "above"
        if self.outright:
            return "reached"
        if self.papers > LARGEST * self.target:
            return "blind"
        return "reached" if self.share <= LARGEST else "open"

    @property
    def outright(self) -> bool:
        """Whether our loss is at most the paper's without any allowance for the paper's error."""
        return self.own <= LARGEST * self.target and self.ours.value <= self.target + self.own

    @property
    def share(self) -> float:
        """The margin that decides, as a share of what our loss is compared with."""
        wide = self.margin > LARGEST * self.target
        return (self.own if wide and self.outright else self.margin) / self.target

    @property
    def high(self) -> bool:
        """Whether our loss is inside the margin and above the paper's by more than a twentieth."""
        return self.state == "reached" and self.ours.value > (1 + SLIGHT) * self.target

    @property
    def steep(self) -> bool:
        """Whether rare sequences rule the mean of this cell."""
        return self.law == NOISELESS and self.depth >= STEEP

    @property
    def name(self) -> str:
        """The cell with both values."""
        ours = f"{self.ours.value:.3g}" if math.isfinite(self.ours.value) else "overflow"
        share = self.ours.standard_error / self.ours.value
        tail = f" ± {share:.0%}" if share <= 1 else f" ± {share:.2g} times as much"
        tail = "" if results.steady(self.ours) or not math.isfinite(share) else tail
        return f"{law_name(self.law)} L = {self.depth}: {ours}{tail} (paper {self.paper:.3g})"


def table_cells(view: View, model: str) -> list[TableCell]:
    """The cells of a model that this scale has."""
    return [
        table_cell(view, model, law, depth, ours)
        for law in results.laws_with(view, model)
        for depth, ours in results.by_depth(view, model, law).items()
        if (COMPARED[model], depth, law) in PAPER
    ]


def table_cell(view: View, model: str, law: str, depth: int, ours: Estimate) -> TableCell:
    """One cell with this loss."""
    paper = PAPER[COMPARED[model], depth, law]
    floor = results.ridge(view, "GD++ floor", law).value if model == "GD++" else 0.0
    single = results.ridge(view, "one layer", law).value if depth == 1 else 0.0
    lawful = max(floor, single)
    z, digits = normal_threshold(CELLS), rounding(paper)
    target = max(paper, lawful)
    sampling = results.error_of_paper(view, law, ours, target)
    error = ours.standard_error if math.isfinite(ours.standard_error) else 0.0
    margin = z * math.hypot(sampling, error) + digits
    # A tail of our own network must not count as the paper's error.
    papers = z * results.error_of_paper(view, law, ours, target, light=True) + digits
    own = z * error + digits
    return TableCell(model, depth, law, ours, paper, lawful, margin, papers, own)


def judged_cells(view: View, model: str) -> list[TableCell]:
    """The cells of `table_cells` whose mean a sample can show."""
    return [cell for cell in table_cells(view, model) if not cell.steep]


def in_state(cells: Sequence[TableCell], state: str) -> list[TableCell]:
    """The cells of one state."""
    return [cell for cell in cells if cell.state == state]


def named(cells: Sequence[TableCell], most: int = 8) -> str:
    """The cells with both values, as text."""
    return results.listed([cell.name for cell in cells], most=most)


def blind_note(cells: Sequence[TableCell]) -> str:
    """The sentence that lists the cells which are left out; empty where there are none."""
    blind = in_state(cells, "blind")
    if not blind:
        return ""
    return (
        f" Left out, because the paper's own sampling error and digits are more than {LARGEST:.0%} "
        f"of its value: {len(blind)} cells, {named(blind, most=20)}."
    )


def high_words(cells: Sequence[TableCell]) -> str:
    """How many cells are inside the margin and above the paper's value by more than a twentieth."""
    count = sum(cell.high for cell in cells)
    return f"{count} above the paper's value by more than {SLIGHT:.0%} and inside the margin"


def mostly_high(cells: Sequence[TableCell]) -> bool:
    """Whether the reached cells are above the paper's value by more than a twentieth, as a rule.

    A one-sided sign test at LEVEL. Of few cells no such test can show anything, whatever they are;
    then more than half of them are enough.
    """
    count, high = len(in_state(cells, "reached")), sum(cell.high for cell in cells)
    if 2.0**-count > LEVEL:
        return high > count / 2
    return sum(math.comb(count, k) for k in range(high, count + 1)) / 2**count <= LEVEL


def subfamily_reaches(view: View, cell: TableCell) -> bool:
    """Whether a network of a smaller family has at most the paper's loss.

    It is a network of the cell's family as well, which therefore can reach the paper's value.
    """
    losses = (
        results.held(view, model, cell.law).get(cell.depth) for model in SUBFAMILIES[cell.model]
    )
    return any(
        loss is not None and loss.value + results.MARGIN * loss.standard_error <= cell.target
        for loss in losses
    )


def tolerance() -> str:
    """The law behind the margin of a cell."""
    return (
        f"{normal_threshold(CELLS):.1f} √(SE_paper² + SE_ours²) (familywise level {LEVEL:g} for "
        f"{CELLS} cells) plus half a printed digit; a cell that needs SE_paper, with more than "
        f"{LARGEST:.0%} of the paper's value as its margin, is left out where the paper's error "
        "alone is as large, and "
        f"else open, as is one whose standard error is above {results.STEADY:.0%} of its mean; "
        f"where losses inside the margin are mostly more than {SLIGHT:.0%} above the paper's, by a "
        "sign test of the same level, none counts as reached; SE_paper is for 100,000 sequences "
        "with sampled queries"
    )


def allowance(cells: Sequence[TableCell], refuting: Sequence[TableCell] = ()) -> Resolution:
    """The widest margin of the cells that are judged, or the narrowest of those that refute."""
    shares = [cell.share for cell in cells if cell.state != "blind"]
    value = max(shares, default=math.inf)
    if refuting:
        value = min(cell.share for cell in refuting)
    return Resolution(value, LARGEST, "of the paper's value")
