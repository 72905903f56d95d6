"""Claims about Table 1 without noise, from three layers on, where rare sequences rule the mean.

The paper prints the mean over 100,000 sequences (Vladymyrov et al., arXiv 2402.14180). For a
polynomial of such a degree that mean has a law of its own, with a heavy tail and far from a normal
one, so that a printed value is compared with many evaluations that are made in the same way, and
not with a mean and its standard error. GD++ networks are DIAG and FULL networks too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attnlab.lab.study import UNDECIDED, Claim, Judgement, Resolution, Verdict, View
from attnlab.linear.study import grids, results
from attnlab.linear.study.claims_table_cells import NOISELESS, STEEP, in_state, table_cells
from attnlab.linear.study.questions_noiseless import CUTS
from attnlab.linear.study.table_1 import DEPTHS, PAPER, SEQUENCES, rounding
from attnlab.stats import clopper_pearson

SOURCE = "Vladymyrov et al., Table 1"
LINE = 0.01  # of the evaluations: a printed value that fewer of them show is not reached
CONFIDENCE = 0.99  # of all intervals of a claim together
DEEP = tuple(depth for depth in DEPTHS if depth >= STEEP)


@dataclass(frozen=True)
class Printed:
    """A printed loss, and how many evaluations of one of our networks show at most that."""

    model: str
    depth: int
    value: float
    counts: tuple[int, ...]  # for each of `CUTS`
    evaluations: int
    comparisons: int

    def share(self, count: int) -> tuple[float, float]:
        """The interval of the share of evaluations, at the level that all comparisons share."""
        return clopper_pearson(count, self.evaluations, 1 - (1 - CONFIDENCE) / self.comparisons)

    @property
    def verdict(self) -> Verdict:
        """Reached by one network is reached; that ours do not reach it refutes nothing."""
        return "holds" if self.share(max(self.counts))[0] > LINE else UNDECIDED

    def __str__(self) -> str:
        share = max(self.counts) / self.evaluations
        return f"{self.model} L = {self.depth} {self.value:.3g}: {share:.1%}"


def _printed(view: View, models: Sequence[str]) -> list[Printed]:
    """The printed values of some models, against all evaluations of this scale."""
    cells = grids.noiseless_evaluations(view.scale, view.seed)
    means: dict[tuple[int, float], list[float]] = {}
    for cell in cells:
        for row in view.rows(cell):
            means.setdefault((row.layers, row.rarest), []).append(row.mean)
    number = len(models) * len(DEEP) * len(CUTS)
    found = []
    for model in models:
        for depth in DEEP if means else ():
            value = PAPER[model, depth, NOISELESS]
            several = [means[depth, cut] for cut in CUTS]
            counts = [sum(m <= value + rounding(value) for m in each) for each in several]
            found.append(
                Printed(model, depth, value, tuple(counts), min(map(len, several)), number)
            )
    return found


def _reached(view: View, models: Sequence[str], beside: str) -> Judgement:
    """Whether evaluations of GD++ networks show the printed losses of these models."""
    found = _printed(view, models)
    if not found:
        return results.open_until("no evaluations without noise at this scale", "standard")
    missed = [str(each) for each in found if each.verdict != "holds"]
    verdict: Verdict = UNDECIDED if missed else "holds"
    # A share of 0 would have been noticed if the interval of no evaluation ends below the line.
    noticed = max(each.share(0)[1] for each in found)
    note = (
        "Networks are fitted to the eigenvalues of which an evaluation has at least "
        f"{' or '.join(f'{cut:g}' for cut in CUTS)} at each end of the spectrum. {beside}"
    )
    if missed:
        note += f" Not reached: {results.listed(missed)}. {results.left_open(view)}"
    return Judgement(
        verdict,
        f"share of {found[0].evaluations:,} evaluations that show at most the printed loss: "
        f"{', '.join(map(str, found))}",
        f"more than {LINE:.0%} of evaluations with {SEQUENCES:,} sequences and queries",
        f"Clopper-Pearson intervals at {CONFIDENCE:.0%} together; our line",
        note,
        grade="smaller setting",
        differs="GD++ fitted to the law of the eigenvalues instead of trained by Adam",
        resolution=Resolution(noticed, LINE, "of the evaluations"),
    )


def _gd(view: View) -> Judgement:
    rows = {row.layers: row for row in view.rows(grids.noiseless(view.scale))}
    whole = [
        f"L = {depth}: {_power(rows[depth].unseen)}, and {rows[depth].whole:.2g} for the network "
        "fitted to all of it"
        for depth in DEEP
        if depth in rows
    ]
    return _reached(
        view,
        ("GD++",),
        "The expectation over the whole spectrum, which rare sequences make up and an evaluation "
        f"lacks, is, for networks fitted to its frequent part, {'; '.join(whole)}.",
    )


def _others(view: View) -> Judgement:
    cells = [cell for model in ("DIAG", "FULL") for cell in table_cells(view, model) if cell.steep]
    own = in_state(cells, "reached")
    return _reached(
        view,
        ("DIAG", "FULL"),
        "They are GD++ networks, which are DIAG and FULL networks with zeros. Of the networks that "
        f"were trained as DIAG and FULL, {len(own)} of {len(cells)} have a steady mean at or below "
        "the printed loss.",
    )


def _power(value: float) -> str:
    return f"{value:.0e}" if value < 1e300 else "more than 1e300"


CLAIMS = (
    Claim(
        "table-1-noiseless",
        SOURCE,
        "Without noise, GD++ of three to seven layers reaches the losses that the paper prints.",
        _gd,
        ("table-1",),
    ),
    Claim(
        "table-1-noiseless-others",
        SOURCE,
        "Without noise, the families DIAG and FULL of three to seven layers reach the losses that "
        "the paper prints.",
        _others,
        ("table-1",),
    ),
)
