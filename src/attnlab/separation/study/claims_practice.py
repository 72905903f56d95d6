"""The claim about applications: softmax attention performs better than linear attention.

Source of the sentence: Deng, Song, Zhou (arXiv 2310.11685), Section 1, which cites no experiment.
Neither the paper nor this laboratory trains models on language or images: the sentence is judged on
the published accuracies of `cells_published`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from attnlab.lab.study import UNDECIDED, Claim, Judgement, Resolution, Verdict, View
from attnlab.separation.study import grids
from attnlab.separation.study.cells_published import AccuracyRow
from attnlab.separation.study.claims_theorems import PAPER
from attnlab.stats import LEVEL, Estimate, normal_threshold


def gaps(row: AccuracyRow) -> list[Estimate]:
    """Softmax less each of the two models of linear attention.

    The standard error is that of two independent shares of the test set. Differences between
    training runs are not in it: the table has one run per model.
    """

    def variance(accuracy: float) -> float:
        return accuracy * (100 - accuracy) / row.sequences

    return [
        Estimate(row.softmax - other, math.sqrt(variance(row.softmax) + variance(other)))
        for other in (row.linear, row.performer)
    ]


def _practice(view: View) -> Judgement:
    """'Consistently' fails where both models of linear attention are better on some task."""
    rows = list(view.rows(grids.published_accuracies()))
    found = {row.task: gaps(row) for row in rows}
    z = normal_threshold(sum(map(len, found.values())))
    better = [task for task, both in found.items() if all(_beyond(each, z) for each in both)]
    worse = [task for task, both in found.items() if all(_beyond(each, -z) for each in both)]
    verdict: Verdict = UNDECIDED
    if worse:
        verdict = "fails"
    elif len(better) == len(found):
        verdict = "holds"
    return Judgement(
        verdict,
        f"softmax is better than both models of linear attention on {_listed(better)}, worse than "
        f"both on {_listed(worse)}: "
        + "; ".join(
            f"{row.task} {row.softmax:.2f}% against {row.linear:.2f}% and {row.performer:.2f}%"
            for row in rows
        ),
        "a higher accuracy with softmax attention on every task",
        f"by {z:.1f} standard errors of the test set (familywise level {LEVEL:g}); one task on "
        "which both are clearly better refutes 'consistently'",
        "Published accuracies of the Long Range Arena (Tay et al. 2020), one training run per "
        "model: differences between runs are not in the standard errors, and that two models "
        "agree on a task speaks for it. On average over the tasks softmax is better. Linear "
        "attention has a feature map there, which the paper's has not.",
        grade="smaller setting",
        differs=f"{len(rows)} classification tasks of one benchmark, one training run per model",
        resolution=_resolution([found[task] for task in worse] or list(found.values()), z),
    )


def _beyond(gap: Estimate, z: float) -> bool:
    """Whether the gap has the sign of z and is more than |z| standard errors."""
    return math.copysign(1.0, z) * gap.value > abs(z) * gap.standard_error


def _listed(tasks: Sequence[str]) -> str:
    return ", ".join(tasks) or "no task"


def _resolution(found: Sequence[Sequence[Estimate]], z: float) -> Resolution:
    """What would have been noticed on the clearest task, and the difference that it has."""
    seen = [
        (z * max(each.standard_error for each in both), min(abs(each.value) for each in both))
        for both in found
    ]
    return Resolution(*max(seen, key=lambda pair: pair[1] - pair[0]), "per cent of accuracy")


CLAIMS = (
    Claim(
        "practice",
        f"{PAPER}, abstract and Section 1",
        "In applications softmax attention consistently performs better than linear attention.",
        _practice,
    ),
)
