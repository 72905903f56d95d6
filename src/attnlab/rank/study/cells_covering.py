"""Cells about Conjecture 8; `questions_covering` describes them."""

from __future__ import annotations

from attnlab.lab.cell import CellKind, Outcome, Tolerance
from attnlab.rank.study.questions_covering import (
    CoveringBound,
    CoveringBoundRow,
    CoveringSample,
    CoveringSampleRow,
)


def run_sample(config: CoveringSample) -> Outcome[CoveringSampleRow]:
    from attnlab.rank.study.compute_covering import sample_rows

    return Outcome(sample_rows(config))


def run_bound(config: CoveringBound) -> Outcome[CoveringBoundRow]:
    from attnlab.rank.study.compute_covering import bound_rows

    return Outcome(bound_rows(config))


# A direction or a neighbour that two machines choose differently moves one prompt of thousands.
covering_sample = CellKind(
    "rank_covering_sample",
    CoveringSample,
    CoveringSampleRow,
    run_sample,
    tolerance=Tolerance(1e-3, 1e-7),
)
covering_bound = CellKind("rank_covering_bound", CoveringBound, CoveringBoundRow, run_bound)
KINDS = (covering_sample, covering_bound)
