"""Claims about the weights and the layers of FULL: Figures 4 and 7.

Source: Vladymyrov et al. (arXiv 2402.14180), Sections 4 and 6 and the appendix. They are judged on
networks that were trained by Adam from random weights, so that nothing made them diagonal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attnlab.lab.study import NO_SCALE, UNDECIDED, Claim, Judgement, Resolution, Verdict, View
from attnlab.linear.study import full_results, grids, grids_full, results
from attnlab.linear.study.claims_full import HALF, SOURCE, no_full_network
from attnlab.linear.study.questions_full import FullLossRow, StructureRow
from attnlab.linear.study.results import MARGIN
from attnlab.linear.study.table_1 import LAWS, PAPER, UNIFORM
from attnlab.stats import Estimate, student_threshold

DEEP = 5  # layers from which "the later layers" are several
ALIKE = 0.9  # of the squared entries: with more on the diagonal a network would count as DIAG
STARTS_LEVEL = 0.05  # of Student's law; that of MARGIN standard errors of many samples
LOW, HIGH = (0.0, 1.0), (4.0, 5.0)  # noise levels of U(0,5) that are low and high
FEWEST = 3  # depths on which a statement about every depth is judged


def _against_line(
    found: dict[str, dict[int, float]], line: float, nothing: float, best: int
) -> tuple[Verdict, Resolution, str]:
    """The verdict about shares of matrices that should all be above a line, and the least share.

    A share is the mean over the steady starts, with Student's law for so few of them. One matrix
    below the line refutes; the least of several is taken, so that its level is divided by their
    number.

    Parameters
    ----------
    found
        The shares by matrix and start.
    line, nothing
        The line, and the share of a matrix without the structure.
    best
        The start that is shown beside the mean.
    """
    means = {name: Estimate.of(list(by_start.values())) for name, by_start in found.items()}
    freedom = len(next(iter(found.values()))) - 1
    t = student_threshold(freedom, level=STARTS_LEVEL)
    errors = {name: t * mean.standard_error for name, mean in means.items()}
    least = min(means, key=lambda name: means[name].value)
    strict = student_threshold(freedom, len(means), STARTS_LEVEL) * means[least].standard_error
    verdict, seen = UNDECIDED, max(errors.values())
    if all(mean.value - errors[name] > line for name, mean in means.items()):
        verdict = "holds"
    elif means[least].value + strict < line:
        verdict, seen = "fails", strict
    values = found[least].values()
    shown = (
        f"{means[least]} ({least}, from {min(values):.2f} to {max(values):.2f} over {len(values)} "
        f"starts without a heavy tail); the start of least loss has {found[least][best]:.2f}"
    )
    return verdict, Resolution(seen, line - nothing, "of the squared entries"), shown


def _law_of_starts() -> str:
    return f"Student's law of the starts without a heavy tail, level {STARTS_LEVEL:g}"


@dataclass(frozen=True)
class Figure4:
    """The structure of the steady starts of the network of Figure 4, and the grade of the evidence.

    `best` is the start of least loss.
    """

    rows: Sequence[StructureRow]
    best: int
    evidence: results.Evidence


def _figure_4(view: View) -> Figure4 | None:
    """The twenty starts where they are stored, and else those that ship.

    Of the twenty those count that come within a quarter of the paper's loss. None where the best
    start has a heavy tail, or fewer than two have none.
    """
    law, layers = grids_full.HEAT_MAP
    shipped = full_results.best_rows(view, law).get(layers)
    if shipped is None:
        return None
    many = full_results.many_starts(view)
    if many:
        rows = [each for each in many if full_results.as_good(each, law)]
        best = next((each for each in rows if each.best), None)
    else:
        rows = [each for each in full_results.structure(view, law, layers) if each.steady]
        best = shipped if shipped.steady else None
    starts = {each.start for each in rows}
    if best is None or best.start not in starts or len(starts) < 2:
        return None
    evidence = dict(full_results.setting([shipped]))
    if evidence.get("differs"):
        loss = results.loss_of(best)
        evidence["differs"] += f", loss {loss} where the paper has {PAPER['FULL', layers, law]:g}"
    return Figure4(rows, best.start, evidence)


def _more_starts(view: View) -> str:
    """What decides: the twenty starts; where they are stored already, nothing that is planned."""
    if full_results.many_starts(view):
        return f"{NO_SCALE} That takes more starts, or longer training."
    return f"{results.decides('paper')} It trains twenty starts on a GPU."


def _near_diagonal(view: View) -> Judgement:
    figure = _figure_4(view)
    if figure is None:
        return no_full_network()
    found = full_results.by_matrix(figure.rows, "diagonal")
    verdict, resolution, least = _against_line(found, HALF, 1 / 11, figure.best)
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
        f"more than half, our line; {_law_of_starts()}, to refute divided by the number of "
        "matrices",
        f"{note} {_more_starts(view)}" if verdict == UNDECIDED else note,
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
    verdict, resolution, found = _against_line({"all matrices": shares}, line, mean, figure.best)
    return Judgement(
        verdict,
        f"share of two directions in what is off the diagonal, mean over the starts: {found}",
        f"more than of independent entries, which have {mean:.2f}",
        f"above the 99% quantile of independent entries, {line:.2f}; {_law_of_starts()}; a matrix "
        "counts by the share that it has off the diagonal",
        _more_starts(view) if verdict == UNDECIDED else "",
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
        f"{full_results.DECIDES if verdict == UNDECIDED else ''}".strip(),
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
        f"{note} {full_results.DECIDES}" if verdict == UNDECIDED else note,
        **full_results.setting(rows),
        resolution=Resolution(MARGIN * error, HALF - 1 / 11, "of the squared entries"),
    )


@dataclass(frozen=True)
class Layers:
    """What the layers of one network do at low and at high noise.

    `first` is how much more of the log loss low noise has gained than high noise, on average over
    the layers before the last; `last` the change of the log loss at high noise by the last layer.
    """

    first: Estimate
    last: Estimate


def _layers(rows: list[FullLossRow], depth: int) -> Layers | None:
    """None where a layer before the last has a heavy tail at some level, or the last diverged.

    A heavy tail of the last layer alone counts: a loss that it makes up has grown.
    """
    low = full_results.read_profile(rows, depth, *LOW)
    high = full_results.read_profile(rows, depth, *HIGH)
    before = [part[read] for part in (low, high) for read in range(depth) if part]
    if not before or not all(map(results.steady, before)) or not math.isfinite(high[depth].value):
        return None
    gains = [
        Estimate(
            *results.difference(
                results.log_ratio(low[0], low[read]), results.log_ratio(high[0], high[read])
            )
        )
        for read in range(1, depth)
    ]
    errors = [gain.standard_error for gain in gains]
    return Layers(
        Estimate(float(np.mean([gain.value for gain in gains])), float(np.mean(errors))),
        results.log_ratio(high[depth], high[depth - 1]),
    )


def _figure_7(view: View) -> Judgement:
    """Whether FULL first improves low noise, and its last layer makes high noise worse."""
    law = grids.U5
    rows = [row for row in results.rows_of(view, "FULL", law) if row.sigma is not None]
    chosen = full_results.best_rows(view, law)
    found: dict[int, Layers] = {}
    left_out = []
    for depth in sorted({row.layers for row in rows if row.layers >= 3}):
        # The paper has no loss for eight layers, so that these count if they have no heavy tail.
        printed = ("FULL", depth, law) in PAPER
        ready = full_results.ready(view, law, depth) if printed else chosen[depth].steady
        layers = _layers(rows, depth) if ready else None
        if layers is None:
            left_out.append(f"L = {depth}")
        else:
            found[depth] = layers
    if len(found) < FEWEST:
        return no_full_network()
    both = [one for layers in found.values() for one in (layers.first, layers.last)]
    against = [
        one
        for depth, layers in found.items()
        for one in (layers.first, layers.last)
        if full_results.enough([chosen[depth]]) and results.clearly_negative(one)
    ]
    verdict: Verdict = UNDECIDED
    if all(map(results.clearly_positive, both)) and not left_out:
        verdict = "holds"
    elif against:
        verdict = "fails"
    first, last = (
        sum(results.clearly_positive(getattr(layers, part)) for layers in found.values())
        for part in ("first", "last")
    )
    note = (
        f"Before the last layer low noise has gained more at {first} of {len(found)} depths, and "
        f"the last makes high noise worse at {last}. Left out (heavy tail before the last layer, "
        f"or far above the paper's loss): {results.listed(left_out)}."
    )
    shown = [
        f"L = {depth}: {layers.first.value:+.2f} and {layers.last.value:+.2f}"
        for depth, layers in found.items()
    ]
    return Judgement(
        verdict,
        "log gain at low noise (σ ≤ 1) minus that at high noise (4 ≤ σ ≤ 5), mean over the layers "
        "before the last, and change of the log loss at high noise by the last layer: "
        f"{', '.join(shown)}",
        "both above 0: low noise improves first, and the last layer makes high noise worse",
        f"at every depth from 3 on with a network as good as the paper's, by {MARGIN:g} standard "
        "errors; only networks with the paper's steps refute",
        f"{note} {full_results.DECIDES}" if verdict == UNDECIDED else note,
        **full_results.setting([chosen[depth] for depth in found]),
        resolution=Resolution(
            max(MARGIN * one.standard_error for one in (against or both)), HALF, "of the log loss"
        ),
    )


CLAIMS = (
    Claim(
        "near-diagonal",
        f"{SOURCE}, Figure 4",
        "All matrices of weights that FULL learns with four layers on {1,3} are diagonal-heavy, on "
        "average over random starts.",
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
