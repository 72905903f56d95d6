"""Claims of the theory before Theorem 3: Lemma 1 with its proof, Corollary 2, the reduction.

An asymptotic statement is tested in the limit: a polynomial in 1/d is fitted, and its limit must be
what the statement says, within its own standard error.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from attnlab.lab.study import (
    NO_SCALE,
    UNDECIDED,
    Claim,
    Judgement,
    Resolution,
    Verdict,
    View,
    all_of,
)
from attnlab.random.study import grids, results
from attnlab.random.study.evidence import EXACT, at_dimensions
from attnlab.random.study.extrapolation import (
    Extrapolated,
    extrapolated,
    with_common_relative_error,
)
from attnlab.random.study.gaussian_floor import beyond, floor_of
from attnlab.stats import LEVEL, Estimate, below, student_threshold

DEMIR, LU = "Demir, Dogan", "Lu, Letey, Zavatone-Veth, Maiti, Pehlevan (arXiv 2405.11751)"
KURTOSIS, KOLMOGOROV = "excess kurtosis", "Kolmogorov distance"
EXPLAINED = 0.5  # share of the excess kurtosis that the norms must explain


def _distances(view: View, statement: str) -> tuple[list[int], list[Any]]:
    """The dimensions, and the rows of one statement at each of them."""
    cells = grids.distances(view.scale, view.seed)
    rows = [next(r for r in view.rows(cell) if r.statement == statement) for cell in cells]
    return [cell.config.d for cell in cells], rows


CORRECTED = (
    "Corrected statement: for l/d fixed the pre-activations tend to N(0, 1) in distribution. "
    "Almost sure convergence, as printed, is that of random variables and not of laws."
)
FIXED_NUMBER = (
    "Judged on one pre-activation with ξ^T x. A fixed combination of pre-activations is again "
    "f^T vec(H) with a Gaussian f, so that this covers every fixed number of them (Cramér and "
    "Wold); it does not cover combinations of all m that depend on F."
)


def _lemma_1(view: View) -> Judgement:
    """The text has almost sure convergence; what is judged is convergence in distribution."""
    found = _becomes_gaussian(view, "lemma-1")
    corrected = "holds as corrected" if found.verdict == "holds" else found.verdict
    return replace(found, verdict=corrected, note=f"{CORRECTED} {found.note}".strip())


def _corollary_2(view: View) -> Judgement:
    found = _becomes_gaussian(view, "corollary-2")
    return replace(found, note=f"{FIXED_NUMBER} {found.note}".strip())


def unconditional_distance(view: View) -> float:
    """Kolmogorov's distance of pre-activations over prompts at the smallest dimension."""
    _, rows = _distances(view, "lemma-1")
    measured = Estimate(rows[0].kolmogorov, rows[0].kolmogorov_error, rows[0].samples)
    return beyond(measured, rows[0].floor).value


def _becomes_gaussian(view: View, statement: str) -> Judgement:
    """The limits of excess kurtosis and Kolmogorov distance, beyond those of Gaussian samples.

    Both are a + b/d + c/d². What could be hidden must be less than the largest dimension shows.
    """
    sizes, rows = _distances(view, statement)
    floor = floor_of(statement, _prompts(view), rows[0])
    kurtoses = with_common_relative_error(
        [Estimate(row.kurtosis, row.kurtosis_error, row.samples) for row in rows]
    )
    common = math.sqrt(statistics.fmean(row.kolmogorov_error**2 for row in rows))
    distances = [Estimate(row.kolmogorov, common, row.samples) for row in rows]
    measures = {
        KURTOSIS: [beyond(each, floor.kurtosis) for each in kurtoses],
        KOLMOGOROV: [beyond(each, floor.kolmogorov) for each in distances],
    }
    fits = {
        name: extrapolated(sizes, points, degree=2, comparisons=len(measures))
        for name, points in measures.items()
    }
    verdict, resolution = all_of(
        [_vanishes(name, fit, measures[name][-1].value) for name, fit in fits.items()]
    )
    shown = "; ".join(
        f"{name} {measures[name][0].value:.3f} at d = {sizes[0]}, {measures[name][-1].value:.3f} "
        f"at d = {sizes[-1]}, in the limit {fit.limit.value:+.4f} ± {fit.limit.standard_error:.4f}"
        for name, fit in fits.items()
    )
    return Judgement(
        verdict,
        f"beyond Gaussian samples: {shown}",
        f"0; as many Gaussian samples have {floor.kurtosis:.3f} and {floor.kolmogorov:.4f}, taken "
        "off as √(M² - F²)",
        "a in a + b/d + c/d², "
        + " and ".join(f"{fit.allowed:.4f} ({name})" for name, fit in fits.items())
        + f" by chance: Student tests at familywise level {LEVEL:g}",
        "" if resolution.suffices and verdict != UNDECIDED else _more_prompts(view),
        *at_dimensions(sizes),
        resolution,
    )


def _prompts(view: View) -> int:
    """The prompts behind each distance."""
    return grids.distances(view.scale, view.seed)[0].config.prompts


def _vanishes(name: str, fit: Extrapolated, last: float) -> tuple[Verdict, Resolution]:
    """Whether a limit is 0; it must be known better than the distance at the largest dimension.

    A Kolmogorov distance below that of Gaussian samples refutes the fit and not the statement.
    """
    if fit.vanishes:
        return "holds", Resolution(fit.allowed, max(last, 0.0), f"of the {name}")
    seen = Resolution(fit.allowed, abs(fit.limit.value), f"of the {name}")
    return UNDECIDED if name == KOLMOGOROV and fit.limit.value < 0 else "fails", seen


def _more_prompts(view: View) -> str:
    """What decides where a limit could be as large as the last distance."""
    if view.scale == "paper":
        return f"{NO_SCALE} That takes more prompts for each dimension."
    paper = grids.size("paper")
    return (
        f"'attnlab reproduce random --scale paper' has d up to {max(paper.distances)} and "
        f"{paper.distance_prompts} prompts for each."
    )


def _concentrates(view: View) -> Judgement:
    sizes, rows = _distances(view, "lemma-1")
    points = [Estimate(r.norm_variance, r.norm_variance_error, r.samples) for r in rows]
    found = extrapolated(sizes, with_common_relative_error(points), degree=2)
    resolution = Resolution(found.allowed, points[-1].value, "of the variance")
    verdict: Verdict = "holds" if found.vanishes else "fails"
    return Judgement(
        verdict,
        f"Var(|vec H|²/t) {points[0].value:.3f} at d = {sizes[0]}, {points[-1].value:.3f} at "
        f"d = {sizes[-1]}, in the limit {found.limit.value:+.3f} ± "
        f"{found.limit.standard_error:.3f}",
        "0 in the limit",
        f"a in a + b/d + c/d², which may be {found.allowed:.3f} by chance (Student, level "
        f"{LEVEL:g})",
        "" if resolution.suffices else _more_prompts(view),
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
        "" if resolution.suffices else _more_prompts(view),
        *at_dimensions(sizes),
        resolution,
    )


REDUCED = (
    "Corrected statement: if the last row of V is (0, v), the answer is ⟨Γ, H⟩. Without that "
    "condition, which the text does not state, the inputs alone change the answer."
)


def _reduction(view: View) -> Judgement:
    rows = [view.row(cell) for cell in grids.reductions(view.seed)]
    worst = max(row.reduction_error for row in rows)
    other = min(row.unreduced_error for row in rows)
    return Judgement(
        "holds as corrected" if worst <= 1e-12 < other else "fails",
        f"largest relative difference {below(worst, 1e-12)} where V's last row is (0, v), "
        f"{other:.1g} where it is filled and no Γ exists",
        "0 for every V",
        "1e-12, a few thousand roundings",
        REDUCED,
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


CLAIMS = (
    Claim(
        "attention-reduction",
        f"{DEMIR}, Section 3, (4) to (6); {LU}",
        "The answer of linear attention can be written as ⟨Γ, H⟩, with Γ made of the entries of V, "
        "K and Q.",
        _reduction,
    ),
    Claim(
        "lemma-1",
        f"{DEMIR}, Lemma 1",
        "For l/d fixed every pre-activation f^T vec(H) tends to N(0, 1) almost surely.",
        _lemma_1,
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
        "Given the task, the pre-activations and ξ^T x tend to jointly Gaussian variables: one "
        "pre-activation with ξ^T x, and with it every fixed number of them.",
        _corollary_2,
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
