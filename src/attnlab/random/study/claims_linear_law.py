"""Lu et al.'s closed form for linear attention against simulation, extrapolated in 1/d.

log(simulation / law) is fitted by a + b/d, and a must be 0. The logarithm is close to a straight
line where the ratio itself is curved; where a is not 0, a fit with a term in 1/d² must say so too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from attnlab.lab.study import Claim, Judgement, Resolution, View
from attnlab.random.study import grids, results
from attnlab.random.study.claims_theory import DEMIR, LU
from attnlab.random.study.comparisons import LOG_RATIO
from attnlab.random.study.evidence import UNDECIDED, at_dimensions, still_open
from attnlab.random.study.extrapolation import decided, extrapolated
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
    return _extrapolated(view, grids.size_runs, grids.size_laws, compared, "icl")


def _extrapolated(
    view: View, runs_of: Any, laws_of: Any, compared: Compared, name: str
) -> Judgement:
    sizes = grids.size(view.scale).dimensions
    at = [(view.scale, view.seed, d) for d in sizes]
    runs = [results.by_place(view, runs_of(*each)) for each in at]
    limits = [results.laws(view, laws_of(*each), "limit") for each in at]
    straight, curved, shown = [], [], []
    for model, ridge, label in compared:
        points = []
        for found, law in zip(runs, limits, strict=True):
            place = next(p for p in found if p.model == model and p.ridge == ridge)
            exact = getattr(law[place], name)
            points.append(Estimate.of(math.log(getattr(row, name) / exact) for row in found[place]))
        straight.append(extrapolated(sizes, points, 1, 2 * len(compared)))
        curved.append(extrapolated(sizes, points, 2, 2 * len(compared)))
        found_limit = straight[-1].limit
        shown.append(f"{found_limit.value:+.3f} ± {found_limit.standard_error:.3f} ({label})")
    verdict, used = decided(straight, curved)
    resolution = Resolution(max(fit.allowed for fit in used), KNOWN, LOG_RATIO)
    bent = ", ".join(f"{fit.limit.value:+.2f} ± {fit.limit.standard_error:.2f}" for fit in curved)
    return Judgement(
        verdict,
        f"log(simulation / law), extrapolated in 1/d: {', '.join(shown)}; with a term in 1/d² "
        f"{bent}",
        0.0,
        f"{2 * len(compared)} Student tests at familywise level {LEVEL:g} on a in a + b/d at "
        f"d = {', '.join(map(str, sizes))}, and in a + b/d + c/d² where c is not 0; refuted if the "
        "second has no limit 0 either",
        "" if resolution.suffices and verdict != UNDECIDED else still_open(view),
        *at_dimensions(sizes),
        resolution,
    )


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
        f"{DEMIR}, Section 4; {LU}",
        "At fixed l/d, k/d and n/d² linear attention's error on the training pool's tasks tends to "
        "the closed form.",
        lambda view: _lu(view, "idg"),
        ("extrapolation",),
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
