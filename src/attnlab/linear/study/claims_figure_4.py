"""Claims about Figure 4: the weights of four layers of FULL on {1, 3}.

Source: Vladymyrov et al. (arXiv 2402.14180), Section 6. The figure shows one network, the best of
five starts, and the paper's claims are judged on what is the best of five here (`figure_4_starts`).
Networks were trained by Adam from random weights, so that nothing made them diagonal.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from attnlab.lab.study import NO_SCALE, UNDECIDED, Claim, Judgement, Resolution, Verdict, View
from attnlab.linear.study import full_results, results
from attnlab.linear.study.claims_full import HALF, SOURCE
from attnlab.linear.study.figure_4_starts import Figure4, figure_4
from attnlab.linear.study.results import MARGIN
from attnlab.stats import Estimate, student_threshold

NEARLY = 0.95  # of the draws of five starts, our line
SHOWN = 5  # starts in the text of a claim, the most probable ones
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


def _of_the_best(
    figure: Figure4, shares: dict[str, dict[int, float]], line: float, nothing: float
) -> tuple[Verdict, Resolution, str]:
    """The verdict about the best of five starts.

    It holds where the best of five has every matrix above the line in nearly all draws of five
    from the trained starts, and fails where it has in nearly none. Of five starts alone, every one
    that cannot be told from the best counts, and the resolution is the spread of the least share
    over all good starts. Of more, it is `_share_noticed`.

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
    chances = figure.chances
    above = sum(chance for start, chance in chances.items() if least[start][0] > line)
    verdict: Verdict = UNDECIDED
    if max(above, 1 - above) > NEARLY:
        verdict = "holds" if above > NEARLY else "fails"
    if figure.resampled:
        shown = f"the best of five has it with probability {above:.2f}; "
        seen = Resolution(_share_noticed(chances.values()), HALF, "of the networks")
    else:
        shown = ""
        values = [value for value, _ in least.values()]
        seen = Resolution(max(values) - min(values), line - nothing, "of the squared entries")
    likely = sorted(chances, key=lambda start: -chances[start])[:SHOWN]
    shown += "; ".join(
        f"start {start} (loss {figure.losses[start]}) {least[start][0]:.2f} in {least[start][1]}"
        for start in likely
    )
    return verdict, seen, shown


def _share_noticed(chances: Iterable[float]) -> float:
    """The share of exceptions among the networks that prevents a verdict with `STARTS_LEVEL`.

    A start with a chance of at least 1 - `NEARLY` prevents it alone where it is an exception. That
    none of these m starts is one has the probability (1 - q)^m if a share q of all networks is.
    """
    deciding = sum(chance >= 1 - NEARLY for chance in chances)
    return 1 - STARTS_LEVEL ** (1 / deciding) if deciding else 1.0


def _more_starts(view: View) -> str:
    """What decides: the twenty starts; where they are stored already, nothing that is planned."""
    if full_results.many_starts(view):
        return f"{NO_SCALE} The good starts disagree, so the answer depends on the seeds."
    return f"{results.decides('paper')} It trains twenty starts."


def _best(figure: Figure4) -> str:
    """Which networks count as the best one, and what the resolution is."""
    if figure.resampled:
        return (
            f"in more than {NEARLY:g} of the draws of five, with replacement, from the "
            f"{figure.trained} starts that contain one as good as the paper's; fails in less than "
            f"{1 - NEARLY:.2g}; the resolution is the share of exceptions among all networks with "
            f"which this verdict has a probability of at most {STARTS_LEVEL:g}"
        )
    return (
        f"in the best network and in all whose loss is within {MARGIN:g} standard errors of its "
        "own; the resolution is the spread over the starts that are as good as the paper's"
    )


def _diagonal(view: View, together: bool) -> Judgement:
    """Whether more than half of the squared entries is on the diagonal.

    `together` asks it of the mean over the matrices, otherwise it is asked of every matrix.
    """
    figure = figure_4(view)
    if figure is None:
        return full_results.no_full_network()
    if len(figure.losses) < 2:
        return results.open_until("the loss of one start alone at this scale", "standard")
    found = full_results.by_matrix(figure.rows, "diagonal")
    ranges = {name: (min(each.values()), max(each.values())) for name, each in found.items()}
    light = [
        f"{name} ({low:.2f} to {high:.2f})" for name, (low, high) in ranges.items() if low < HALF
    ]
    if together:
        starts = {row.start for row in figure.rows}
        means = {
            start: float(np.mean([each[start] for each in found.values()])) for start in starts
        }
        shares, shown = {"all matrices": means}, "mean over the matrices"
    else:
        shares, shown = found, "least of all matrices"
    verdict, resolution, measured = _of_the_best(figure, shares, HALF, 1 / 11)
    note = (
        f"Less than half in some network as good as the paper's: {results.listed(light)}. P of the "
        "last layer is left out, because its rows of x change nothing."
    )
    return Judgement(
        verdict,
        f"share of the diagonal in the squared entries, {shown}, by network of least loss: "
        f"{measured}",
        f"most of {'the weights, on average over the matrices' if together else 'every matrix'}; "
        f"without structure it is 1/11 = {1 / 11:.2f}",
        f"more than half, our line, {_best(figure)}",
        f"{note} {_more_starts(view)}" if verdict == UNDECIDED else note,
        **figure.evidence,
        resolution=resolution,
    )


def _diagonal_on_average(view: View) -> Judgement:
    figure = figure_4(view)
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
    figure = figure_4(view)
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
        f"above the 99% quantile of independent entries, {line:.2f}, {_best(figure)}; a matrix "
        "counts by the share that it has off the diagonal",
        _more_starts(view) if verdict == UNDECIDED else "",
        **figure.evidence,
        resolution=resolution,
    )


CLAIMS = (
    Claim(
        "near-diagonal",
        f"{SOURCE}, Figure 4",
        "The weights that FULL learns with four layers on {1,3} are diagonal-heavy.",
        partial(_diagonal, together=True),
        ("fig-4",),
    ),
    Claim(
        "diagonal-in-every-matrix",
        "Ours, beside Figure 4",
        "Every matrix of these weights is diagonal-heavy by itself.",
        partial(_diagonal, together=False),
        ("fig-4", "full-structure"),
        ours=True,
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
