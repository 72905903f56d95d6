"""Claims about the weights and the layers of FULL: Figures 4 and 7.

Source: Vladymyrov et al. (arXiv 2402.14180), Sections 4 and 6 and the appendix. They are judged on
networks that were trained by Adam from random weights, so that nothing made them diagonal.
"""

from __future__ import annotations

import math

import numpy as np

from attnlab.lab.judgement import UNDECIDED, Resolution
from attnlab.lab.study import Claim, Judgement, Verdict, View
from attnlab.linear.study import full_results, grids, grids_full, results
from attnlab.linear.study.claims_full import DECIDES, HALF, SOURCE, no_full_network
from attnlab.linear.study.claims_table import TableCell, table_cells
from attnlab.linear.study.questions_full import StructureRow
from attnlab.linear.study.results import MARGIN


def _against_line(
    found: dict[str, dict[int, float]], best: int, line: float, nothing: float
) -> tuple[Verdict, Resolution]:
    """The verdict about shares that should all be above a line.

    Shares are those of the best start; their spread over all starts is their standard error.
    `nothing` is the share of a matrix without the structure.
    """
    worst = min(found, key=lambda name: found[name][best])
    value = found[worst][best]
    values = list(found[worst].values())
    error = float(np.std(values, ddof=1)) if len(values) > 1 else math.inf
    verdict: Verdict = UNDECIDED
    if value - MARGIN * error > line:
        verdict = "holds"
    elif value + MARGIN * error < line:
        verdict = "fails"
    return verdict, Resolution(MARGIN * error, line - nothing, "of the squared entries")


def _figure_4(view: View) -> tuple[list[StructureRow], int | None, TableCell | None]:
    law, layers = grids_full.HEAT_MAP
    rows = full_results.structure(view, law, layers)
    best = next((row.start for row in rows if row.best), None)
    cells = [c for c in table_cells(view, "FULL") if (c.law, c.depth) == (law, layers)]
    cell = cells[0] if cells else None
    return rows, best, cell


def _near_diagonal(view: View) -> Judgement:
    rows, best, cell = _figure_4(view)
    if best is None or cell is None:
        return no_full_network()
    found = {name: full_results.median_over(rows, name, "diagonal") for name in "PQ"}
    verdict, resolution = _against_line(found, best, HALF, 1 / 11)
    if cell.state != "reached":
        verdict = UNDECIDED
    block = {name: full_results.median_over(rows, name, "x_diagonal")[best] for name in "PQ"}
    starts = ", ".join(
        f"{name} {min(by_start.values()):.2f} to {max(by_start.values()):.2f}"
        for name, by_start in found.items()
    )
    note = (
        f"In the block of the inputs alone: P {block['P']:.2f}, Q {block['Q']:.2f}. Over "
        f"{len(found['P'])} starts without a heavy tail: {starts}."
    )
    return Judgement(
        verdict,
        f"share of the diagonal in the squared entries, median over {cell.depth} layers: "
        f"P {found['P'][best]:.2f}, Q {found['Q'][best]:.2f}",
        f"most of it in both; a matrix without structure has 1/11 = {1 / 11:.2f}",
        f"more than half, our line, by {MARGIN:g} standard deviations over the starts, in a "
        "network that reaches the paper's loss",
        f"{note} {DECIDES}" if verdict == UNDECIDED else note,
        **full_results.setting([full_results.best_rows(view, cell.law)[cell.depth]]),
        resolution=resolution,
    )


def _low_rank(view: View) -> Judgement:
    rows, best, cell = _figure_4(view)
    if best is None or cell is None:
        return no_full_network()
    mean, line = full_results.rank_two_by_chance()
    found = {name: full_results.median_over(rows, name, "rank_two") for name in "PQ"}
    verdict, resolution = _against_line(found, best, line, mean)
    if cell.state != "reached":
        verdict = UNDECIDED
    one = {name: full_results.median_over(rows, name, "rank_one")[best] for name in "PQ"}
    note = f"One direction alone carries P {one['P']:.2f}, Q {one['Q']:.2f}."
    return Judgement(
        verdict,
        "share of two directions in what is off the diagonal, median over the layers: "
        f"P {found['P'][best]:.2f}, Q {found['Q'][best]:.2f}",
        f"more than of independent entries, which have {mean:.2f}",
        f"above the 99% quantile of independent entries, {line:.2f}, by {MARGIN:g} standard "
        "deviations over the starts, in a network that reaches the paper's loss",
        f"{note} {DECIDES}" if verdict == UNDECIDED else note,
        **full_results.setting([full_results.best_rows(view, cell.law)[cell.depth]]),
        resolution=resolution,
    )


def _figure_7(view: View) -> Judgement:
    """Whether FULL first improves low noise, and its last layer makes high noise worse."""
    law = grids.U5
    rows = [row for row in results.rows_of(view, "FULL", law) if row.sigma is not None]
    good = full_results.trusted(view, law)
    low_first, last, shown = [], {}, []
    for depth in sorted(d for d in good if d >= 3):
        low = full_results.read_profile(rows, depth, 0.0, 1.0)
        high = full_results.read_profile(rows, depth, 4.0, 5.0)
        if not low or not all(math.isfinite(e.value) for e in (*low.values(), *high.values())):
            continue
        gains = [
            math.log(each[0].value / each[1].value) for each in (low, high)
        ]  # of the first layer
        low_first.append(gains[0] > gains[1])
        change = math.log(high[depth].value / high[depth - 1].value)
        error = MARGIN * math.hypot(
            *(high[read].standard_error / high[read].value for read in (depth, depth - 1))
        )
        last[depth] = change, error
        shown.append(f"L = {depth}: {change:+.2f}")
    if not last:
        return no_full_network()
    worse = [depth for depth, (change, error) in last.items() if change > error]
    better = [depth for depth, (change, error) in last.items() if change < -error]
    verdict: Verdict = UNDECIDED
    if all(low_first) and len(worse) == len(last):
        verdict = "holds"
    elif not any(low_first) or len(better) == len(last):
        verdict = "fails"
    chosen = [row for row in full_results.best_rows(view, law).values() if row.layers in last]
    note = (
        f"Low noise (σ ≤ 1) gains more than high noise (4 ≤ σ ≤ 5) in the first layer at "
        f"{sum(low_first)} of {len(low_first)} depths."
    )
    return Judgement(
        verdict,
        "change of the log loss at high noise by the last layer: " + ", ".join(shown),
        "low noise improves first, and the last layer makes high noise worse",
        f"at every depth from 3 on, by {MARGIN:g} standard errors",
        f"{note} {DECIDES}" if verdict == UNDECIDED else note,
        **full_results.setting(chosen),
        resolution=Resolution(
            max(error for _, error in last.values()), HALF, "of the log loss at high noise"
        ),
    )


CLAIMS = (
    Claim(
        "near-diagonal",
        f"{SOURCE}, Figure 4",
        "The weights that FULL learns with four layers on {1,3} are diagonal-heavy.",
        _near_diagonal,
        ("fig-4",),
    ),
    Claim(
        "low-rank-part",
        f"{SOURCE}, Figure 4",
        "What is off the diagonal of these weights has a part of low rank.",
        _low_rank,
        ("fig-4", "full-structure"),
    ),
    Claim(
        "figure-7-full",
        "Vladymyrov et al., Appendix, Figure 7",
        "Read layer by layer on U(0,5), FULL improves low noise first, and its last layer makes "
        "high noise worse.",
        _figure_7,
        ("fig-7",),
    ),
)
