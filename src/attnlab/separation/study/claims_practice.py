"""Claims about applications: softmax attention performs better than linear attention.

Deng, Song, Zhou (arXiv 2310.11685) say in most situations and substantially (abstract), and always
(Section 1), and cite no experiment. Neither the paper nor this laboratory trains models on language
or images: the sentences are judged on the published accuracies of `cells_published`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from attnlab.lab.study import (
    NO_SCALE,
    UNDECIDED,
    Claim,
    Judgement,
    Resolution,
    Verdict,
    View,
)
from attnlab.separation.study import grids
from attnlab.separation.study.cells_published import AccuracyRow
from attnlab.separation.study.claims_theorems import PAPER
from attnlab.stats import LEVEL, Estimate, normal_threshold, student_threshold

SOURCE = (
    "Published accuracies of the Long Range Arena (Tay et al. 2020), one training run per model."
)
OPEN = f"{NO_SCALE} More benchmarks would."


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
    """'Always' fails where both models of linear attention are better on some task."""
    rows = list(view.rows(grids.published_accuracies()))
    found, z, better, worse = _tasks(rows)
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
        "which both are clearly better refutes 'always'",
        "Published accuracies of the Long Range Arena (Tay et al. 2020), one training run per "
        "model: differences between runs are not in the standard errors, and that two models "
        "agree on a task speaks for it. On average over the tasks softmax is better. Linear "
        "attention has a feature map there, which the paper's has not.",
        grade="smaller setting",
        differs=_differs(rows),
        resolution=_resolution([found[task] for task in worse] or list(found.values()), z),
    )


def _most(view: View) -> Judgement:
    """'Most' is more than half of the tasks: clearly better there, or clearly worse on half."""
    rows = list(view.rows(grids.published_accuracies()))
    found, z, better, worse = _tasks(rows)
    verdict: Verdict = UNDECIDED
    if 2 * len(worse) >= len(rows):
        verdict = "fails"
    elif 2 * len(better) > len(rows):
        verdict = "holds"
    return Judgement(
        verdict,
        f"softmax is better than both models of linear attention on {len(better)} of {len(rows)} "
        f"tasks ({_listed(better)}), worse than both on {len(worse)} ({_listed(worse)})",
        "better on more than half of the tasks",
        f"by {z:.1f} standard errors of the test set (familywise level {LEVEL:g})",
        f"{SOURCE} {'' if verdict != UNDECIDED else OPEN}".strip(),
        grade="smaller setting",
        differs=_differs(rows),
        resolution=_resolution(
            [found[task] for task in (better or worse)] or [*found.values()], z, len(rows) // 2
        ),
    )


def _drop(view: View) -> Judgement:
    """The mean difference over tasks, with the standard error of a mean over tasks."""
    rows = list(view.rows(grids.published_accuracies()))
    means = [Estimate.of([gaps(row)[model].value for row in rows]) for model in range(2)]
    t = student_threshold(max(len(rows) - 1, 1), len(means))
    verdict: Verdict = UNDECIDED
    if all(_beyond(mean, t) for mean in means):
        verdict = "holds"
    elif all(_beyond(mean, -t) for mean in means):
        verdict = "fails"
    noticed = t * max(mean.standard_error for mean in means)
    shown = " and ".join(f"{mean.value:.2f} ± {mean.standard_error:.2f}" for mean in means)
    return Judgement(
        verdict,
        f"a drop of {shown} per cent for the two models of linear attention, on average over "
        f"{len(rows)} tasks (standard error over tasks)",
        "a drop, beyond the differences between tasks",
        f"{t:.0f} standard errors (Student's law, familywise level {LEVEL:g})",
        f"The text names no size of a substantial drop. {SOURCE} "
        f"{'' if verdict != UNDECIDED else OPEN}".strip(),
        grade="smaller setting",
        differs=_differs(rows),
        resolution=Resolution(
            noticed, min(abs(mean.value) for mean in means), "per cent of accuracy"
        ),
    )


def _tasks(
    rows: Sequence[AccuracyRow],
) -> tuple[dict[str, list[Estimate]], float, list[str], list[str]]:
    """The differences, their threshold, and the tasks on which softmax is better or worse."""
    found = {row.task: gaps(row) for row in rows}
    z = normal_threshold(sum(map(len, found.values())))
    better = [task for task, both in found.items() if all(_beyond(each, z) for each in both)]
    worse = [task for task, both in found.items() if all(_beyond(each, -z) for each in both)]
    return found, z, better, worse


def _differs(rows: Sequence[AccuracyRow]) -> str:
    return f"{len(rows)} classification tasks of one benchmark, one training run per model"


def _beyond(gap: Estimate, z: float) -> bool:
    """Whether the gap has the sign of z and is more than |z| standard errors."""
    return math.copysign(1.0, z) * gap.value > abs(z) * gap.standard_error


def _listed(tasks: Sequence[str]) -> str:
    return ", ".join(tasks) or "no task"


def _resolution(found: Sequence[Sequence[Estimate]], z: float, rank: int = 0) -> Resolution:
    """What would have been noticed on the clearest task, and the difference that it has.

    `rank` takes a less clear one, where more than one task is needed.
    """
    seen = [
        (z * max(each.standard_error for each in both), min(abs(each.value) for each in both))
        for both in found
    ]
    seen.sort(key=lambda pair: pair[0] - pair[1])
    return Resolution(*seen[min(rank, len(seen) - 1)], "per cent of accuracy")


CLAIMS = (
    Claim(
        "practice-drop",
        f"{PAPER}, abstract and Section 8",
        "Linear attention shows a substantial drop of performance compared with softmax attention.",
        _drop,
    ),
    Claim(
        "practice-most",
        f"{PAPER}, abstract",
        "Softmax attention is better than linear attention in most situations.",
        _most,
    ),
    Claim(
        "practice",
        f"{PAPER}, Section 1",
        "In applications softmax attention always performs better than linear attention.",
        _practice,
    ),
)
