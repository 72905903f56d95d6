"""Published accuracies of softmax and linear attention on the Long Range Arena.

Source: Tay et al. (arXiv 2011.04006), Table 1: the five tasks that some model solves. A softmax
transformer stands beside two of linear attention, the linear transformer (Katharopoulos et al.,
arXiv 2006.16236) and the Performer (Choromanski et al., arXiv 2009.14794). Sizes of the test sets
are those of the benchmark's data.
"""

from __future__ import annotations

from dataclasses import dataclass

from attnlab.lab.cell import CellKind, Outcome


@dataclass(frozen=True)
class PublishedAccuracies:
    """The table; it has no knobs."""


@dataclass(frozen=True)
class AccuracyRow:
    """Published accuracies in per cent on one test set."""

    task: str
    sequences: int  # of the test set
    softmax: float
    linear: float
    performer: float


ARENA = (
    AccuracyRow("ListOps", 2_000, 36.37, 16.13, 18.01),
    AccuracyRow("text", 25_000, 64.27, 65.90, 65.40),
    AccuracyRow("retrieval", 17_437, 57.46, 53.09, 53.82),
    AccuracyRow("image", 10_000, 42.44, 42.34, 42.77),
    AccuracyRow("Pathfinder", 20_000, 71.40, 75.30, 77.05),
)


def run_published(config: PublishedAccuracies) -> Outcome[AccuracyRow]:
    """One row per task."""
    return Outcome(list(ARENA))


published = CellKind("separation_published", PublishedAccuracies, AccuracyRow, run_published)
