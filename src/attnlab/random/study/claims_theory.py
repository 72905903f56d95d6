"""Claims of the theory before Theorem 3: Lemma 1 with its proof, Corollary 2, the reduction.

An asymptotic statement is tested in the limit: a polynomial in 1/d is fitted, and its limit must be
what the statement says, within its own standard error.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

from attnlab.lab.study import Claim, Judgement, Resolution, Verdict, View, openness
from attnlab.random.study import grids, results
from attnlab.random.study.evidence import EXACT, at_dimensions
from attnlab.random.study.extrapolation import extrapolated, with_common_relative_error
from attnlab.stats import LEVEL, Estimate, below, student_threshold

DEMIR, LU = "Demir, Dogan", "Lu, Letey, Zavatone-Veth, Maiti, Pehlevan (arXiv 2405.11751)"
# Shares of the distance at d = 16 that a limit must not have, about what d = 64 leaves of it.
LEFT_OF_KURTOSIS, LEFT_OF_KOLMOGOROV = 0.25, 0.4
EXPLAINED = 0.5  # share of the excess kurtosis that the norms must explain


def _distances(view: View, statement: str) -> tuple[list[int], list[Any]]:
    """The dimensions, and the rows of one statement at each of them."""
    cells = grids.distances(view.scale, view.seed)
    rows = [next(r for r in view.rows(cell) if r.statement == statement) for cell in cells]
    return [cell.config.d for cell in cells], rows


def _becomes_gaussian(view: View, statement: str) -> Judgement:
    """The limits of excess kurtosis and Kolmogorov distance, each with its standard error.

    Kurtosis is a + b/d + c/d². The Kolmogorov distance K of N samples of a law at distance D is
    about sqrt(D² + F²), F that of N Gaussian samples. K - F is fitted by a + b/d; where D falls
    below F the limit a comes out too small, and what would be noticed is larger by as much.
    """
    sizes, rows = _distances(view, statement)
    kurtosis = extrapolated(
        sizes,
        with_common_relative_error(
            [Estimate(row.kurtosis, row.kurtosis_error, row.samples) for row in rows]
        ),
        degree=2,
        comparisons=2,
    )
    floor = rows[0].floor
    common = math.sqrt(statistics.fmean(row.kolmogorov_error**2 for row in rows))
    distance = extrapolated(
        sizes,
        [Estimate(row.kolmogorov - floor, common, row.samples) for row in rows],
    )  # tested on one side only, at the other half of the level
    first = math.sqrt(max(rows[0].kolmogorov ** 2 - floor**2, 0.0))
    noticed = distance.allowed - min(distance.limit.value, 0.0)
    seen = math.sqrt((floor + noticed) ** 2 - floor**2)
    shares = (
        Resolution(
            kurtosis.allowed / rows[0].kurtosis,
            LEFT_OF_KURTOSIS,
            f"of the excess kurtosis at d = {sizes[0]}",
        ),
        Resolution(
            seen / first if first else math.inf,
            LEFT_OF_KOLMOGOROV,
            f"of the Kolmogorov distance at d = {sizes[0]}",
        ),
    )
    resolution = max(shares, key=openness)
    gaussian = kurtosis.vanishes and distance.limit.value <= distance.allowed
    verdict: Verdict = "holds" if gaussian else "fails"
    return Judgement(
        verdict,
        f"excess kurtosis {rows[0].kurtosis:.2f} at d = {sizes[0]}, {rows[-1].kurtosis:.2f} at "
        f"d = {sizes[-1]}, in the limit {kurtosis.limit.value:+.2f} ± "
        f"{kurtosis.limit.standard_error:.2f}; Kolmogorov distance {rows[0].kolmogorov:.3f} and "
        f"{rows[-1].kolmogorov:.3f}, in the limit {floor + distance.limit.value:.4f} ± "
        f"{distance.limit.standard_error:.4f}",
        f"0, and {floor:.4f}, which as many Gaussian samples have",
        f"a in a + b/d + c/d² (kurtosis, {kurtosis.allowed:.2f}) and in a + b/d (Kolmogorov, "
        f"{distance.allowed:.4f}): Student tests at familywise level {LEVEL:g}",
        "",
        *at_dimensions(sizes),
        resolution,
    )


def _concentrates(view: View) -> Judgement:
    sizes, rows = _distances(view, "lemma-1")
    points = [Estimate(r.norm_variance, r.norm_variance_error, r.samples) for r in rows]
    found = extrapolated(sizes, with_common_relative_error(points), degree=2)
    first = rows[0].norm_variance
    resolution = Resolution(
        found.allowed / first if first else math.inf,
        LEFT_OF_KURTOSIS,
        f"of the variance at d = {sizes[0]}",
    )
    verdict: Verdict = "holds" if found.vanishes else "fails"
    return Judgement(
        verdict,
        f"Var(|vec H|²/t) {first:.3f} at d = {sizes[0]}, {rows[-1].norm_variance:.3f} at "
        f"d = {sizes[-1]}, in the limit {found.limit.value:+.3f} ± "
        f"{found.limit.standard_error:.3f}",
        "0 in the limit",
        f"a in a + b/d + c/d², which may be {found.allowed:.3f} by chance (Student, level "
        f"{LEVEL:g})",
        "",
        *at_dimensions(sizes),
        resolution,
    )


def _norms(view: View) -> Judgement:
    sizes, plain = _distances(view, "lemma-1")
    _, fixed = _distances(view, "rescaled")

    def relative(rows: Sequence[Any], explained: Sequence[float]) -> list[Estimate]:
        """What is left of the excess kurtosis, as a share of it as drawn."""
        return [
            Estimate(
                (row.kurtosis - part) / drawn.kurtosis,
                math.hypot(row.kurtosis_error, 3 * row.norm_variance_error) / drawn.kurtosis,
                row.samples,
            )
            for row, part, drawn in zip(rows, explained, plain, strict=True)
        ]

    left = relative(plain, [3 * row.norm_variance for row in plain])
    left += relative(fixed, [0.0] * len(fixed))
    error = math.sqrt(statistics.fmean(point.standard_error**2 for point in left))
    allowed = student_threshold(results.freedom(left), len(left)) * error
    worst = max(abs(point.value) for point in left)
    resolution = Resolution(allowed, EXPLAINED, "of the excess kurtosis")
    return Judgement(
        "holds" if worst <= allowed else "fails",
        f"at most {worst:.0%} of the excess kurtosis is left; {plain[0].kurtosis:.2f} against "
        f"{3 * plain[0].norm_variance:.2f} at d = {sizes[0]}",
        "3 Var(|vec H|²/t), and 0 for prompts of equal norm",
        f"{allowed:.0%} of it by chance: {len(left)} Student tests at familywise level {LEVEL:g}",
        "" if resolution.suffices else "'--scale paper' has larger dimensions.",
        *at_dimensions(sizes),
        resolution,
    )


def _reduction(view: View) -> Judgement:
    rows = [view.row(cell) for cell in grids.reductions(view.seed)]
    worst = max(row.reduction_error for row in rows)
    other = min(row.unreduced_error for row in rows)
    return Judgement(
        "holds" if worst <= 1e-12 < other else "fails",
        f"largest relative difference {below(worst, 1e-12)}",
        f"0 (with V's last row filled, where no Γ exists: {other:.1g})",
        "1e-12, a few thousand roundings",
        "",
        *EXACT,
    )


def _hermite(view: View) -> Judgement:
    worst = max(view.row(cell).hermite_error for cell in grids.reductions(view.seed))
    return Judgement(
        "holds" if worst <= 5e-5 else "fails",
        f"largest deviation {worst:.1e} in c_0..c_4 and c_0*..c_4* of ReLU and tanh",
        "the known values, to four or five digits",
        "5e-5, half a unit of the last digit",
        "",
        *EXACT,
    )


def _ridge_scaling(view: View) -> Judgement:
    """log(error at λ = 0.1 / at 1e-8) of linear attention in the limit law, by dimension."""
    effects = _ridge_effects(view, "linear", grids.linear_laws)
    least, most = min(effects.values()), max(effects.values())
    kept = most - least <= 1e-9 and abs(least) > 1e-3
    return Judgement(
        "holds" if kept else "fails",
        f"log(error at λ = 0.1 / at 1e-8) is {least:+.3f} at every d",
        "other than 0, and the same for every d",
        "1e-9: the limit law evaluated to rounding",
        "For the transformer the same factor does not do this: see ridge-scaling-transformer.",
        *EXACT,
    )


def _ridge_vanishes(view: View) -> Judgement:
    effects = _ridge_effects(view, "relu", grids.size_laws)
    (small, first), (large, last) = min(effects.items()), max(effects.items())
    falls = abs(last) < abs(first)
    return Judgement(
        "holds" if falls and abs(last) <= abs(first) * (small / large) ** 0.5 else "fails",
        f"log(error at λ = 0.1 / at 1e-8) of ReLU with m = 1.5 n, by the law: {first:+.3f} at "
        f"d = {small}, {last:+.3f} at d = {large}",
        "0 in the limit",
        "exact; it must fall at least as d^(-1/2) does",
        "The features are of order one, so that the penalty acts through λ/d.",
        *EXACT,
    )


def _ridge_effects(view: View, model: str, laws_of: Any) -> dict[int, float]:
    effects = {}
    for d in grids.size(view.scale).dimensions:
        rows = results.laws(view, laws_of(view.scale, view.seed, d), "limit")
        places = [place for place in rows if place.model == model]
        widest = max(place.width or 0 for place in places)
        errors = {p.ridge: rows[p].icl for p in places if (p.width or 0) == widest}
        effects[d] = math.log(errors[max(errors)] / errors[min(errors)])
    return effects


CLAIMS = (
    Claim(
        "attention-reduction",
        f"{DEMIR}, Section 3, (4) to (6); {LU}",
        "Linear attention whose V has the last row (0, v) answers ⟨Γ, H⟩.",
        _reduction,
    ),
    Claim(
        "ridge-scaling",
        f"{DEMIR}, Section 3",
        "With the factor n/d a fixed λ changes linear attention's error in the limit.",
        _ridge_scaling,
    ),
    Claim(
        "ridge-scaling-transformer",
        "ours",
        "With the same factor a fixed λ loses its effect on the random transformer as d grows.",
        _ridge_vanishes,
        ours=True,
    ),
    Claim(
        "lemma-1",
        f"{DEMIR}, Lemma 1",
        "For l/d fixed the pre-activations f^T vec(H) tend to N(0, 1).",
        lambda view: _becomes_gaussian(view, "lemma-1"),
        ("gaussianity",),
    ),
    Claim(
        "lemma-1-concentration",
        f"{DEMIR}, proof of Lemma 1, (10)",
        "|vec H|²/t concentrates at 1: its variance tends to 0.",
        _concentrates,
        ("gaussianity",),
    ),
    Claim(
        "lemma-1-norms",
        "ours",
        "At finite d the norms of the prompts explain the deviation from a Gaussian: the excess "
        "kurtosis is 3 Var(|vec H|²/t).",
        _norms,
        ("gaussianity",),
        ours=True,
    ),
    Claim(
        "corollary-2",
        f"{DEMIR}, Corollary 2",
        "Given the task, f^T vec(H) and ξ^T x tend to a jointly Gaussian pair.",
        lambda view: _becomes_gaussian(view, "corollary-2"),
        ("gaussianity",),
    ),
    Claim(
        "hermite-coefficients",
        f"{DEMIR}, (12)",
        "The coefficients c_i and the residuals c_r* of ReLU and tanh have their known values.",
        _hermite,
        ours=True,
    ),
)
