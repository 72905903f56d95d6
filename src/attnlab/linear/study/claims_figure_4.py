"""Claims about Figure 4: the weights of four layers of FULL on {1, 3}.

Source: Vladymyrov et al. (arXiv 2402.14180), Section 6. The figure shows one network, the best one,
and the paper's claims are judged on the best network here and on those that cannot be told from it
by their loss. Networks were trained by Adam from random weights, so that nothing made them
diagonal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attnlab.lab.study import NO_SCALE, UNDECIDED, Claim, Judgement, Resolution, Verdict, View
from attnlab.linear.study import full_results, grids_full, results
from attnlab.linear.study.claims_full import HALF, SOURCE
from attnlab.linear.study.claims_table_cells import LARGEST
from attnlab.linear.study.questions_full import StructureRow
from attnlab.linear.study.results import MARGIN
from attnlab.linear.study.table_1 import PAPER
from attnlab.stats import Estimate, student_threshold

STARTS_LEVEL = 0.05  # of Student's law; that of MARGIN standard errors of many samples


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
    """The structure of the good starts of the network of Figure 4, and the grade of the evidence.

    Parameters
    ----------
    rows
        The matrices of all starts that come within a quarter of the paper's loss, without a heavy
        tail.
    losses
        Their losses, as far as this scale evaluates them.
    best
        The start of least loss, chosen on other sequences.
    evidence
        The grade.
    """

    rows: Sequence[StructureRow]
    losses: dict[int, Estimate]
    best: int
    evidence: results.Evidence

    @property
    def tied(self) -> list[int]:
        """The starts whose loss cannot be told from that of the best one."""
        least = self.losses[self.best]
        return [start for start, loss in self.losses.items() if results.at_most(loss, least)]


def _figure_4(view: View) -> Figure4 | None:
    """The twenty starts where they are stored, and else those that ship.

    None where the best start is not as good as the paper's, or fewer than two are.
    """
    law, layers = grids_full.HEAT_MAP
    shipped = full_results.best_rows(view, law).get(layers)
    if shipped is None:
        return None
    many = full_results.many_starts(view)
    if many:
        rows: Sequence[StructureRow] = [each for each in many if full_results.as_good(each, law)]
        losses = {each.start: results.loss_of(each) for each in many}
        best = next((each.start for each in many if each.best), None)
    else:
        known = results.networks(view, "FULL", law, layers)
        losses = {start: loss for start, (loss, _) in known.items()}
        limit = (1 + LARGEST) * PAPER["FULL", layers, law]
        poor = [s for s, x in losses.items() if not results.steady(x) or x.value > limit]
        every = full_results.structure(view, law, layers)
        rows = [each for each in every if each.steady and each.start not in poor]
        best = shipped.start
    starts = {each.start for each in rows}
    if best not in starts or len(starts) < 2:
        return None
    evidence = dict(full_results.setting([shipped]))
    loss = losses[best]
    evidence["differs"] += f", loss {loss} where the paper has {PAPER['FULL', layers, law]:g}"
    losses = {start: each for start, each in losses.items() if start in starts}
    return Figure4(rows, losses, best, evidence)


def _of_the_best(
    figure: Figure4, shares: dict[str, dict[int, float]], line: float, nothing: float
) -> tuple[Verdict, Resolution, str]:
    """The verdict about the best network, and about those that cannot be told from it.

    It holds where every matrix of all of these is above the line, and fails where each of them has
    one below it. The resolution is the spread of the least share over all good starts.

    Parameters
    ----------
    figure
        The networks.
    shares
        The shares by matrix and start.
    line, nothing
        The line, and the share of a matrix without the structure.
    """
    least = {
        start: min((by_start[start], name) for name, by_start in shares.items())
        for start in {row.start for row in figure.rows}
    }
    above = [least[start][0] > line for start in figure.tied]
    verdict: Verdict = "holds" if all(above) else UNDECIDED if any(above) else "fails"
    values = [value for value, _ in least.values()]
    shown = "; ".join(
        f"start {start} (loss {figure.losses[start]}) {least[start][0]:.2f} in {least[start][1]}"
        for start in figure.tied
    )
    spread = Resolution(max(values) - min(values), line - nothing, "of the squared entries")
    return verdict, spread, shown


def _more_starts(view: View) -> str:
    """What decides: the twenty starts; where they are stored already, nothing that is planned."""
    if full_results.many_starts(view):
        return f"{NO_SCALE} That takes more starts, or longer training."
    return f"{results.decides('paper')} It trains twenty starts."


def _near_diagonal(view: View) -> Judgement:
    figure = _figure_4(view)
    if figure is None:
        return full_results.no_full_network()
    if len(figure.losses) < 2:
        return results.open_until("the loss of one start alone at this scale", "standard")
    found = full_results.by_matrix(figure.rows, "diagonal")
    verdict, resolution, shown = _of_the_best(figure, found, HALF, 1 / 11)
    best = ", ".join(f"{name} {by_start[figure.best]:.2f}" for name, by_start in found.items())
    note = (
        f"The best by other sequences is start {figure.best}: {best}. Networks whose losses cannot "
        "be told apart are equally good, and each could be the one of the figure. P of the last "
        "layer is left out, because its rows of x change nothing."
    )
    return Judgement(
        verdict,
        "least share of the diagonal in the squared entries of a matrix, by network of least "
        f"loss: {shown}",
        f"most of it in every matrix; a matrix without structure has 1/11 = {1 / 11:.2f}",
        f"more than half, our line, in the best network and in all whose loss is within {MARGIN:g} "
        "standard errors of its own; the resolution is the spread over the starts that are as good "
        "as the paper's",
        f"{note} {_more_starts(view)}" if verdict == UNDECIDED else note,
        **figure.evidence,
        resolution=resolution,
    )


def _diagonal_on_average(view: View) -> Judgement:
    figure = _figure_4(view)
    if figure is None:
        return full_results.no_full_network()
    found = full_results.by_matrix(figure.rows, "diagonal")
    verdict, resolution, least = _against_line(found, HALF, 1 / 11, figure.best)
    light = [name for name, by_start in found.items() if np.mean(list(by_start.values())) < HALF]
    note = f"Less than half on average: {results.listed(light)}."
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
        return full_results.no_full_network()
    mean, line = full_results.rank_two_by_chance()
    two, diagonal = (full_results.by_matrix(figure.rows, c) for c in ("rank_two", "diagonal"))
    # Matrices count by what they have off the diagonal.
    shares = {
        start: float(
            np.average([two[m][start] for m in two], weights=[1 - diagonal[m][start] for m in two])
        )
        for start in {row.start for row in figure.rows}
    }
    verdict, resolution, found = _of_the_best(figure, {"all matrices": shares}, line, mean)
    return Judgement(
        verdict,
        "share of two directions in what is off the diagonal, by network of least loss: "
        f"{found}; all starts as good as the paper's from {min(shares.values()):.2f} to "
        f"{max(shares.values()):.2f}",
        f"more than of independent entries, which have {mean:.2f}",
        f"above the 99% quantile of independent entries, {line:.2f}; a matrix counts by the share "
        "that it has off the diagonal; the resolution is the spread over the starts that are as "
        "good as the paper's",
        _more_starts(view) if verdict == UNDECIDED else "",
        **figure.evidence,
        resolution=resolution,
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
        "near-diagonal-on-average",
        "Ours, beside Figure 4",
        "All matrices of weights that FULL learns with four layers on {1,3} are diagonal-heavy on "
        "average over random starts.",
        _diagonal_on_average,
        ("fig-4", "full-structure"),
        ours=True,
    ),
    Claim(
        "low-rank-part",
        f"{SOURCE}, Figure 4",
        "What is off the diagonal of these weights has a part of low rank.",
        _low_rank,
        ("fig-4", "full-structure"),
    ),
)
