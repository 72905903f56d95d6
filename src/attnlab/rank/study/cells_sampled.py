"""Cells that sample at several sizes; `questions_sampled` describes them."""

from __future__ import annotations

from attnlab.lab.cell import CellKind, Outcome, Tolerance
from attnlab.rank.study.questions_sampled import (
    CoordinateHeads,
    CoordinateHeadsRow,
    SingleHeadRow,
    SingleHeads,
    SoftmaxCurve,
    SoftmaxRow,
    TheoremFourHeads,
    TheoremFourHeadsResult,
)


def run_softmax(config: SoftmaxCurve) -> Outcome[SoftmaxRow]:
    from attnlab.rank.study.compute_sampled import softmax_rows

    return Outcome(softmax_rows(config))


def run_single_heads(config: SingleHeads) -> Outcome[SingleHeadRow]:
    from attnlab.rank.study.compute_sampled import single_head_rows

    return Outcome(single_head_rows(config))


def run_coordinate_heads(config: CoordinateHeads) -> Outcome[CoordinateHeadsRow]:
    from attnlab.rank.study.compute_sampled import coordinate_rows

    return Outcome(coordinate_rows(config))


def run_theorem_4_heads(config: TheoremFourHeads) -> TheoremFourHeadsResult:
    from attnlab.rank.study.compute_sampled import theorem_4_result

    return theorem_4_result(config)


SINGLE_PRECISION = Tolerance(1e-3, 1e-7)  # as in `cells`
softmax = CellKind(
    "rank_softmax", SoftmaxCurve, SoftmaxRow, run_softmax, tolerance=SINGLE_PRECISION
)
single_heads = CellKind("rank_single_heads", SingleHeads, SingleHeadRow, run_single_heads)
coordinate_heads = CellKind(
    "rank_coordinate_heads", CoordinateHeads, CoordinateHeadsRow, run_coordinate_heads
)
theorem_4_heads = CellKind(
    "rank_theorem_4_heads",
    TheoremFourHeads,
    TheoremFourHeadsResult,
    run_theorem_4_heads,
    tolerance=SINGLE_PRECISION,
)
KINDS = (softmax, single_heads, coordinate_heads, theorem_4_heads)
