"""The claim about the work of attention: it grows with the square of the length, or linearly."""

from __future__ import annotations

import math

from attnlab.lab.study import Claim, Judgement, View
from attnlab.separation.study import grids
from attnlab.separation.study.claims_theorems import PAPER
from attnlab.stats import below


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


CLAIMS = (
    Claim(
        "linear-cost",
        f"{PAPER}, abstract and Section 1",
        "The cost of attention grows with the square of the length for softmax, and linearly for "
        "linear attention.",
        _cost,
    ),
)
