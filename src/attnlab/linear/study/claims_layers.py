"""The claim that linear transformers converge in fewer than ten layers.

Source: Vladymyrov et al. (arXiv 2402.14180), Section 6, which contrasts it with ADARR by gradient
descent, so that both halves have one line for "converged" (`claims_baselines.CLOSE`). It is judged
on DIAG: `paper` trains ten runs of seven layers and five runs of up to ten per noise law.

What is compared is the best of five runs of each depth, as in the paper's table. Two such sets of
the same depth differ by more than the sampling error. Therefore the best of five is taken from the
law of the best of five runs that are drawn from the stored ones, with its mean and its standard
deviation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

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
from attnlab.linear.study.best_of_runs import BEST_OF, chances_of_best
from attnlab.linear.study.claims_baselines import CLOSE
from attnlab.linear.study.claims_models import SOURCE
from attnlab.linear.study.results import MARGIN
from attnlab.linear.study.shipped_table import DEEP_DIGESTS
from attnlab.linear.study.table_1 import DEPTHS, law_name
from attnlab.stats import Estimate

CONVERGED = CLOSE  # share of the loss that further layers gain where a model has converged
DEEP = (DEPTHS[-1], grids.TEN - 1, grids.TEN)  # the depths that are compared


class _LastLayers(NamedTuple):
    """What layers 8 to 10 of DIAG gain together, and what the tenth gains alone.

    Shares of the loss of seven and of nine layers, with the spread between sets of five runs.
    """

    together: Estimate
    tenth: Estimate

    @property
    def ended(self) -> bool:
        """Whether three further layers gain next to nothing."""
        return self.together.value + MARGIN * self.together.standard_error <= CONVERGED

    @property
    def falling(self) -> bool:
        """Whether the tenth layer still gains."""
        return self.tenth.value - MARGIN * self.tenth.standard_error > CONVERGED


def best_of_five(runs: Sequence[tuple[float, float]]) -> Estimate:
    """The loss of the best of five runs that are drawn from the stored ones (`best_of_runs`).

    The standard error is the standard deviation of the loss under this law.

    Parameters
    ----------
    runs
        The loss of every run, after the value by which the best is chosen.
    """
    losses = [loss for _, loss in sorted(runs)]
    chance = chances_of_best(len(runs))
    mean = sum(p * loss for p, loss in zip(chance, losses, strict=True))
    square = sum(p * (loss - mean) ** 2 for p, loss in zip(chance, losses, strict=True))
    return Estimate(mean, math.sqrt(square))


def _last_layers(view: View, law: str) -> _LastLayers | None:
    """None where a depth has a run with a heavy tail that could be the best, or none at all."""
    runs: dict[int, list[tuple[float, float]]] = {depth: [] for depth in DEEP}
    for cell in (
        *grids.trained("DIAG", law, view.scale, view.seed),
        *grids.ten_layers(law, view.scale, view.seed),
    ):
        for row in view.rows(cell):
            if row.layers in runs and row.read == row.layers and row.sigma is None:
                runs[row.layers].append((_choice(row), results.loss_of(row).value))
    sampling = _sampling(view, law)
    if sampling is None or not all(len(found) >= BEST_OF for found in runs.values()):
        return None
    if not all(math.isfinite(loss) for found in runs.values() for _, loss in found):
        return None
    best = {depth: best_of_five(found) for depth, found in runs.items()}
    return _LastLayers(
        *(_gain(best[depth], best[grids.TEN], sampling[depth]) for depth in DEEP[:-1])
    )


def _choice(row: Any) -> float:
    return math.inf if row.selection is None else row.selection


def _gain(fewer: Estimate, ten: Estimate, sampling: float) -> Estimate:
    """What ten layers gain, as a share of the loss of fewer."""
    ratio = ten.value / fewer.value
    spread = math.hypot(
        ten.standard_error / fewer.value, ratio * fewer.standard_error / fewer.value
    )
    return Estimate(1 - ratio, math.hypot(spread, sampling))


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
    try:
        found = {law_name(law): _last_layers(view, law) for law in DEEP_DIGESTS}
    except Missing:
        found = {}
    seen = {name: each for name, each in found.items() if each is not None}
    if not seen:
        return results.open_until(f"fewer than {BEST_OF} runs of DIAG with ten layers", "paper")
    ended = [name for name, each in seen.items() if each.ended]
    falling = [name for name, each in seen.items() if each.falling]
    most = len(found) / 2
    verdict: Verdict = UNDECIDED
    if len(ended) > most:
        verdict = "holds"
    elif len(falling) > most:
        verdict = "fails"
    margins = [
        MARGIN * (seen[name].tenth if verdict == "fails" else seen[name].together).standard_error
        for name in (falling if verdict == "fails" else ended if verdict == "holds" else seen)
    ]
    shown = [
        f"{name} {each.together.value:+.1%} ± {each.together.standard_error:.1%}, "
        f"{each.tenth.value:+.1%} ± {each.tenth.standard_error:.1%}"
        for name, each in seen.items()
    ]
    return Judgement(
        verdict,
        "gain of ten layers of DIAG over seven, and over nine, as a share of the loss: "
        f"{'; '.join(shown)}; converged on {len(ended)} of {len(found)} noise laws, the tenth "
        f"layer still gains on {len(falling)}",
        "converged in fewer than ten layers on most of them",
        f"ten layers are below seven by at most {CONVERGED:.0%}, the line that ADARR by gradient "
        f"descent has in claim iterative-adarr, with {MARGIN:g} standard errors added: those of "
        "the best of five runs over sets of runs, and that of the difference on the same "
        "sequences; a tenth layer that gains more on most laws refutes",
        "Every depth is grown from the one before, and the best of the runs is taken: a layer that "
        "gains nothing is one that training could not use, as in the paper, and a better one may "
        "exist." + (f" {_decides(view)}" if verdict == UNDECIDED else ""),
        grade="smaller setting",
        differs=f"{results.DIFFERS['paper']}; DIAG alone, since no FULL network has ten layers",
        resolution=Resolution(max(margins, default=math.inf), CONVERGED, "of the loss"),
    )


def _decides(view: View) -> str:
    if view.scale == "paper":
        return (
            f"{NO_SCALE} That takes so many runs of seven, nine and ten layers that the best of "
            f"them no longer differs between two sets by {CONVERGED:.0%}."
        )
    return results.decides("paper")


CLAIMS = (
    Claim(
        "fewer-than-ten-layers",
        SOURCE,
        "Linear transformers typically converge in fewer than ten layers: on most noise laws the "
        "eighth, ninth and tenth layer of DIAG together gain next to nothing.",
        _few_layers,
        ("fig-1", "iterations"),
    ),
)
