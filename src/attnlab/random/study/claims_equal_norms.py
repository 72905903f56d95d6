"""Theorem 3 where every prompt has the same norm: transformer and equivalent agree at small d."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attnlab.lab.cell import Cell
from attnlab.lab.study import Claim, Judgement, Resolution, View
from attnlab.random.study import grids, results
from attnlab.random.study.comparisons import LOG_RATIO
from attnlab.random.study.evidence import at_dimension, still_open
from attnlab.random.study.limits_by_degree import SAME
from attnlab.random.study.panels import ACTIVATIONS
from attnlab.stats import LEVEL, Estimate


def _at_equal_norms(
    view: View, runs_of: Callable[[bool], list[Cell]], activations: Sequence[str], same: float = 0
) -> Judgement:
    """Transformer over degree-1 model where every prompt has the same norm, and as drawn.

    The check must be able to see the gap as drawn, or one as large as `same`.
    """
    as_drawn, points = (_agreement(view, runs_of(equal), activations) for equal in (False, True))
    at = grids.size(view.scale)
    d = at.dimensions[1]
    error, threshold = results.pooled(points)
    allowed = threshold * error + 1 / d
    worst, plain = (max(abs(point.value) for point in each) for each in (points, as_drawn))
    resolution = Resolution(allowed, same or plain, LOG_RATIO)
    return Judgement(
        "holds" if worst <= allowed else "fails",
        f"largest |log ratio| {worst:.3f} on {len(points)} points at d = {d}",
        "0",
        f"{threshold:.1f} standard errors of {error:.4f} (Student, familywise level {LEVEL:g}) "
        f"plus 1/d = {1 / d:.3f} for the other terms of that order",
        f"Without rescaling the same ratios reach {plain:.2f}. "
        + ("" if resolution.suffices else still_open(view)),
        *at_dimension(view, d, at.size_runs),
        resolution,
    )


def _agreement(view: View, runs: list[Cell], activations: Sequence[str]) -> list[Estimate]:
    found = results.by_place(view, runs)
    return [
        results.log_ratio(rows, others)
        for activation in activations
        for _, rows, others in results.pairs(found, activation, f"{activation} r=1")
    ]


def _rescaled(view: View) -> Judgement:
    d = grids.size(view.scale).dimensions[1]

    def runs_of(equal: bool) -> list[Cell]:
        runs = grids.size_runs(view.scale, view.seed, d, rescale=equal)
        return runs[: grids.size(view.scale).size_runs]  # the same draws

    return _at_equal_norms(view, runs_of, ACTIVATIONS)


def _sign(view: View) -> Judgement:
    def runs_of(equal: bool) -> list[Cell]:
        return grids.sign_runs(view.scale, view.seed, rescale=equal)

    return _at_equal_norms(view, runs_of, ("sign",), SAME)


CLAIMS = (
    Claim(
        "theorem-3-rescaled",
        "ours",
        "With every prompt given the same norm, transformer and degree-1 model agree already at "
        "small d.",
        _rescaled,
        ("ratio",),
        ours=True,
    ),
    Claim(
        "sign-beyond-theorem-3",
        "ours",
        "The activation sign is not Lipschitz, as Theorem 3 requires; with every prompt given the "
        "same norm its transformer and degree-1 model agree at small d nevertheless.",
        _sign,
        ("ratio",),
        ours=True,
    ),
)
