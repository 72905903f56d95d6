"""Claims about noise levels on which nothing was trained: DIAG against FULL on {1, 3} (Figure 3).

Source: Vladymyrov et al. (arXiv 2402.14180), Section 6, which says of the levels that were not
trained, all of them together, that DIAG is better there. What a network does there depends on its
start. Therefore every start of FULL is compared with every run of DIAG, as far as both come within
a quarter of the paper's loss without a heavy tail, and the claim is decided where all pairs agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from attnlab.lab.study import UNDECIDED, Claim, Judgement, Resolution, Verdict, View
from attnlab.linear.study import full_results, grids, results
from attnlab.linear.study.claims_models import SOURCE
from attnlab.linear.study.claims_profiles import Profile
from attnlab.linear.study.claims_table_cells import LARGEST
from attnlab.linear.study.results import MARGIN, clearly_below
from attnlab.linear.study.table_1 import PAPER, law_name, trained_levels, trained_range
from attnlab.stats import Estimate

LAW = grids.TWO
LAST = trained_range(LAW)[1] + 1  # Section 6 has the profiles of Figure 2 from 0 to s_max + 1
CHANCE = math.erfc(MARGIN / math.sqrt(2))  # of a normal number beyond MARGIN standard errors
HALF = 0.5  # of the levels
FEWEST = 2  # networks of each model: one alone says nothing about the spread over starts


def as_good(view: View, model: str, law: str, depth: int) -> dict[int, Profile]:
    """The profiles of all starts or runs that are as good as the paper's, by their number."""
    paper = PAPER[model, depth, law]
    return {
        number: profile
        for number, (loss, profile) in results.networks(view, model, law, depth).items()
        if profile and results.steady(loss) and loss.value <= (1 + LARGEST) * paper
    }


class _Pair(NamedTuple):
    """At how many levels DIAG is clearly better than FULL, and clearly worse, of how many."""

    better: int
    worse: int
    levels: int

    @property
    def verdict(self) -> Verdict:
        """Whether DIAG is better at most of the levels."""
        if self.better > HALF * self.levels:
            return "holds"
        return "fails" if self.worse > HALF * self.levels else UNDECIDED


def _clearly_larger(first: Estimate, second: Estimate) -> bool:
    """Whether a mean is above a steady one, which a heavy tail of the first does not hide.

    A mean of numbers that are not negative is above m / CHANCE with a probability of at most
    CHANCE, if m is its expectation (Markov): under a heavy tail the expectation is at least CHANCE
    times the mean.
    """
    if not results.steady(second):
        return False
    if results.steady(first):
        return clearly_below(second, first)
    return CHANCE * first.value > second.value + MARGIN * second.standard_error


def _pair(full: Profile, diag: Profile, levels: list[float]) -> _Pair:
    better = sum(_clearly_larger(full[s], diag[s]) for s in levels)
    return _Pair(better, sum(_clearly_larger(diag[s], full[s]) for s in levels), len(levels))


def _untrained(inside: Callable[[float], bool], where: str, view: View) -> Judgement:
    """Whether DIAG is better than FULL at most of the untrained levels that are `inside`."""
    depth = grids.DEEPEST
    full, diag = (as_good(view, model, LAW, depth) for model in ("FULL", "DIAG"))
    few = [
        f"{len(found)} of {model}"
        for model, found in (("FULL", full), ("DIAG", diag))
        if len(found) < FEWEST
    ]
    if few:
        return results.open_until(
            f"{' and '.join(few)} on {law_name(LAW)} with {depth} layers and the paper's loss, "
            f"where {FEWEST} are needed",
            "standard" if view.scale == "quick" else "paper",
        )
    stored = sorted(next(iter(full.values())).keys() & next(iter(diag.values())).keys())
    trained = trained_levels(LAW, stored)
    levels = [s for s in stored if s <= LAST and s not in trained and inside(s)]
    pairs = {(f, d): _pair(full[f], diag[d], levels) for f in full for d in diag}
    verdicts: set[Verdict] = {pair.verdict for pair in pairs.values()}
    verdict: Verdict = results.after_training(
        view, verdicts.pop() if len(verdicts) == 1 else UNDECIDED
    )
    shares = [pair.better / pair.levels for pair in pairs.values()]
    shown = []
    for f in full:
        own = [pairs[f, d] for d in diag]
        low, high = (_span([getattr(p, name) for p in own]) for name in ("better", "worse"))
        shown.append(f"start {f} of FULL: DIAG is better at {low}, worse at {high}")
    return Judgement(
        verdict,
        f"{depth} layers, {len(levels)} levels {where}, {len(full)} starts of FULL against "
        f"{len(diag)} runs of DIAG: {'; '.join(shown)}",
        "DIAG below FULL at most of these levels, in every pair",
        f"by more than {MARGIN:g} standard errors at a level; a heavy tail (standard error above "
        f"{results.STEADY:.0%}) counts against its network where {CHANCE:.2g} times the sample "
        "mean is above the other loss, and leaves the level open elsewhere; networks within "
        f"{LARGEST:.0%} of the paper's loss; the levels end at {LAST:g}, as Section 6 has it for "
        "the profiles of uniform noise (s_max + 1)",
        full_results.left_open(view) if verdict == UNDECIDED else "",
        **results.trained_evidence(view, LAW, layers=[depth]),
        resolution=Resolution(
            max(shares) - min(shares) + 1 / len(levels),
            HALF,
            "of the levels, the spread over starts and one level",
        ),
    )


def _span(counts: list[int]) -> str:
    low, high = min(counts), max(counts)
    return f"{low}" if low == high else f"{low} to {high}"


def _side(id: str, statement: str, inside: Callable[[float], bool], where: str) -> Claim:
    return Claim(
        id,
        "Ours, beside Figure 3",
        statement,
        partial(_untrained, inside, where),
        ("fig-3-deepest",),
        ours=True,
    )


CLAIMS = (
    Claim(
        "two-levels-diag-untrained",
        f"{SOURCE}, Figure 3",
        "On {1,3} DIAG is better than FULL at the noise levels that were not trained.",
        partial(_untrained, lambda s: True, "that were not trained"),
        ("fig-3-deepest",),
    ),
    _side(
        "two-levels-diag-interpolates",
        "On {1,3} DIAG is better than FULL at most noise levels between the trained ones, whatever "
        "the start.",
        lambda s: 1 < s < 3,
        "between 1 and 3",
    ),
    _side(
        "two-levels-diag-below",
        "On {1,3} DIAG is better than FULL at most noise levels below the trained ones, whatever "
        "the start.",
        lambda s: s < 1,
        "below 1",
    ),
    _side(
        "two-levels-diag-extrapolates",
        "On {1,3} DIAG is better than FULL at most noise levels above the trained ones, whatever "
        "the start.",
        lambda s: s > 3,
        "above 3",
    ),
)
