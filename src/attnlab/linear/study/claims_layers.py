"""The claim that linear transformers converge in fewer than ten layers.

Source: Vladymyrov et al. (arXiv 2402.14180), Section 6, which contrasts it with ADARR by gradient
descent, so that both halves have one line for "converged" (`claims_baselines.CLOSE`). A network has
converged in fewer than ten layers if a tenth gains next to nothing. It is judged on DIAG, of which
`paper` trains ten runs of up to ten layers per noise law.

The depths of one run are grown from one another, so that what the tenth layer gains is known run by
run: its mean has the standard error of the mean over runs. Losses of different runs differ by more
than a layer gains, and are not compared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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

CONVERGED = CLOSE  # share of the loss that a further layer gains where a model has converged
FEWEST = 5  # runs, from which a mean over runs has a standard error worth the name
DEEP = (DEPTHS[-1], grids.TEN - 1, grids.TEN)  # the depths that are compared


class _LastLayers(NamedTuple):
    """What layers 8 to 10 of DIAG gain together, and what the tenth gains alone.

    Means over runs of shares of the loss of seven and of nine layers.
    """

    together: Estimate
    tenth: Estimate

    @property
    def ended(self) -> bool:
        """Whether the tenth layer gains next to nothing."""
        return self.tenth.value + MARGIN * self.tenth.standard_error <= CONVERGED

    @property
    def falling(self) -> bool:
        """Whether the tenth layer still gains."""
        return self.tenth.value - MARGIN * self.tenth.standard_error > CONVERGED


def _last_layers(view: View, law: str) -> _LastLayers | None:
    """None without enough runs, or where one of them has a heavy tail."""
    runs = []
    for cell in grids.ten_layers(law, view.scale, view.seed):
        try:
            rows = view.rows(cell)
        except Missing:
            continue
        runs.append(
            {
                row.layers: results.loss_of(row)
                for row in rows
                if row.layers in DEEP and row.read == row.layers and row.sigma is None
            }
        )
    sampling = _sampling(view, law)
    if sampling is None or len(runs) < FEWEST:
        return None
    if not all(results.steady(loss) for run in runs for loss in run.values()):
        return None
    return _LastLayers(*(_gain(runs, depth, sampling[depth]) for depth in DEEP[:-1]))


def _gain(runs: Sequence[dict[int, Estimate]], fewer: int, sampling: float) -> Estimate:
    """The mean over runs of what ten layers gain, as a share of the loss of fewer.

    All runs are evaluated on the same sequences, so that the sampling error is that of one.
    """
    over_runs = Estimate.of(1 - run[grids.TEN].value / run[fewer].value for run in runs)
    return Estimate(over_runs.value, math.hypot(over_runs.standard_error, sampling))


def _sampling(view: View, law: str) -> dict[int, float] | None:
    """The standard error of each difference to ten layers on the same sequences, as a share.

    It is that of the shipped networks, the best of their runs; None if one has a heavy tail.
    """
    rows = {row.layers: row for row in view.rows(grids.last_layers(law, view.scale, view.seed))}
    found = {}
    for depth in DEEP:
        row = rows[depth]
        if row.loss is None or row.above_error is None:
            return None
        if not results.steady(Estimate(row.loss, row.error)):
            return None
        found[depth] = row.above_error / row.loss
    return found


def _few_layers(view: View) -> Judgement:
    found = {}
    for law in DEEP_DIGESTS:
        try:
            found[law_name(law)] = _last_layers(view, law)
        except Missing:  # no evaluation of the shipped networks of ten layers
            found[law_name(law)] = None
    seen = {name: each for name, each in found.items() if each is not None}
    if not seen:
        return results.open_until(f"fewer than {FEWEST} runs of DIAG with ten layers", "paper")
    ended = [name for name, each in seen.items() if each.ended]
    falling = [name for name, each in seen.items() if each.falling]
    most = len(found) / 2
    verdict: Verdict = UNDECIDED
    if len(ended) > most:
        verdict = "holds"
    elif len(falling) > most:
        verdict = "fails"
    telling = {"holds": ended, "fails": falling}.get(verdict, list(seen))
    margins = [MARGIN * seen[name].tenth.standard_error for name in telling]
    shown = [
        f"{name} {each.tenth.value:+.1%} ± {each.tenth.standard_error:.1%} "
        f"({each.together.value:+.1%})"
        for name, each in seen.items()
    ]
    return Judgement(
        verdict,
        "what the tenth layer of DIAG gains, as a share of the loss of nine (and what layers 8 to "
        f"10 gain together): {'; '.join(shown)}; converged on {len(ended)} of {len(found)} noise "
        f"laws, the tenth layer still gains on {len(falling)}",
        "next to nothing on most of them",
        f"at most {CONVERGED:.0%}, the line that ADARR by gradient descent has in claim "
        f"iterative-adarr, with {MARGIN:g} standard errors added: those of the mean over runs, and "
        "that of the difference on the same sequences; a tenth layer that gains more on most laws "
        "refutes",
        "The depths of a run are grown from one another: a layer that gains nothing is one that "
        "training could not use, as in the paper, and a better one may exist."
        + (f" {_decides(view)}" if verdict == UNDECIDED else ""),
        grade="smaller setting",
        differs=f"{results.DIFFERS['paper']}; DIAG alone, since no FULL network has ten layers",
        resolution=Resolution(max(margins, default=math.inf), CONVERGED, "of the loss"),
    )


def _decides(view: View) -> str:
    if view.scale == "paper":
        return (
            f"{NO_SCALE} That takes so many runs of ten layers that what the tenth gains is known "
            f"to {CONVERGED:.0%} of the loss on most laws."
        )
    return results.decides("paper")


CLAIMS = (
    Claim(
        "fewer-than-ten-layers",
        SOURCE,
        "Linear transformers typically converge in fewer than ten layers: on most noise laws the "
        "tenth layer of DIAG gains next to nothing.",
        _few_layers,
        ("fig-1", "iterations"),
    ),
)
