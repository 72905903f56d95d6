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
from attnlab.stats import Estimate

DEEP = 5  # layers from which "the later layers" are several
ALIKE = 0.9  # of the squared entries: with more on the diagonal a network would count as DIAG
FEWEST = 3  # depths on which a statement about every depth is judged


def _against_line(
    found: dict[str, dict[int, float]], line: float, nothing: float
) -> tuple[Verdict, Resolution, str]:
    """The verdict about shares of matrices that should all be above a line, and the least share.

    A share is the mean over all starts, and its standard error is that of the starts. `nothing` is
    the share of a matrix without the structure.
    """
    means = {name: Estimate.of(list(by_start.values())) for name, by_start in found.items()}
    errors = [MARGIN * mean.standard_error for mean in means.values()]
    least = min(means, key=lambda name: means[name].value)
    verdict: Verdict = UNDECIDED
    if all(mean.value - MARGIN * mean.standard_error > line for mean in means.values()):
        verdict = "holds"
    elif means[least].value + MARGIN * means[least].standard_error < line:
        verdict, errors = "fails", [MARGIN * means[least].standard_error]
    values = found[least].values()
    shown = f"{means[least]} ({least}, from {min(values):.2f} to {max(values):.2f} over the starts)"
    return verdict, Resolution(max(errors), line - nothing, "of the squared entries"), shown


@dataclass(frozen=True)
class Figure4:
    """The structure of every start of the network of Figure 4, and the grade of the evidence."""

    rows: list[StructureRow]
    best: int
    evidence: results.Evidence


def _figure_4(view: View) -> Figure4 | None:
    """None where the best start has a heavy tail, so that it is not a network like the paper's."""
    law, layers = grids_full.HEAT_MAP
    row = full_results.best_rows(view, law).get(layers)
    if row is None or not row.steady:
        return None
    loss, evidence = results.loss_of(row), dict(full_results.setting([row]))
    if evidence.get("differs"):
        evidence["differs"] += f", loss {loss} where the paper has {PAPER['FULL', layers, law]:g}"
    return Figure4(full_results.structure(view, law, layers), row.start, evidence)


def _near_diagonal(view: View) -> Judgement:
    figure = _figure_4(view)
    if figure is None:
        return no_full_network()
    found = full_results.by_matrix(figure.rows, "diagonal")
    verdict, resolution, least = _against_line(found, HALF, 1 / 11)
    light = [name for name, by_start in found.items() if np.mean(list(by_start.values())) < HALF]
    best = ", ".join(f"{name} {by_start[figure.best]:.2f}" for name, by_start in found.items())
    note = (
        f"Less than half on average: {results.listed(light)}. The best start has {best}. P of the "
        "last layer is left out, because its rows of x change nothing."
    )
    return Judgement(
        verdict,
        f"share of the diagonal in the squared entries, mean over the starts: least {least}",
        f"most of it in every matrix; a matrix without structure has 1/11 = {1 / 11:.2f}",
        f"more than half, our line, by {MARGIN:g} standard errors over the starts",
        f"{note} {results.left_open(view)}" if verdict == UNDECIDED else note,
        **figure.evidence,
        resolution=resolution,
    )


def _low_rank(view: View) -> Judgement:
    figure = _figure_4(view)
    if figure is None:
        return no_full_network()
    mean, line = full_results.rank_two_by_chance()
    two, diagonal = (full_results.by_matrix(figure.rows, c) for c in ("rank_two", "diagonal"))
    # Matrices count by what they have off the diagonal.
    shares = {
        start: float(
            np.average([two[m][start] for m in two], weights=[1 - diagonal[m][start] for m in two])
        )
        for start in {row.start for row in figure.rows}
    }
    verdict, resolution, found = _against_line({"all matrices": shares}, line, mean)
    return Judgement(
        verdict,
        f"share of two directions in what is off the diagonal, mean over the starts: {found}",
        f"more than of independent entries, which have {mean:.2f}",
        f"above the 99% quantile of independent entries, {line:.2f}, by {MARGIN:g} standard errors "
        "over the starts; a matrix counts by the share that it has off the diagonal",
        results.left_open(view) if verdict == UNDECIDED else "",
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
    chosen = full_results.best_rows(view, law)
    first, last, shown = {}, {}, []
    for depth in sorted({row.layers for row in rows if row.layers >= 3}):
        if not full_results.ready(view, law, depth):
            continue
        low = full_results.read_profile(rows, depth, 0.0, 1.0)
        high = full_results.read_profile(rows, depth, 4.0, 5.0)
        if not low or not high:
            continue
        compared = low[0], low[1], high[0], high[1], high[depth - 1], high[depth]
        if not all(map(results.steady, compared)):
            continue  # a heavy tail at some level
        gains = (results.log_ratio(each[0], each[1]) for each in (low, high))
        first[depth] = Estimate(*results.difference(*gains))
        last[depth] = results.log_ratio(high[depth], high[depth - 1])
        shown.append(f"L = {depth}: {first[depth].value:+.2f} and {last[depth].value:+.2f}")
    if len(last) < FEWEST:
        return no_full_network()
    both = [*first.values(), *last.values()]
    against = [
        estimate
        for part in (first, last)
        for depth, estimate in part.items()
        if full_results.enough([chosen[depth]]) and results.clearly_negative(estimate)
    ]
    verdict: Verdict = UNDECIDED
    if all(map(results.clearly_positive, both)):
        verdict = "holds"
    elif against:
        verdict = "fails"
    counts = [sum(map(results.clearly_positive, part.values())) for part in (first, last)]
    note = (
        f"The first layer gains more at low noise at {counts[0]} of {len(first)} depths, and the "
        f"last makes high noise worse at {counts[1]}."
    )
    return Judgement(
        verdict,
        "log gain of the first layer at low noise (σ ≤ 1) minus that at high noise (4 ≤ σ ≤ 5), "
        f"and change of the log loss at high noise by the last layer: {', '.join(shown)}",
        "both above 0: low noise improves first, and the last layer makes high noise worse",
        f"at every depth from 3 on with a network as good as the paper's, by {MARGIN:g} standard "
        "errors; only networks with the paper's steps refute",
        f"{note} {DECIDES}" if verdict == UNDECIDED else note,
        **full_results.setting([chosen[depth] for depth in last]),
        resolution=Resolution(
            max(MARGIN * one.standard_error for one in (against or both)), HALF, "of the log loss"
        ),
    )


CLAIMS = (
    Claim(
        "near-diagonal",
        f"{SOURCE}, Figure 4",
        "All matrices of weights that FULL learns with four layers on {1,3} are diagonal-heavy.",
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
