"""Claims about the sweeps of Figures 3-5: the paper's experiment agrees with the law.

The figures of the paper carry no readable numbers, so what is checked is that its experiment,
repeated, is a sample of the law. There are two tests: every count against Binomial(trials, p), with
the level shared among the points (Bonferroni), and the total of all counts, which shows a small
shift that no single point shows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from attnlab.lab.cell import Cell
from attnlab.lab.study import Claim, Judgement, View
from attnlab.separation.study import grids
from attnlab.separation.theory.regression_bounds import DATA_DRAWS
from attnlab.stats import LEVEL, Estimate, agree, agreement, binomial_p_value, student_threshold

PAPER = "Deng, Song, Zhou"


def agrees_with_law(view: View, cells: Sequence[Cell]) -> Judgement:
    """Whether the counts of a sweep are a sample of the exact law."""
    rows = [view.row(cell) for cell in cells]
    trials = [cell.config.trials for cell in cells]
    expected = [row.exact for row in rows]
    test = agreement([row.successes for row in rows], trials, expected, LEVEL)
    counted = sum(row.successes for row in rows)
    mean = sum(p * k for p, k in zip(expected, trials, strict=True))
    variance = sum(p * (1 - p) * k for p, k in zip(expected, trials, strict=True))
    total = agree(Estimate(float(counted), math.sqrt(variance)), mean)
    return Judgement(
        "holds" if test.agrees and total.agrees else "fails",
        f"{counted} successes of {sum(trials)}; smallest p-value {test.smallest:.2g}",
        f"{mean:.1f} expected; exact law from {min(expected):.3f} to {max(expected):.3f}",
        f"{test.comparisons} exact binomial tests at familywise level {LEVEL:g}; "
        f"total within {total.threshold:.2f} standard errors (here {total.z:+.2f})",
    )


def within_bounds(view: View, cells: Sequence[Cell]) -> Judgement:
    """Whether the counts lie between 1 - 2^-m - m (p_1 + p_2 + p_3) and 1 - 2^-m.

    Uniform data has no closed law, but these bounds.
    """
    rows = [view.row(cell) for cell in cells]
    trials = [cell.config.trials for cell in cells]
    allowed = student_threshold(DATA_DRAWS - 1)
    too_high = too_low = 0
    for row, k in zip(rows, trials, strict=True):
        least = max(row.lower - allowed * row.lower_error, 0.0)
        too_high += row.successes / k > row.upper and refuses(row.successes, k, row.upper, cells)
        too_low += row.successes / k < least and refuses(row.successes, k, least, cells)
    narrow = [row for row in rows if row.upper - row.lower < 0.01]
    return Judgement(
        "holds" if not too_high and not too_low else "fails",
        f"{too_low} points below the lower bound, {too_high} above the cap; success from "
        f"{min(row.sampled for row in rows):.3f} to {max(row.sampled for row in rows):.3f}",
        f"bounds {min(row.lower for row in rows):.3f} to {max(row.upper for row in rows):.4f}; "
        f"less than 0.01 apart at {len(narrow)} of {len(rows)} points",
        f"{2 * len(cells)} one-sided binomial tests at familywise level {LEVEL:g}; the lower bound "
        f"less {allowed:.2f} standard errors over {DATA_DRAWS} draws of the data",
    )


def refuses(count: int, trials: int, p: float, cells: Sequence[Cell]) -> bool:
    """Whether a count on one side of p refutes p as a bound; the cells share the level.

    The p-value is twice the smaller tail, so that 2 tests for each cell have the level together.
    """
    return binomial_p_value(count, trials, p) < LEVEL / len(cells)


def _attention_claim(panel: str, x: grids.X) -> Claim:
    number, swept = grids.FIGURE_OF[x], grids.PANELS[panel]
    name = "I" if x == "identity" else "1"
    return Claim(
        id=f"figure-{number}{panel}",
        source=f"{PAPER}, Section 7.2, Figure {number}({panel})",
        statement=f"Self-attention with X = {name}, {swept} varied: the paper's experiment (100 "
        "trials per point) follows the exact law q^m − r^m.",
        check=lambda view: agrees_with_law(view, grids.attention_sweep(panel, x, view.seed)),
        figures=(f"fig-{number}{panel}",),
    )


def _regression_claim(panel: str) -> Claim:
    varied = "n from 100 to 2000, m = log n" if panel == "a" else "n = 1000, m from 1 to 100"
    return Claim(
        id=f"figure-3{panel}",
        source=f"{PAPER}, Section 7.1, Figure 3({panel})",
        statement=f"Softmax regression, {varied}: success (1000 trials per point) lies between the "
        "Chernoff lower bound and the cap 1 − 2^−m.",
        check=lambda view: within_bounds(
            view, grids.regression_sweep(panel, view.scale, view.seed)
        ),
        figures=(f"fig-3{panel}",),
    )


def _independent(view: View) -> Judgement:
    cells = [grids.independent_cell(x, view.seed) for x in grids.XS]
    agreed = agrees_with_law(view, cells)
    shared = [view.row(grids.attention_cell(view.seed, x=x)).exact for x in grids.XS]
    apart = [view.row(cell).exact for cell in cells]
    lower = all(a < s for a, s in zip(apart, shared, strict=True))
    return Judgement(
        "holds" if lower and agreed.verdict == "holds" else "fails",
        f"independent {apart[0]:.3f} (X = I), {apart[1]:.3f} (X = 1)",
        f"shared {shared[0]:.3f}, {shared[1]:.3f}",
        f"exact law; sampled with 1000 trials: {agreed.tolerance}",
    )


CLAIMS = (
    *(_regression_claim(panel) for panel in "ab"),
    *(_attention_claim(panel, x) for x in grids.XS for panel in grids.PANELS),
    Claim(
        id="signs-shared",
        source=f"{PAPER}, Section 7.2 (left open there)",
        statement="Success is lower if the four networks draw their signs independently instead of "
        "sharing them (n = 200, d = 22).",
        check=_independent,
    ),
)
