"""The factor n/d beside λ: that it keeps the ridge's effect in the limit, and for which models."""

from __future__ import annotations

import math

from attnlab.lab.study import Claim, Judgement, Missing, Resolution, Verdict, View
from attnlab.random.study import grids, results
from attnlab.random.study.claims_theory import DEMIR
from attnlab.random.study.comparisons import LOG_RATIO
from attnlab.random.study.evidence import BY_OUR_LAW, at_dimensions, by_law, listed, still_open
from attnlab.random.study.extrapolation import limit_of
from attnlab.random.study.panels import SIZE_RIDGES
from attnlab.stats import LEVEL, Estimate

WEAK, STRONG = SIZE_RIDGES


def _ridge_scaling(view: View) -> Judgement:
    """log(error at λ = 0.1 / at 1e-8) of linear attention, run by run, extrapolated in 1/d."""

    def read(d: int) -> Estimate:
        found = results.by_place(view, grids.linear_runs(view.scale, view.seed, d))
        rows = {place.ridge: rows for place, rows in found.items()}
        return results.log_ratio(rows[STRONG], rows[WEAK])

    sizes = grids.size(view.scale).dimensions
    found = results.stored(sizes, read)
    missing = [d for d in sizes if d not in found]
    if missing:
        raise Missing(listed(missing))
    limit = limit_of(sizes, list(found.values()), 1)
    law = _effect(view, sizes[-1])
    seen = abs(law) if limit.curve.vanishes else abs(limit.curve.limit.value)
    resolution = Resolution(limit.curve.allowed, seen, LOG_RATIO)
    verdict: Verdict = "fails" if limit.curve.vanishes else "holds"
    shown = ", ".join(f"{point.value:+.3f}" for point in found.values())
    return Judgement(
        verdict,
        f"log(error at λ = {STRONG:g} / at {WEAK:g}) {shown} at {listed(sizes)}, in the limit "
        f"{limit}; the limit law of Lu et al. has {law:+.3f}",
        "other than 0 in the limit",
        f"a in a + b/d + c/d², which may be {limit.curve.allowed:.3f} by chance (Student, level "
        f"{LEVEL:g}); the line a + b/d is shown beside it",
        "For the transformer the same factor does not do this: see ridge-scaling-transformer."
        + ("" if resolution.suffices else f" {still_open(view)}"),
        *at_dimensions(sizes),
        resolution,
    )


def _effect(view: View, d: int) -> float:
    """log(error at λ = 0.1 / at 1e-8) of linear attention in the limit law."""
    law = results.laws(view, grids.linear_laws(view.scale, view.seed, d), "limit")
    errors = {place.ridge: row.icl for place, row in law.items()}
    return math.log(errors[STRONG] / errors[WEAK])


def _ridge_vanishes(view: View) -> Judgement:
    effects = {}
    for d in grids.size(view.scale).dimensions:
        rows = results.laws(view, grids.size_laws(view.scale, view.seed, d), "limit")
        places = [place for place in rows if place.model == "relu"]
        widest = max(place.width or 0 for place in places)
        errors = {p.ridge: rows[p].icl for p in places if (p.width or 0) == widest}
        effects[d] = math.log(errors[STRONG] / errors[WEAK])
    (small, first), (large, last) = min(effects.items()), max(effects.items())
    falls = abs(last) < abs(first)
    return Judgement(
        "holds" if falls and abs(last) <= abs(first) * (small / large) ** 0.5 else "fails",
        f"log(error at λ = {STRONG:g} / at {WEAK:g}) of ReLU with m = 1.5 n, by the law: "
        f"{first:+.3f} at d = {small}, {last:+.3f} at d = {large}",
        "0 in the limit",
        "the law evaluated to rounding; the effect must fall at least as d^(-1/2) does",
        "The features are of order one, so that the penalty acts through λ/d.",
        *BY_OUR_LAW,
        by_law(abs(first) - abs(last), LOG_RATIO),
    )


CLAIMS = (
    Claim(
        "ridge-scaling",
        f"{DEMIR}, Section 3",
        "With the factor n/d a fixed λ changes linear attention's error in the limit (linear "
        "target).",
        _ridge_scaling,
        ("extrapolation",),
    ),
    Claim(
        "ridge-scaling-transformer",
        "ours",
        "By our limit law, with the same factor a fixed λ loses its effect on the random "
        "transformer as d grows.",
        _ridge_vanishes,
        ours=True,
    ),
)
