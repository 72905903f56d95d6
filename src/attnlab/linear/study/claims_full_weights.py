"""Claims about the weights and the layers of FULL: Figures 4 and 7.

Source: Vladymyrov et al. (arXiv 2402.14180), Sections 4 and 6 and the appendix. They are judged on
networks that were trained by Adam from random weights, so that nothing made them diagonal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attnlab.lab.study import Claim, Judgement, Resolution, Verdict, View
from attnlab.linear.study import full_results, grids, grids_full, results
from attnlab.linear.study.claims_full import DECIDES, HALF, SOURCE, no_full_network
from attnlab.linear.study.questions_full import FullLossRow, StructureRow
from attnlab.linear.study.results import MARGIN, UNDECIDED
from attnlab.linear.study.table_1 import LAWS, PAPER, UNIFORM

DEEP = 5  # layers from which "the later layers" are several
ALIKE = 0.9  # of the squared entries: with more on the diagonal a network would count as DIAG
FEWEST = 3  # depths on which a statement about every depth is judged


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


@dataclass(frozen=True)
class Figure4:
    """The structure of every start of the network of Figure 4, and the best of them."""

    rows: list[StructureRow]
    best: int
    evidence: results.Evidence

    def medians(self, column: str) -> dict[str, dict[int, float]]:
        """The median over the layers of P and of Q, by start."""
        return {name: full_results.median_over(self.rows, name, column) for name in "PQ"}


def _figure_4(view: View) -> Figure4 | None:
    law, layers = grids_full.HEAT_MAP
    row = full_results.best_rows(view, law).get(layers)
    if row is None:
        return None
    loss, evidence = results.loss_of(row), dict(full_results.setting([row]))
    if evidence.get("differs"):
        evidence["differs"] += f", loss {loss} where the paper has {PAPER['FULL', layers, law]:g}"
    return Figure4(full_results.structure(view, law, layers), row.start, evidence)


def _near_diagonal(view: View) -> Judgement:
    figure = _figure_4(view)
    if figure is None:
        return no_full_network()
    found, best = figure.medians("diagonal"), figure.best
    verdict, resolution = _against_line(found, best, HALF, 1 / 11)
    spread = ", ".join(
        f"{name} {min(by_start.values()):.2f} to {max(by_start.values()):.2f}"
        for name, by_start in found.items()
    )
    few = [
        f"{row.matrix} of layer {row.layer} ({row.diagonal:.2f})"
        for row in figure.rows
        if row.start == best and row.diagonal < HALF
    ]
    note = (
        f"Over {len(found['P'])} starts: {spread}. Matrices of the best start with less than half "
        f"on the diagonal: {results.listed(few)}."
    )
    return Judgement(
        verdict,
        "share of the diagonal in the squared entries, median over the layers: "
        f"P {found['P'][best]:.2f}, Q {found['Q'][best]:.2f}",
        f"most of it in both; a matrix without structure has 1/11 = {1 / 11:.2f}",
        f"more than half, our line, by {MARGIN:g} standard deviations over the starts",
        f"{note} {DECIDES}" if verdict == UNDECIDED else note,
        **figure.evidence,
        resolution=resolution,
    )


def _low_rank(view: View) -> Judgement:
    figure = _figure_4(view)
    if figure is None:
        return no_full_network()
    mean, line = full_results.rank_two_by_chance()
    found, best = figure.medians("rank_two"), figure.best
    verdict, resolution = _against_line(found, best, line, mean)
    one = figure.medians("rank_one")
    note = f"One direction alone carries P {one['P'][best]:.2f}, Q {one['Q'][best]:.2f}."
    return Judgement(
        verdict,
        "share of two directions in what is off the diagonal, median over the layers: "
        f"P {found['P'][best]:.2f}, Q {found['Q'][best]:.2f}",
        f"more than of independent entries, which have {mean:.2f}",
        f"above the 99% quantile of independent entries, {line:.2f}, by {MARGIN:g} standard "
        "deviations over the starts",
        f"{note} {DECIDES}" if verdict == UNDECIDED else note,
        **figure.evidence,
        resolution=resolution,
    )


def _shares(view: View, laws: Sequence[str]) -> tuple[list[float], list[float], list[FullLossRow]]:
    """Shares of the diagonal in P of later and of early layers, one of each per good deep network.

    The last layer is left out, since its rows of x change nothing.
    """
    later, early, rows = [], [], []
    for law in laws:
        for depth, row in full_results.best_rows(view, law).items():
            if depth < DEEP or not full_results.as_good(row, law):
                continue
            rows.append(row)
            own = {
                each.layer: each.diagonal
                for each in full_results.structure(view, law, depth)
                if each.start == row.start and each.matrix == "P"
            }
            later.append(float(np.mean([own[k] for k in own if depth / 2 < k < depth])))
            early.append(float(np.mean([own[k] for k in own if k <= depth / 2])))
    return later, early, rows


def _not_identical(view: View) -> Judgement:
    later, _, rows = _shares(view, UNIFORM[1:])
    if len(later) < 2:
        return no_full_network()
    value, error = float(np.mean(later)), float(np.std(later, ddof=1)) / math.sqrt(len(later))
    verdict: Verdict = UNDECIDED
    if abs(value - ALIKE) > MARGIN * error:
        verdict = "holds" if value < ALIKE else "fails"
    return Judgement(
        verdict,
        f"mean share of the diagonal in P of the later layers of {len(later)} networks: "
        f"{value:.2f} ± {error:.2f}, from {min(later):.2f} to {max(later):.2f}",
        f"less than {ALIKE:g}; DIAG has 1",
        f"by {MARGIN:g} standard errors over the networks",
        "Only FULL networks of five layers or more that come within a quarter of the paper's loss. "
        f"{DECIDES if verdict == UNDECIDED else ''}".strip(),
        **full_results.setting(rows),
        resolution=Resolution(MARGIN * error, 1 - ALIKE, "of the squared entries"),
    )


def _later_layers(view: View) -> Judgement:
    later, early, rows = _shares(view, LAWS[1:])
    if len(later) < 2:
        return no_full_network()
    value, error = float(np.mean(later)), float(np.std(later, ddof=1)) / math.sqrt(len(later))
    verdict: Verdict = UNDECIDED
    if abs(value - HALF) > MARGIN * error:
        verdict = "holds" if value < HALF else "fails"
    note = f"In the first half of the layers the share is {np.mean(early):.2f}."
    return Judgement(
        verdict,
        f"mean share of the diagonal in P of the later layers of {len(later)} networks: "
        f"{value:.2f} ± {error:.2f}, from {min(later):.2f} to {max(later):.2f}",
        "less than half",
        f"by {MARGIN:g} standard errors over the networks",
        f"{note} {DECIDES}" if verdict == UNDECIDED else note,
        **full_results.setting(rows),
        resolution=Resolution(MARGIN * error, HALF - 1 / 11, "of the squared entries"),
    )


def _figure_7(view: View) -> Judgement:
    """Whether FULL first improves low noise, and its last layer makes high noise worse."""
    law = grids.U5
    rows = [row for row in results.rows_of(view, "FULL", law) if row.sigma is not None]
    low_first, last, shown = [], {}, []
    for depth in sorted({row.layers for row in rows if row.layers >= 3}):
        if not full_results.ready(view, law, depth):
            continue
        low = full_results.read_profile(rows, depth, 0.0, 1.0)
        high = full_results.read_profile(rows, depth, 4.0, 5.0)
        if not low or not all(math.isfinite(e.value) for e in (*low.values(), *high.values())):
            continue
        of_low, of_high = (math.log(each[0].value / each[1].value) for each in (low, high))
        low_first.append(of_low > of_high)
        change = math.log(high[depth].value / high[depth - 1].value)
        error = MARGIN * math.hypot(
            *(high[read].standard_error / high[read].value for read in (depth, depth - 1))
        )
        last[depth] = change, error
        shown.append(f"L = {depth}: {change:+.2f}")
    if len(last) < FEWEST:
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
        f"at every depth from 3 on with a network as good as the paper's, by {MARGIN:g} standard "
        "errors",
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
        "full-is-not-diag",
        "Vladymyrov et al., Section 6",
        "On uniform noise trained FULL networks are not DIAG networks although their losses are "
        "alike.",
        _not_identical,
        ("full-structure",),
    ),
    Claim(
        "later-layers-not-diagonal",
        "Ours, beside Figure 4",
        "In networks of five layers or more that come within a quarter of the paper's loss, P of "
        "the later layers has less than half of its squared entries on the diagonal.",
        _later_layers,
        ("full-structure",),
        ours=True,
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
