"""Claims about linear attention as a cheaper approximation: its work, and what it approximates."""

from __future__ import annotations

import math

from attnlab.lab.study import Claim, Judgement, View
from attnlab.separation.study import grids
from attnlab.separation.study.cells_work import SCALES
from attnlab.separation.study.claims_theorems import PAPER
from attnlab.stats import below

SMALL = 1e-3  # relative error of the weights at the smaller scores
LARGEST_SCORE = 0.1  # which the smaller scores of the cell do not pass
APART = 0.2  # a relative difference of weights that is none of rounding


def _cost(view: View) -> Judgement:
    cells = grids.work_cells(view.seed)
    rows = [view.row(cell) for cell in cells]
    lengths = [cell.config.n for cell in cells]
    same = max(max(row.softmax_error, row.linear_error) for row in rows)

    def power(column: str) -> float:
        """The power of n between the two largest lengths."""
        first, last = (getattr(row, column) for row in rows[-2:])
        return math.log(last / first) / math.log(lengths[-1] / lengths[-2])

    powers = {name: (power(name), power(f"{name}_entries")) for name in ("softmax", "linear")}
    good = same <= 1e-12 and all(
        abs(value - wanted) <= 0.05
        for name, wanted in (("softmax", 2), ("linear", 1))
        for value in powers[name]
    )
    return Judgement(
        "holds" if good else "fails",
        "; ".join(
            f"{name}: {', '.join(f'{getattr(row, name):,}' for row in rows)} multiplications, n to "
            f"the power {both[0]:.3f}, and matrices of up to n to the power {both[1]:.3f} entries"
            for name, both in powers.items()
        )
        + f" (n = {', '.join(map(str, lengths))}, d = {cells[0].config.d}); both outputs are those "
        f"of the definition, to {below(same, 1e-12)}",
        "the powers 2 and 1",
        "counts; powers within 0.05, for the terms of lower order at the largest n",
        "Softmax attention is counted by its scores, as the paper has it.",
        grade="exact",
    )


def _approximates(view: View) -> Judgement:
    """Weights by 1 + u, the first-order expansion of exp, at two sizes of the scores."""
    rows = [view.row(cell) for cell in grids.work_cells(view.seed)]
    powers = [
        math.log(row.taylor_error / row.taylor_error_small) / math.log(SCALES[0] / SCALES[1])
        for row in rows
    ]
    largest = max(row.taylor_error_small for row in rows)
    good = all(abs(power - 2) <= 0.1 for power in powers) and largest <= SMALL
    return Judgement(
        "holds" if good else "fails",
        f"the relative error of the weights falls as the scores to the power {min(powers):.2f} to "
        f"{max(powers):.2f}, to {largest:.0e} where no score is above {LARGEST_SCORE}",
        f"the power 2, and at most {SMALL:g}",
        "algebra; powers within 0.1, for the terms of higher order",
        "Linear attention with 1 + u in place of exp(u), as in the work that the text cites. The "
        "linear attention that the paper itself defines has no 1 (linear-plain).",
        grade="exact",
    )


def _plain(view: View) -> Judgement:
    least = min(view.row(cell).plain_error for cell in grids.work_cells(view.seed))
    return Judgement(
        "holds" if least >= APART else "fails",
        f"some weights differ by {least:.0%} or more from those of softmax, however small the "
        "scores are",
        f"{APART:.0%} or more",
        "algebra: a factor of the scores cancels in u / ⟨u, 1⟩",
        "For small scores softmax attends to all tokens alike, and u / ⟨u, 1⟩ does not.",
        grade="exact",
    )


CLAIMS = (
    Claim(
        "linear-approximates",
        f"{PAPER}, abstract and Section 1",
        "Linear attention approximates the softmax operation, by the first-order expansion of exp.",
        _approximates,
    ),
    Claim(
        "linear-plain",
        f"{PAPER}, equation (1) and Definition C.1 (ours about them)",
        "The linear attention that the paper defines, u in place of exp(u), approximates softmax "
        "attention not even for small scores.",
        _plain,
        ours=True,
    ),
    Claim(
        "linear-cost",
        f"{PAPER}, abstract and Section 1",
        "The cost of attention grows with the square of the length for softmax, and linearly for "
        "linear attention.",
        _cost,
    ),
)
