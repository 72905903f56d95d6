"""The claim that linear transformers converge in fewer than ten layers.

Source: Vladymyrov et al. (arXiv 2402.14180), Section 6, which contrasts it with ADARR by gradient
descent, so that both halves have one line for "converged" (`claims_baselines.CLOSE`). A network has
converged in fewer than ten layers if a tenth changes its loss by next to nothing. It is judged on
DIAG, of which `paper` trains ten runs of up to ten layers per noise law.

The depths of one run are grown from one another, so that every run tells whether its tenth layer
gained. "Typically" is a share of runs, and not what a layer gains on average: now and then training
finds a far better network with the tenth layer, and a few such runs rule the mean. The noise laws
are all of the paper's with noise and have equal weight.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from attnlab.lab.study import (
    NO_SCALE,
    UNDECIDED,
    Claim,
    Judgement,
    Missing,
    Resolution,
    Verdict,
    View,
)
from attnlab.linear.study import grids, results
from attnlab.linear.study.claims_baselines import CLOSE
from attnlab.linear.study.claims_models import SOURCE
from attnlab.linear.study.results import MARGIN
from attnlab.linear.study.shipped_table import DEEP_DIGESTS
from attnlab.linear.study.table_1 import DEPTHS, law_name
from attnlab.stats import Estimate

CONVERGED = CLOSE  # share of the loss that a tenth layer changes where a network has converged
FEWEST = 5  # runs on a law, from which a share of them is worth the name
DEEP = (DEPTHS[-1], grids.TEN - 1, grids.TEN)  # the depths that are read


class _Runs(NamedTuple):
    """What the tenth layer, and layers 8 to 10 together, gain in every run on a law.

    Shares of the loss of nine and of seven layers, on the same sequences for all runs; None where
    a loss has a heavy tail.
    """

    tenth: list[float | None]
    together: list[float | None]
    sampling: float  # the standard error of what the tenth layer gains in a run

    def converged(self, line: float = CONVERGED, *, tails: bool = False) -> float:
        """The share of runs whose tenth layer changes the loss by at most the line.

        Runs with a heavy tail count if `tails` says so.
        """
        ended = (tails if gain is None else abs(gain) <= line for gain in self.tenth)
        return sum(ended) / len(self.tenth)

    @property
    def surely(self) -> float:
        """The share that has converged, by MARGIN standard errors of sampling."""
        return self.converged(CONVERGED - MARGIN * self.sampling)

    @property
    def perhaps(self) -> float:
        """The share that may have converged."""
        return self.converged(CONVERGED + MARGIN * self.sampling, tails=True)


def _runs(view: View, law: str) -> _Runs | None:
    """None without enough runs, or without the shipped networks that tell the sampling error."""
    losses = []
    for cell in grids.ten_layers(law, view.scale, view.seed):
        try:
            rows = view.rows(cell)
        except Missing:
            continue
        losses.append(
            {
                row.layers: results.loss_of(row)
                for row in rows
                if row.layers in DEEP and row.read == row.layers and row.sigma is None
            }
        )
    sampling = _sampling(view, law)
    if sampling is None or len(losses) < FEWEST:
        return None
    seven, nine, _ = DEEP
    tenth, together = ([_gain(run, depth) for run in losses] for depth in (nine, seven))
    return _Runs(tenth, together, sampling)


def _gain(losses: dict[int, Estimate], fewer: int) -> float | None:
    """What ten layers gain, as a share of the loss of fewer; None with a heavy tail."""
    if not all(results.steady(losses[depth]) for depth in (fewer, grids.TEN)):
        return None
    return 1 - losses[grids.TEN].value / losses[fewer].value


def _sampling(view: View, law: str) -> float | None:
    """The standard error of the difference of nine and ten layers on the same sequences.

    As a share of the loss, of the shipped networks; None if one of them has a heavy tail.
    """
    try:
        rows = {row.layers: row for row in view.rows(grids.last_layers(law, view.scale, view.seed))}
    except Missing:
        return None
    nine = rows[grids.TEN - 1]
    for row in (nine, rows[grids.TEN]):
        if row.loss is None or not results.steady(Estimate(row.loss, row.error)):
            return None
    return None if nine.above_error is None else nine.above_error / nine.loss


def _spread(runs: Sequence[_Runs], laws: int) -> float:
    """The standard error of the share of converged runs, a mean over noise laws."""
    own = [p * (1 - p) / (len(each.tenth) - 1) for each in runs for p in [each.converged()]]
    return math.sqrt(sum(own)) / laws


def _median(gains: Sequence[float | None]) -> str:
    known = [gain for gain in gains if gain is not None]
    return f"{median(known):+.1%}" if known else "unknown"


def _few_layers(view: View) -> Judgement:
    laws = {law_name(law): _runs(view, law) for law in DEEP_DIGESTS}
    seen = {name: runs for name, runs in laws.items() if runs is not None}
    if not seen:
        return results.open_until(f"fewer than {FEWEST} runs of DIAG with ten layers", "paper")
    missing = len(laws) - len(seen)  # may all have converged, or none
    least = sum(runs.surely for runs in seen.values()) / len(laws)
    most = (sum(runs.perhaps for runs in seen.values()) + missing) / len(laws)
    margin = MARGIN * _spread(list(seen.values()), len(laws))
    verdict: Verdict = UNDECIDED
    if least - margin > 0.5:
        verdict = "holds"
    elif most + margin < 0.5:
        verdict = "fails"
    shown = [
        f"{name} {runs.converged():.0%} of {len(runs.tenth)}, median gain of the tenth "
        f"{_median(runs.tenth)} and of layers 8 to 10 {_median(runs.together)}"
        for name, runs in seen.items()
    ]
    return Judgement(
        verdict,
        f"converged with nine layers: {least:.0%} to {most:.0%} of the runs of DIAG ± "
        f"{margin / MARGIN:.0%}; {'; '.join(shown)}",
        "most runs",
        f"a run has converged where a tenth layer changes the loss by at most {CONVERGED:.0%}, the "
        "line that ADARR by gradient descent has in claim iterative-adarr; more than half of the "
        f"runs, by {MARGIN:g} standard errors; those that sampling or a heavy tail leaves open "
        "count against the verdict",
        "The depths of a run are grown from one another: a layer that gains nothing is one that "
        "training could not use, as in the paper, and a better one may exist."
        + (f" {_decides(view)}" if verdict == UNDECIDED else ""),
        grade="smaller setting",
        differs=f"{results.DIFFERS['paper']}; DIAG alone, since no FULL network has ten layers",
        resolution=Resolution(margin + most - least, 0.5, "of the runs"),
    )


def _decides(view: View) -> str:
    if view.scale == "paper":
        return f"{NO_SCALE} That takes more runs of ten layers."
    return results.decides("paper")


CLAIMS = (
    Claim(
        "fewer-than-ten-layers",
        SOURCE,
        "Linear transformers typically converge in fewer than ten layers: in most runs of DIAG a "
        "tenth layer gains next to nothing.",
        _few_layers,
        ("fig-1", "iterations"),
    ),
)
