"""Claims about Table 1 without noise, from three layers on, where rare sequences rule the mean.

The paper prints the mean over 100,000 sequences (Vladymyrov et al., arXiv 2402.14180). For a
polynomial of such a degree that mean has a law of its own, far from a normal one, whose quantiles
are factors of many powers of ten apart. A printed value is compared with that law: many evaluations
of GD++ networks, made as the paper makes them. Where two evaluations of one network differ by more
than the comparison is about, nothing is decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attnlab.lab.study import (
    NO_SCALE,
    UNDECIDED,
    Claim,
    Judgement,
    Resolution,
    Verdict,
    View,
    all_of,
)
from attnlab.linear.study import grids, results
from attnlab.linear.study.claims_table_cells import (
    NOISELESS,
    STEEP,
    allowance,
    blind_note,
    high_words,
    in_state,
    mostly_high,
    table_cells,
    tolerance,
)
from attnlab.linear.study.questions_noiseless import CUTS
from attnlab.linear.study.table_1 import DEPTHS, PAPER, SEQUENCES, rounding
from attnlab.stats import clopper_pearson

SOURCE = "Vladymyrov et al., Table 1"
FAMILIES = ("GD++", "DIAG", "FULL")
LINE = 0.01  # of the evaluations: a printed value beyond which fewer of them lie is not theirs
FACTOR = 2.0  # between evaluations: with more, a mean says nothing about another one
CONFIDENCE = 0.99  # of all intervals of a claim together
FITTED: results.Evidence = {
    "grade": "smaller setting",
    "differs": "GD++ fitted to the law of the eigenvalues instead of trained by Adam",
}
DEEP = tuple(depth for depth in DEPTHS if depth >= STEEP)


@dataclass(frozen=True)
class Printed:
    """A printed loss, and the evaluations of our networks on both sides of it.

    `below` counts those at most the printed value, for each of `CUTS`. `rarer` counts those on the
    side that has fewer, of the network that has most there, and `low` and `high` are the 5% and 95%
    quantiles of the evaluations of that network.
    """

    model: str
    depth: int
    value: float
    below: tuple[int, ...]
    rarer: int
    low: float
    high: float
    evaluations: int
    comparisons: int

    def share(self, count: int) -> tuple[float, float]:
        """The interval of the share of evaluations, at the level that all comparisons share."""
        return clopper_pearson(count, self.evaluations, 1 - (1 - CONFIDENCE) / self.comparisons)

    @property
    def verdict(self) -> Verdict:
        """Whether a network has the value among its evaluations: not one in a hundred refutes."""
        low, high = self.share(self.rarer)
        return "holds" if low > LINE else "fails" if high < LINE else UNDECIDED

    @property
    def resolution(self) -> Resolution:
        """The factor between two evaluations; a refutation is seen by its share of them."""
        if self.verdict == "fails":
            return Resolution(self.share(0)[1], LINE, "of the evaluations")
        return Resolution(self.high / self.low, FACTOR, "as a factor between two evaluations")

    def __str__(self) -> str:
        share = max(self.below) / self.evaluations
        return f"{self.model} L = {self.depth} {self.value:.3g}: {share:.1%}"


def _printed(view: View, models: Sequence[str]) -> list[Printed]:
    """The printed values of some models, against all evaluations of this scale."""
    means: dict[tuple[int, float], list[float]] = {}
    for cell in grids.noiseless_evaluations(view.scale, view.seed):
        for row in view.rows(cell):
            means.setdefault((row.layers, row.rarest), []).append(row.mean)
    number = len(models) * len(DEEP) * len(CUTS)
    return [
        _against(model, depth, [means[depth, cut] for cut in CUTS], number)
        for model in models
        for depth in (DEEP if means else ())
    ]


def _against(
    model: str, depth: int, evaluated: Sequence[Sequence[float]], comparisons: int
) -> Printed:
    """One printed value against the evaluations of each network."""
    value = PAPER[model, depth, NOISELESS]
    digit = rounding(value)
    below = [sum(mean <= value + digit for mean in means) for means in evaluated]
    above = [sum(mean >= value - digit for mean in means) for means in evaluated]
    rarer = [min(pair) for pair in zip(below, above, strict=True)]
    best = evaluated[rarer.index(max(rarer))]
    low, high = np.quantile(best, (0.05, 0.95)).tolist()
    number = min(map(len, evaluated))
    return Printed(model, depth, value, tuple(below), max(rarer), low, high, number, comparisons)


def _agrees(view: View) -> Judgement:
    """Whether every printed loss of GD++ is one that an evaluation shows, neither low nor high."""
    found = _printed(view, ("GD++",))
    if not found:
        return results.open_until("no evaluations without noise at this scale", "standard")
    verdict, resolution = all_of([(each.verdict, each.resolution) for each in found])
    rows = {row.layers: row for row in view.rows(grids.noiseless(view.scale))}
    whole = [
        f"L = {depth}: {_power(rows[depth].unseen)}, and {rows[depth].whole:.2g} for the network "
        "fitted to all of it"
        for depth in DEEP
        if depth in rows
    ]
    shown = [
        f"L = {each.depth}: {each.low:.2g} to {each.high:.2g} (paper {each.value:.3g})"
        for each in found
    ]
    note = (
        "From four layers on two evaluations of the same network differ by more than any printed "
        "digit, so that no other mean can agree or disagree with the printed one. The expectation "
        "over the whole spectrum, which rare sequences make up and an evaluation lacks, is, for "
        f"networks fitted to its frequent part, {'; '.join(whole)}."
    )
    if verdict != "fails" and not resolution.suffices:
        note += f" {NO_SCALE} What would be needed are more than the paper's 100,000 sequences."
    return Judgement(
        verdict,
        f"nine of ten of {found[0].evaluations:,} evaluations show: {', '.join(shown)}",
        "the paper's values among the evaluations of one of our networks",
        f"at least {LINE:.0%} of the evaluations on each side, Clopper-Pearson at "
        f"{CONFIDENCE:.0%} together; nine of ten evaluations within a factor of {FACTOR:g}",
        note,
        **FITTED,
        resolution=resolution,
    )


def _can_show(view: View) -> Judgement:
    """Whether evaluations of GD++ networks can show the printed losses of all three families."""
    found = _printed(view, FAMILIES)
    if not found:
        return results.open_until("no evaluations without noise at this scale", "standard")
    missed = [str(each) for each in found if each.share(max(each.below))[0] <= LINE]
    verdict: Verdict = UNDECIDED if missed else "holds"
    note = (
        "Networks are fitted to the eigenvalues of which an evaluation has at least "
        f"{' or '.join(f'{cut:g}' for cut in CUTS)} at each end of the spectrum. GD++ networks are "
        "DIAG and FULL networks with zeros. That an optimiser misses a value would refute nothing."
    )
    if missed:
        note += f" Not shown: {results.listed(missed)}. {results.left_open(view)}"
    return Judgement(
        verdict,
        f"share of {found[0].evaluations:,} evaluations that show at most the printed loss: "
        f"{', '.join(map(str, found))}",
        f"more than {LINE:.0%} of evaluations with {SEQUENCES:,} sequences and queries",
        f"Clopper-Pearson intervals at {CONFIDENCE:.0%} together; our line",
        note,
        **FITTED,
        # A share of 0 is noticed where its interval ends below the line.
        resolution=Resolution(found[0].share(0)[1], LINE, "of the evaluations"),
    )


def _others(view: View) -> Judgement:
    """Trained networks of DIAG and FULL, whose means single sequences make up."""
    cells = [cell for model in ("DIAG", "FULL") for cell in table_cells(view, model) if cell.steep]
    if not cells:
        return results.open_until("no DIAG or FULL without noise at this scale", "standard")
    reached, above, unclear = (in_state(cells, state) for state in ("reached", "above", "open"))
    whole = len(cells) == 2 * len(DEEP)
    verdict: Verdict = UNDECIDED
    if whole and not above and not unclear and reached and not mostly_high(cells):
        verdict = "holds"
    note = (
        f"Above: {results.listed([f'{c.model} {c.name}' for c in above])}. Open, because single "
        f"sequences make up the mean: {results.listed([f'{c.model} {c.name}' for c in unclear])}."
        f"{blind_note(cells)} No network of the paper's recipe ships without noise, and no other "
        "one refutes."
    )
    return Judgement(
        verdict,
        f"{len(reached)} of {len(cells)} cells are reached, {high_words(cells)}; {len(above)} are "
        f"above, {len(unclear)} are open",
        "every cell is at most the paper's value",
        tolerance(),
        f"{note} {NO_SCALE} See table-1-noiseless for why." if verdict == UNDECIDED else note,
        **results.trained_evidence(view, NOISELESS),
        resolution=allowance(cells),
    )


def _power(value: float) -> str:
    return f"{value:.0e}" if value < 1e300 else "more than 1e300"


CLAIMS = (
    Claim(
        "table-1-noiseless",
        SOURCE,
        "Without noise, GD++ of three to seven layers has the losses that the paper prints.",
        _agrees,
        ("table-1",),
    ),
    Claim(
        "table-1-noiseless-others",
        SOURCE,
        "Without noise, DIAG and FULL of three to seven layers reach the losses that the paper "
        "prints.",
        _others,
        ("table-1",),
    ),
    Claim(
        "noiseless-evaluations",
        "Ours, beside Table 1",
        "An evaluation of a GD++ network with 100,000 sequences can show at most the loss that the "
        "paper prints without noise, for each family and three to seven layers.",
        _can_show,
        ("table-1",),
        ours=True,
    ),
)
