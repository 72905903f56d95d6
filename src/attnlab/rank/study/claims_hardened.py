"""Claims of Figure 2's second panel: large norms of K Qᵀ make the softmax act like a hardmax.

What a softmax with such norms does in a network that has several heads, biases and a perceptron is
measured on its answers: how far they move when a hardmax takes its place (`compute_hardened`). Of
one head the law of Fact 1 says it, from the norm alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from attnlab.lab.cell import Cell
from attnlab.lab.study import UNDECIDED, Claim, Judgement, Resolution, Verdict, View, all_of
from attnlab.rank.study import grids, panels
from attnlab.rank.study.claims_figure_1 import ACCURATE
from attnlab.rank.study.questions_hardened import HardenedRow
from attnlab.rank.study.results import (
    OF_ERROR,
    at_paper,
    beyond_scale,
    error_times_norm,
    listed,
    longer,
    setting,
)
from attnlab.stats import normal_threshold

OFF = 0.05  # of a law
NEAR, FAR = ACCURATE, 0.25  # squared distance between answers, which have length 1
UNIT = "of the squared length of an answer"


def _judged(rows: Sequence[HardenedRow]) -> tuple[Verdict, Resolution]:
    """Of the seeds of one network, the one that moves farthest."""
    moved = [(row.moved, row.moved_error) for row in rows]
    known = [(value, error) for value, error in moved if value is not None and error is not None]
    if len(known) < len(moved) or not known:
        return UNDECIDED, Resolution(math.inf, NEAR, UNIT)
    value, error = max(known)
    verdict: Verdict = "holds" if value <= NEAR else "fails" if value >= FAR else UNDECIDED
    line = NEAR if verdict == "holds" else FAR
    return verdict, Resolution(normal_threshold(1) * error, abs(value - line), UNIT)


def _shown(heads: int, rows: Sequence[HardenedRow]) -> str:
    def span(name: str, digits: int) -> str:
        values = [getattr(row, name) for row in rows if row.test is not None]
        if not values:
            return "none"
        low, high = (f"{end:.{digits}f}" for end in (min(values), max(values)))
        return low if low == high else f"{low} to {high}"

    return (
        f"H = {heads}: ‖K Qᵀ‖ = {span('median_norm', 0)}, answers move by {span('moved', 3)}, the "
        f"error goes from {span('test', 3)} to {span('hard', 3)}; to equal weights they move by "
        f"{span('flat', 2)}"
    )


def _acts_like_hardmax(view: View) -> Judgement:
    needs = "The claim needs networks with a hardmax in the place of their softmax"
    if found := beyond_scale(view, ("paper", "standard"), needs):
        return found
    every: list[Cell] = grids.hardened_heads(view.scale, view.seed)
    stored = [cell for cell in every if panels.is_stored(view, cell)] or every[:1]
    rows = {cell.config.shape().heads: view.rows(cell) for cell in stored}
    verdict, seen = all_of([_judged(of_network) for of_network in rows.values()])
    lacks = panels.lacking_heads(rows, [cell.config.shape().heads for cell in every])
    return Judgement(
        at_paper(view, verdict),
        "hardmax for softmax, range over seeds: "
        + "; ".join(_shown(heads, of_network) for heads, of_network in rows.items()),
        "answers stay where they are; their squared length is about 1",
        f"every network moves by at most {NEAR:g}; fails where a seed of one moves by {FAR:g} and "
        "more; undecided between (our choice)",
        longer(view, lacks),
        resolution=seen,
        **setting(view, stored, lacks),
    )


def _one_head(view: View) -> Judgement:
    d, constant = grids.PANELS[view.scale].base.d, error_times_norm(view)
    cell = grids.encoder_cell(view.scale, view.seed, rank=d)
    found = [
        (row.test, row.test_error / row.test, constant / row.median_norm)
        for row in view.rows(cell)
        if row.test is not None and row.median_norm is not None
    ]
    ratios = [test / law for test, _, law in found]
    off = max((abs(ratio - 1) for ratio in ratios), default=math.inf)
    allowed = normal_threshold(1) * max((error for _, error, _ in found), default=math.inf)
    verdict: Verdict = UNDECIDED
    if off <= OFF:
        verdict = "holds"
    elif off - allowed > OFF:
        verdict = "fails"
    return Judgement(
        at_paper(view, verdict),
        f"held-out error {listed((test for test, *_ in found), 4)}; law "
        f"{listed((law for *_, law in found), 4)}; ratio {listed(ratios)}",
        f"the law {constant / math.sqrt(d):.2f} / c of Fact 1 for N − 1 points, c = ‖K Qᵀ‖ / √d",
        f"every seed within {OFF:g} of its law, our choice: the law is the leading order in 1 / c",
        longer(view),
        resolution=Resolution(allowed, OFF if off <= OFF else off, OF_ERROR),
        **setting(view, [cell]),
    )


CLAIMS = (
    Claim(
        "figure-2-norm",
        "Amsel, Yehudai, Bruna, Figure 2, second panel",
        "The norm of K Qᵀ is so large that the softmax acts like the hardmax.",
        _acts_like_hardmax,
        ("fig-2", "softness"),
    ),
    Claim(
        "one-head-softness",
        "ours, about Figure 2 and Fact 1",
        "The error of one trained head of full rank is that of a softmax head −c I with the norm "
        "that it learned: nothing but the softness of its softmax is left.",
        _one_head,
        ("softness",),
        ours=True,
    ),
)
