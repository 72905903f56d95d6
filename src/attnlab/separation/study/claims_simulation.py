"""The claim that our simulations of Figures 3-5 are samples of our law, or within our bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence

from attnlab.lab.cell import Cell
from attnlab.lab.study import Claim, Judgement, Resolution, View
from attnlab.separation.study import grids
from attnlab.separation.theory.regression_bounds import DATA_DRAWS
from attnlab.stats import LEVEL, Estimate, agree, agreement, binomial_p_value, student_threshold

SHIFT = 0.1  # a change of success that the simulation has to show


def attention_panels(view: View) -> dict[str, Sequence[Cell]]:
    """The cells of Figures 4 and 5 by panel."""
    return {
        f"{grids.FIGURE_OF[x]}{panel}": grids.attention_sweep(panel, x, view.seed)
        for x in grids.XS
        for panel in grids.PANELS
    }


def _follows(view: View) -> Judgement:
    groups = {
        **attention_panels(view),
        "cross": [
            grids.cross_cell(x, view.seed, offset=o, m=m)
            for x in grids.XS
            for o, m in ((0.1, 15), (0.5, 30))
        ],
        "independent signs": [grids.independent_cell(x, view.seed) for x in grids.XS],
    }
    cells = [cell for group in groups.values() for cell in group]
    test = agreement(
        [view.row(cell).successes for cell in cells],
        [cell.config.trials for cell in cells],
        [view.row(cell).exact for cell in cells],
        LEVEL,
    )
    totals = {name: _total(view, group, len(groups)) for name, group in groups.items()}
    off = [name for name, total in totals.items() if not total.agrees]
    thinned = grids.thinned("3a", view.scale)
    outside = sum(_outside(view, grids.regression_sweep(p, view.scale, view.seed)) for p in "ab")
    return Judgement(
        "holds" if test.agrees and not off and not outside else "fails",
        f"smallest p-value {test.smallest:.2g} of {test.comparisons} points; totals off in "
        f"{len(off)} of {len(groups)} sweeps; {outside} points of Figure 3 outside their bounds",
        "the exact law q^m − r^m; for Figure 3, between the Chernoff lower bound and 1 − 2^−m",
        f"exact binomial tests at familywise level {LEVEL:g}; totals within "
        f"{next(iter(totals.values())).threshold:.2f} standard errors",
        grade="smaller setting" if thinned else "paper's setting",
        differs=thinned,
        resolution=Resolution(
            max(total.allowed for total in totals.values()), SHIFT, "of success over a sweep"
        ),
    )


def _total(view: View, cells: Sequence[Cell], groups: int):
    """The share of successes of a whole sweep against the law, which shows small shifts."""
    trials = [cell.config.trials for cell in cells]
    expected = [view.row(cell).exact for cell in cells]
    counted = sum(view.row(cell).successes for cell in cells)
    variance = sum(p * (1 - p) * k for p, k in zip(expected, trials, strict=True))
    mean = sum(p * k for p, k in zip(expected, trials, strict=True))
    every = sum(trials)
    return agree(Estimate(counted / every, math.sqrt(variance) / every), mean / every, groups)


def _outside(view: View, cells: Sequence[Cell]) -> int:
    """How many counts refute 1 - 2^-m - m (p_1 + p_2 + p_3) <= success <= 1 - 2^-m.

    Uniform data has no closed law, but these bounds; the lower one is a mean over draws of data.
    """
    allowed = student_threshold(DATA_DRAWS - 1)
    count = 0
    for cell in cells:
        row, k = view.row(cell), cell.config.trials
        least = max(row.lower - allowed * row.lower_error, 0.0)
        for bound, beyond in ((row.upper, row.sampled > row.upper), (least, row.sampled < least)):
            # The p-value is twice the smaller tail: two one-sided tests for each cell.
            refused = binomial_p_value(row.successes, k, bound) < LEVEL / len(cells)
            count += beyond and refused
    return count


CLAIMS = (
    Claim(
        "simulation-follows-law",
        "ours",
        "The experiments of Figures 3-5, repeated with their numbers of trials, are samples of our "
        "exact law or lie within our bounds.",
        _follows,
        tuple(f"fig-{number}{panel}" for number in "45" for panel in "abcdef"),
        ours=True,
    ),
)
