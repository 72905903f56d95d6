"""Lu et al.'s closed form for linear attention against simulation, extrapolated in 1/d.

log(simulation / law) is fitted by a + b/d + c/d², and a must be 0. The logarithm is close to a
straight line where the ratio itself is curved; the limit of a line is shown beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from attnlab.lab.study import Claim, Judgement, Missing, Resolution, View
from attnlab.random.study import grids, results
from attnlab.random.study.claims_theory import DEMIR, LU
from attnlab.random.study.comparisons import LOG_RATIO
from attnlab.random.study.evidence import at_dimensions, listed, still_open
from attnlab.random.study.extrapolation import all_vanish, known_to, limit_of
from attnlab.random.study.panels import SIZE_RIDGES
from attnlab.stats import LEVEL, Estimate

KNOWN = 0.1  # how well the limit of a log ratio must be known: the law is off by less than a tenth

Compared = Sequence[tuple[str, float, str]]  # model, ridge, and how they are called


def _lu(view: View, name: str) -> Judgement:
    compared = [("linear", ridge, f"λ = {ridge:g}") for ridge in SIZE_RIDGES]
    return _extrapolated(view, grids.linear_runs, grids.linear_laws, compared, name)


def _lu_nonlinear(view: View) -> Judgement:
    models = ("linear", "linear+intercept")
    compared = [(m, ridge, f"{m}, λ = {ridge:g}") for m in models for ridge in SIZE_RIDGES]
    return _extrapolated(view, grids.nonlinear_runs, grids.size_laws, compared, "icl")


def _extrapolated(
    view: View, runs_of: Any, laws_of: Any, compared: Compared, name: str
) -> Judgement:
    """The limits of log(simulation / law), from all dimensions that are planned."""

    def read(d: int) -> list[Estimate]:
        at = (view.scale, view.seed, d)
        found = results.by_place(view, runs_of(*at))
        law = results.laws(view, laws_of(*at), "limit")
        return [_log_ratio(found, law, model, ridge, name) for model, ridge, _ in compared]

    sizes = grids.size(view.scale).dimensions
    found = results.stored(sizes, read)
    missing = [d for d in sizes if d not in found]
    if missing:
        raise Missing(listed(missing))
    series = zip(*found.values(), strict=True)
    limits = [limit_of(sizes, points, len(compared)) for points in series]
    resolution = Resolution(known_to(limits), KNOWN, LOG_RATIO)
    shown = [f"{limit} ({label})" for limit, (*_, label) in zip(limits, compared, strict=True)]
    return Judgement(
        all_vanish(limits),
        f"log(simulation / law), extrapolated in 1/d: {', '.join(shown)}",
        0.0,
        f"{len(compared)} Student tests at familywise level {LEVEL:g} on a in a + b/d + c/d² at "
        f"d = {', '.join(map(str, sizes))}; the line a + b/d is shown beside it",
        "" if resolution.suffices else still_open(view),
        *at_dimensions(sizes),
        resolution,
    )


def _log_ratio(found: Any, law: Any, model: str, ridge: float, name: str) -> Estimate:
    """log(simulation / law) of one model and ridge, over runs."""
    place = next(p for p in found if p.model == model and p.ridge == ridge)
    exact = getattr(law[place], name)
    return Estimate.of(math.log(getattr(row, name) / exact) for row in found[place])


CLAIMS = (
    Claim(
        "lu-icl",
        f"{DEMIR}, Section 4; {LU}",
        "At fixed l/d, k/d and n/d² linear attention's in-context error on a linear target tends "
        "to the closed form.",
        lambda view: _lu(view, "icl"),
        ("extrapolation",),
    ),
    Claim(
        "lu-idg",
        f"ours; {LU}",
        "At fixed l/d, k/d and n/d² linear attention's error on the training pool's tasks tends to "
        "the closed form.",
        lambda view: _lu(view, "idg"),
        ("extrapolation",),
        ours=True,
    ),
    Claim(
        "lu-nonlinear-target",
        "ours",
        "The part of a target beyond its linear part acts as noise in the closed form, with and "
        "without an intercept (ReLU target).",
        _lu_nonlinear,
        ("extrapolation",),
        ours=True,
    ),
)
