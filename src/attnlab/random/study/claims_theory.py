"""Claims of the theory before Theorem 3: Lemma 1, Corollary 2, and Lu et al.'s closed form.

An asymptotic statement is tested by its rate: a + b/d is fitted, and a must be the limit.
"""

from __future__ import annotations

import math

from attnlab.lab.study import Claim, Judgement, View
from attnlab.random.study import grids, results
from attnlab.random.study.panels import SIZE_RIDGES
from attnlab.stats import LEVEL, Estimate, below, chi_square_tail, limit, student_threshold

DEMIR, LU = "Demir, Dogan", "Lu, Letey, Zavatone-Veth, Maiti, Pehlevan (arXiv 2405.11751)"


def _vanishes(view: View, statement: str) -> Judgement:
    """Excess kurtosis = A/d + B/d^2: kurtosis times d is a straight line in 1/d with A > 0."""
    cells = grids.distances(view.scale, view.seed)
    rows = [next(r for r in view.rows(cell) if r.statement == statement) for cell in cells]
    sizes = [cell.config.d for cell in cells]
    points = [
        Estimate(row.kurtosis * d, row.kurtosis_error * d, row.samples)
        for row, d in zip(rows, sizes, strict=True)
    ]
    fit = limit(sizes, points)
    # A sum of squares of Student variables has a wider law than chi squared; dividing it by 2
    # covers standard errors of 7 degrees of freedom.
    p = chi_square_tail(fit.chi_square / 2, fit.freedom)
    slope = math.log(rows[-1].kurtosis / rows[0].kurtosis) / math.log(sizes[-1] / sizes[0])
    threshold = student_threshold(results.freedom(points))
    positive = fit.limit.value > threshold * fit.limit.standard_error
    return Judgement(
        "holds" if p >= LEVEL and positive and rows[-1].kurtosis < rows[0].kurtosis else "fails",
        f"excess kurtosis {rows[0].kurtosis:.2f} at d = {sizes[0]}, {rows[-1].kurtosis:.2f} at "
        f"d = {sizes[-1]} (exponent {slope:.2f}); Kolmogorov distance {rows[0].kolmogorov:.3f} and "
        f"{rows[-1].kolmogorov:.3f}, of which {rows[-1].floor:.3f} comes from the sample size",
        f"0 at the rate 1/d: {fit.limit.value:.0f}/d + {fit.slope:.0f}/d²",
        f"chi squared of A/d + B/d² on {len(sizes)} sizes at level {LEVEL:g} (p = {p:.2g}), A "
        "above 0 by a Student test",
    )


def _norms(view: View) -> Judgement:
    found = []
    for cell in grids.distances(view.scale, view.seed):
        rows = {row.statement: row for row in view.rows(cell)}
        plain, fixed = rows["lemma-1"], rows["rescaled"]
        error = math.hypot(plain.kurtosis_error, 3 * plain.norm_variance_error)
        off = plain.kurtosis - 3 * plain.norm_variance
        found += [
            (off / error, plain.samples - 1),
            (fixed.kurtosis / fixed.kurtosis_error, fixed.samples - 1),
        ]
    allowed = student_threshold(found[0][1], len(found))
    worst = max(abs(z) for z, _ in found)
    first = view.rows(grids.distances(view.scale, view.seed)[0])[0]
    return Judgement(
        "holds" if worst <= allowed else "fails",
        f"largest deviation {worst:.1f} standard errors; kurtosis {first.kurtosis:.2f} against "
        f"{3 * first.norm_variance:.2f} at the smallest d",
        "3 Var(|vec H|²/t), and 0 for prompts of equal norm",
        f"{allowed:.1f} standard errors: {len(found)} Student tests at familywise level {LEVEL:g}",
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
    )


def _hermite(view: View) -> Judgement:
    worst = max(view.row(cell).hermite_error for cell in grids.reductions(view.seed))
    return Judgement(
        "holds" if worst <= 5e-5 else "fails",
        f"largest deviation {worst:.1e} in c_0..c_4 and c_0*..c_4* of ReLU and tanh",
        "the known values, to four or five digits",
        "5e-5, half a unit of the last digit",
    )


def _lu(view: View, name: str) -> Judgement:
    sizes = grids.size(view.scale).dimensions
    runs = [results.by_place(view, grids.linear_runs(view.scale, view.seed, d)) for d in sizes]
    limits = [
        results.laws(view, grids.linear_laws(view.scale, view.seed, d), "limit") for d in sizes
    ]
    compared = [("linear", ridge, f"λ = {ridge:g}") for ridge in SIZE_RIDGES]
    return _extrapolated(sizes, runs, limits, compared, name)


def _lu_nonlinear(view: View) -> Judgement:
    sizes = grids.size(view.scale).dimensions
    runs = [results.by_place(view, grids.size_runs(view.scale, view.seed, d)) for d in sizes]
    limits = [results.laws(view, grids.size_laws(view.scale, view.seed, d), "limit") for d in sizes]
    models = ("linear", "linear+intercept")
    compared = [(m, ridge, f"{m}, λ = {ridge:g}") for m in models for ridge in SIZE_RIDGES]
    return _extrapolated(sizes, runs, limits, compared, "icl")


def _extrapolated(sizes, runs, limits, compared, name: str) -> Judgement:
    """The limit law against a + b/d: the ratio of simulation and law must tend to 1."""
    ratios, worst = [], 0.0
    for model, ridge, label in compared:
        points = []
        for found, law in zip(runs, limits, strict=True):
            place = next(p for p in found if p.model == model and p.ridge == ridge)
            mean, exact = results.mean(found[place], name), getattr(law[place], name)
            points.append(Estimate(mean.value / exact, mean.standard_error / exact, mean.samples))
        ratio = limit(sizes, points).limit
        allowed = student_threshold(results.freedom(points), len(compared))
        worst = max(worst, abs(ratio.value - 1) / (allowed * ratio.standard_error))
        ratios.append(f"{ratio.value:.3f} ± {ratio.standard_error:.3f} ({label})")
    return Judgement(
        "holds" if worst <= 1 else "fails",
        "simulation over law, extrapolated in 1/d: " + ", ".join(ratios),
        1.0,
        f"{len(compared)} Student tests at familywise level {LEVEL:g} on the fit of a + b/d at "
        f"d = {', '.join(map(str, sizes))}",
    )


CLAIMS = (
    Claim(
        "lemma-1",
        f"{DEMIR}, Lemma 1",
        "The pre-activations f^T vec(H) tend to N(0, 1); we also check the rate, 1/d.",
        lambda view: _vanishes(view, "lemma-1"),
        ("gaussianity",),
    ),
    Claim(
        "lemma-1-norms",
        "ours",
        "At finite d the norms of the prompts explain the deviation from a Gaussian: the excess "
        "kurtosis is 3 Var(|vec H|²/t).",
        _norms,
        ("gaussianity",),
    ),
    Claim(
        "corollary-2",
        f"{DEMIR}, Corollary 2",
        "Given the task, f^T vec(H) and ξ^T x tend to a jointly Gaussian pair.",
        lambda view: _vanishes(view, "corollary-2"),
        ("gaussianity",),
    ),
    Claim(
        "attention-reduction",
        f"{DEMIR}, Section 2; {LU}",
        "Linear attention whose V has the last row (0, v) answers ⟨Γ, H⟩.",
        _reduction,
    ),
    Claim(
        "hermite-coefficients",
        f"{DEMIR}, Theorem 3",
        "The coefficients c_i and the residuals c_r* of ReLU and tanh have their known values.",
        _hermite,
    ),
    Claim(
        "lu-icl",
        LU,
        "The closed form gives linear attention's in-context error on a linear target.",
        lambda view: _lu(view, "icl"),
        ("extrapolation",),
    ),
    Claim(
        "lu-idg",
        LU,
        "The closed form gives linear attention's error on the training pool's tasks.",
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
    ),
)
