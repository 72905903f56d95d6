"""A claim about heavy tails: the paper's recipe as printed against ours with clipped gradients.

A network has a heavy tail where rare sequences make up the mean of its loss (`tails`). The two
recipes differ in the clipping of gradients and also in the rate, in the loss at one query, and in
the weights that are kept, so that the claim is about the recipes and not about clipping alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attnlab.lab.study import UNDECIDED, Claim, Judgement, Resolution, Verdict, View
from attnlab.linear.study import full_results, grids, grids_full, results
from attnlab.linear.study.questions_full import FullLossRow
from attnlab.linear.study.table_1 import law_name
from attnlab.stats import LEVEL


@dataclass(frozen=True)
class Pair:
    """Networks of one law and depth by both recipes: how many there are, and how many have none."""

    name: str
    printed: int
    printed_steady: int
    clipped: int
    clipped_steady: int

    @property
    def steady(self) -> int:
        """Of both recipes."""
        return self.printed_steady + self.clipped_steady

    def law(self) -> np.ndarray:
        """Probabilities of 0, 1, ... printed networks without a tail if recipes make no difference.

        They are drawn from all of the pair without replacement.
        """
        ways = [
            math.comb(self.printed, k) * math.comb(self.clipped, self.steady - k)
            for k in range(min(self.printed, self.steady) + 1)
        ]
        return np.array(ways) / math.comb(self.printed + self.clipped, self.steady)


def compared(view: View) -> list[Pair]:
    """The laws and depths of which networks by both recipes ship, from random weights."""
    found = []
    for law in (grids.U5, *grids_full.PRINTED_ELSEWHERE):
        clipped = full_results.every_start(view, law, grown=False)
        found += [
            Pair(f"{law_name(law)} L = {depth}", *_count(rows), *_count(clipped[depth]))
            for depth, rows in full_results.starts(view, "printed", law).items()
            if depth in clipped
        ]
    return found


def _count(rows: Sequence[FullLossRow]) -> tuple[int, int]:
    return len(rows), sum(results.steady(results.loss_of(row)) for row in rows)


def chances(pairs: Sequence[Pair]) -> np.ndarray:
    """The law of the number of printed networks without a tail, over all pairs."""
    total = np.ones(1)
    for pair in pairs:
        total = np.convolve(total, pair.law())
    return total


def _fewer_tails(view: View) -> Judgement:
    if view.scale == "quick":
        return results.open_until("only the best network of every depth at this scale", "standard")
    pairs = compared(view)
    if not pairs:
        return full_results.no_full_network()
    law, steady = chances(pairs), sum(pair.printed_steady for pair in pairs)
    more, fewer = law[steady:].sum(), law[: steady + 1].sum()
    verdict: Verdict = "holds" if more <= LEVEL else "fails" if fewer <= LEVEL else UNDECIDED
    printed, clipped = (sum(getattr(p, name) for p in pairs) for name in ("printed", "clipped"))
    every = sum(pair.steady for pair in pairs)

    def gap(count: int) -> float:
        return count / printed - (every - count) / clipped

    counts = range(len(law))
    noticed = [abs(gap(k)) for k in counts if min(law[k:].sum(), law[: k + 1].sum()) <= LEVEL]
    return Judgement(
        verdict,
        f"without a heavy tail: {steady} of {printed} networks by the printed recipe, "
        f"{every - steady} of {clipped} with clipped gradients ("
        + "; ".join(
            f"{p.name}: {p.printed_steady} of {p.printed}, {p.clipped_steady} of {p.clipped}"
            for p in pairs
        )
        + ")",
        "fewer tails by the printed recipe",
        f"an exact test of equal shares in every pair of networks of one law and depth, level "
        f"{LEVEL:g}; from random weights of all layers",
        results.left_open(view) if verdict == UNDECIDED else "",
        grade="smaller setting",
        differs=f"{len(pairs)} of the paper's 70 laws and depths",
        resolution=Resolution(
            min(noticed, default=math.inf), max(abs(gap(steady)), 0.5), "of the networks"
        ),
    )


CLAIMS = (
    Claim(
        "printed-recipe-tails",
        "Ours, beside Table 1",
        "FULL by the paper's recipe as printed, with nothing clipped, ends with a heavy tail less "
        "often than by our recipe with clipped gradients.",
        _fewer_tails,
        ("full-starts",),
        ours=True,
    ),
)
