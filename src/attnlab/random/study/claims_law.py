"""Claims about the laws: the refinement against simulation, and what the laws imply.

The laws of the random transformer are derived in this project; the docs page of the study says
what of them is established and what is conjectured.
"""

from __future__ import annotations

import math
import statistics

from attnlab.lab.study import Claim, Judgement, View
from attnlab.random.study import grids, results
from attnlab.random.study.results import LEVEL, Mean
from attnlab.stats.rounding import below

AGREES = 0.05


def _refinement(view: View, name: str, agrees: float) -> Judgement:
    """Mean over points of log(simulation / refinement), and every point of it."""
    points, overall, spread = [], [], 0.0
    sizes = [d for d in grids.size(view.scale).dimensions if d >= 20]
    for d in sizes:
        found = results.by_key(view, grids.size_runs(view.scale, view.seed, d))
        refined = results.laws(view, grids.size_laws(view.scale, view.seed, d), "refined")
        keys = [key for key in found if key.model in ("relu", "tanh")]
        for key in keys:
            mean, law = results.mean(found[key], name), refined[key]
            own = law.standard_error / law.icl
            spread = max(spread, own)
            off = math.log(mean.value / getattr(law, name))
            points.append(Mean(off, math.hypot(mean.error / mean.value, own), mean.runs))
        runs = len(found[keys[0]])
        means = {key: results.mean(found[key], name).value for key in keys}
        overall.append(
            results.mean_of(
                statistics.fmean(getattr(found[key][run], name) / means[key] for key in keys)
                for run in range(runs)
            )
        )
    error, allowed = results.pooled(points)
    worst = max(abs(point.value) for point in points)
    middle = statistics.fmean(point.value for point in points)
    # All points of a run share its draw; what the runs' means scatter is the error of the middle.
    total = math.sqrt(sum(o.error**2 for o in overall)) / len(overall)
    total = math.hypot(total, spread)
    wide = results.student(sum(o.runs - 1 for o in overall))
    agreed = worst <= agrees + allowed * error and abs(middle) <= agrees + wide * total
    verdict = "fails"
    if agreed:
        resolved = name == "icl" or wide * total <= agrees
        verdict = "holds" if resolved else "undecided at this scale"
    return Judgement(
        verdict,
        f"simulation over refinement {math.exp(middle):.3f} ± {total:.3f} on average, at most "
        f"{worst:.1%} off on {len(points)} points at d = {', '.join(map(str, sizes))}",
        1.0,
        f"{agrees:.0%} plus {allowed:.1f} standard errors of {error:.3f} a point and {wide:.1f} of "
        f"{total:.3f} on average (Student, level {LEVEL:g} each)",
        f"The average is known to {wide * total:.0%} only; known from larger runs: 2 to 6% below "
        "for a tanh target at n = 3 d², l = 2 d. '--scale paper' has more and larger runs."
        if verdict == "undecided at this scale"
        else "",
    )


def _rescaled(view: View) -> Judgement:
    """Half the log gap of plain prompts against that of the same prompts at equal norm."""
    d = grids.size(view.scale).dimensions[1]
    plain = results.by_key(view, grids.size_runs(view.scale, view.seed, d))
    fixed = results.by_key(view, grids.size_runs(view.scale, view.seed, d, rescale=True))
    limit = results.laws(view, grids.size_laws(view.scale, view.seed, d), "limit")
    keys = [key for key in plain if key.model == "relu"]

    def gaps(found: dict) -> list[float]:
        runs = len(found[keys[0]])
        return [
            statistics.fmean(math.log(found[key][run].icl / limit[key].icl) for key in keys)
            for run in range(runs)
        ]

    before, after = gaps(plain), gaps(fixed)
    gained = results.mean_of(b / 2 - a for b, a in zip(before, after, strict=True))
    allowed = results.student(gained.runs - 1)
    first, second = results.mean_of(before), results.mean_of(after)
    # Either the law is met outright, or more than half of the gap is gone.
    met = abs(second.value) <= allowed * second.error + 2 / d
    verdict = "holds" if met and gained.value > 0 else "fails"
    return Judgement(
        verdict,
        f"log(simulation / limit law) {first.value:+.3f} ± {first.error:.3f} plain, "
        f"{second.value:+.3f} ± {second.error:.3f} at equal norms (ReLU, d = {d})",
        "0 at equal norms",
        f"{allowed:.1f} standard errors (Student, level {LEVEL:g}) plus 2/d, and more than half "
        "of the gap gone",
        "Both use the same draws: the norm's fluctuation is most of the finite-size gap.",
    )


def _table(view: View, name: str, tolerance: float, told: str) -> Judgement:
    rows = results.table(view, grids.law_numbers(), name)
    worst = max(abs(row.value / row.reference - 1) for row in rows)
    values = ", ".join(f"{row.value:.5f}" for row in rows)
    return Judgement(
        "holds" if worst <= tolerance else "fails",
        f"{values}; relative difference {below(worst, tolerance)}",
        told,
        f"{tolerance:g}: formulas evaluated to rounding and a limit taken at finite width",
    )


def _never(view: View) -> Judgement:
    rows = results.table(view, grids.law_numbers(), "against linear")
    least = min(row.value / row.reference for row in rows)
    return Judgement(
        "holds" if least >= 1 - 1e-5 else "fails",
        f"smallest ratio {least:.6f} on {len(rows)} points",
        "1 or more",
        "1e-5, the resolution of the search for the best ridge",
        "Observed on a grid of n/d², l/d, k/d and m/n; not proved.",
    )


def _context(view: View) -> Judgement:
    cell = grids.law_numbers()
    best = {
        model: min(results.table(view, cell, "length", model), key=lambda row: row.value)
        for model in ("relu", "tanh", "linear")
    }
    right = best["relu"].at == 8 and best["tanh"].at in (1, 2) and best["linear"].at == 1
    return Judgement(
        "holds" if right else "fails",
        "; ".join(f"{model} {row.value:.3f} at l = {row.at:g} d" for model, row in best.items()),
        "ReLU 8 d, tanh and linear d to 2 d",
        "exact within the law, on a grid of factor 2 in l",
    )


CLAIMS = (
    Claim(
        "refinement-agrees",
        "ours",
        "The finite-size refinement gives the transformers' in-context error to 5%.",
        lambda view: _refinement(view, "icl", AGREES),
        ("extrapolation", "fig-2b"),
    ),
    Claim(
        "refinement-idg",
        "ours",
        "The refinement gives the error on the pool's tasks to 2%.",
        lambda view: _refinement(view, "idg", 0.02),
    ),
    Claim(
        "law-in-rescaled-prompts",
        "ours",
        "Prompts of equal norm follow the limit law already at small d.",
        _rescaled,
        ("extrapolation",),
    ),
    Claim(
        "implicit-ridge",
        "ours",
        "As m/n grows the random transformer is linear attention with the ridge "
        "b₁²(1 + q)(c*/c₁)² d²/n, and an intercept if E σ is not 0.",
        lambda view: _table(view, "implicit ridge", 1e-6, "linear attention at that ridge"),
    ),
    Claim(
        "law-reduces-to-lu",
        "ours",
        "Without the non-linear rest c* the law is Lu et al.'s.",
        lambda view: _table(view, "reduces to Lu", 1e-6, "1.66351, 0.91434; 1.01923, 0.45717"),
    ),
    Claim(
        "never-beats-linear",
        "ours",
        "Within the law no random transformer at its best ridge beats linear attention with an "
        "intercept at its best ridge.",
        _never,
        ("best-ridge",),
    ),
    Claim(
        "context-length-minimum",
        "ours",
        "Ridgeless, the best context length is finite: 8 d for ReLU, d to 2 d for tanh and linear.",
        _context,
        ("fig-2a",),
    ),
)
