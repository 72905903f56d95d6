"""Claims about constructions of full rank: Facts 1 and 3."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from attnlab.lab.cell import Cell
from attnlab.lab.study import Claim, Judgement, Resolution, View
from attnlab.rank.study import grids_theory
from attnlab.rank.study.results import HALF
from attnlab.stats import (
    LEVEL,
    Estimate,
    agree,
    below,
    chi_square_tail,
    limit,
    normal_threshold,
)

PAPER = "Amsel, Yehudai, Bruna"
TIES = 2  # prompts of a sample whose two best scores float32 cannot order


def _limits(view: View, cells: Sequence[Cell]) -> tuple[bool, str, str, Resolution]:
    """c times the error of softmax heads, extrapolated to infinite c, against its law."""
    good, measured, laws, seen = True, [], [], 0.0
    for cell in cells:
        rows = view.rows(cell)
        points = [
            Estimate(r.c * r.error, r.c * r.standard_error, cell.config.samples) for r in rows
        ]
        fitted = limit([r.c for r in rows], points)
        compared = agree(fitted.limit, rows[0].limit, len(cells))
        straight = chi_square_tail(fitted.chi_square, fitted.freedom) > LEVEL / len(cells)
        good = good and compared.agrees and straight
        seen = max(seen, compared.allowed / rows[0].limit)
        measured.append(f"{fitted.limit} (N = {cell.config.N}, d = {cell.config.d})")
        laws.append(f"{rows[0].limit:.3f}")
    return good, ", ".join(measured), ", ".join(laws), Resolution(seen, HALF, "of the limit")


DIMENSIONS, LENGTHS = (4, 16, 64, 256), (2, 16, 256)
NO_BIAS, BIASES = (0.0,), (0.5, 8.0)  # the largest of N equally spaced ones


def _softmax_bound(d: int, N: int) -> float:
    """4 N c_d: c times the error of a softmax head is below it for all c, d >= 3, N and biases.

    The error is at most 4 E[1 - w], w the weight of the target, and 1 - w is at most the sum of
    exp(-c (s - s_j)) over the other points. Scores are independent with densities of at most c_d,
    so that each j contributes at most c_d / c, whatever the largest score s of the others is.
    """
    from attnlab.maths.harmonics import marginal_constant

    return 4 * N * marginal_constant(d)


def _largest_share(biases: Sequence[float]) -> float:
    """The law of c times the error over its bound, at most, for many d, N and biases."""
    import numpy as np

    from attnlab.rank.theory.full_rank import softmax_limit

    return max(
        softmax_limit(d, np.linspace(0, b, N).tolist()) / _softmax_bound(d, N)
        for d in DIMENSIONS
        for N in LENGTHS
        for b in biases
    )


def _within_bound(view: View, cells: Sequence[Cell]) -> bool:
    """Whether every sampled error is below its bound, by more than chance."""
    return all(
        row.error - normal_threshold(3 * len(cells)) * row.standard_error
        <= _softmax_bound(cell.config.d, cell.config.N) / row.c
        for cell in cells
        for row in view.rows(cell)
    )


def _pair_law() -> bool:
    """Whether the exact error on an orthonormal pair falls with c and stays below const / c."""
    from attnlab.rank.theory.full_rank import full_rank_error, full_rank_rate

    for d in DIMENSIONS:
        curve = [full_rank_error(d, c).value for c in grids_theory.SCALES_C]
        limits = [full_rank_rate(d, c) for c in grids_theory.SCALES_C]
        if not all(b < a for a, b in pairwise(curve)):
            return False
        if not all(value <= limit for value, limit in zip(curve, limits, strict=True)):
            return False
    return True


SIZES = f"d = {DIMENSIONS[0]} to {DIMENSIONS[-1]} and N = {LENGTHS[0]} to {LENGTHS[-1]}"


def _fact_1(view: View) -> Judgement:
    soft, hard = (view.row(cell) for cell in grids_theory.full_rank(view.seed))
    cells = grids_theory.softmax_curves(view.seed)
    compared = agree(Estimate(soft.error, soft.standard_error), soft.law)
    limits, measured, laws, seen = _limits(view, cells)
    share = _largest_share(NO_BIAS)
    law = share <= 1 and _pair_law() and _within_bound(view, cells)
    good = compared.agrees and hard.error <= 1e-10 and limits and law
    return Judgement(
        "holds" if good else "fails",
        f"the law of c × error is at most {share:.3f} of the bound 4 N c_d at {SIZES}; sampled "
        f"softmax on independent points: c × error tends to {measured}; hardmax over 64 points: "
        f"error {below(hard.error, 1e-10)}; an orthonormal pair at c = 64: {soft.error:.4f} ± "
        f"{soft.standard_error:.4f}",
        f"at most 1; law of two nearly equal scores: {laws}; 0; {soft.law:.4f}",
        f"the bound is proved for every N, d ≥ 3 and c (c_d is the largest density of a "
        f"coordinate); the extrapolation of a + b/c over c = 64, 256, 1024 to the law, and the "
        f"pair to its own, within {compared.threshold:.2f} standard errors and more (familywise "
        f"level {LEVEL:g})",
        "c = 4 N c_d / ε is enough for any ε, N and d ≥ 3. For d = 1 and 2 densities are not "
        "bounded, and the error tends to 0 by dominated convergence, since the two largest scores "
        "of different points are equal with probability 0.",
        grade="exact",
        resolution=seen,
    )


def _fact_3(view: View) -> Judgement:
    cells = {
        name: grids_theory.biased(name, view.seed)
        for name in ("biased", "biased as printed", "concatenated")
    }
    rates = {name: view.row(cell).agreement for name, cell in cells.items()}
    allowed = 1 - TIES / cells["biased"].config.samples
    exact = min(rates["biased"], rates["concatenated"]) >= allowed
    curves = grids_theory.biased_softmax_curves(view.seed)
    limits, measured, laws, seen = _limits(view, curves)
    share = _largest_share(BIASES)
    independent = [cell for cell in curves if cell.config.setting == "biased"]
    verdict = "fails"
    if exact and limits and share <= 1 and _within_bound(view, independent):
        verdict = "holds" if rates["biased as printed"] >= allowed else "holds as corrected"
    return Judgement(
        verdict,
        f"X hardmax(Xᵀy − b/2) finds the target in {rates['biased']:.4f} of the prompts, as "
        f"concatenated encodings in {rates['concatenated']:.4f}, and as printed (+ b) in "
        f"{rates['biased as printed']:.4f}; with a softmax c × error tends to {measured}, and its "
        f"law is at most {share:.3f} of the bound 4 N c_d at {SIZES}, b up to {BIASES[-1]:g}",
        f"1; law of two nearly equal scores: {laws}; at most 1",
        f"algebra for every d, N and b, ‖x − y‖² + b = 2 − 2 (x·y − b/2); sampled: all but {TIES} "
        f"of {cells['biased'].config.samples} prompts, for ties in float32; the bound of fact-1 "
        f"is proved for any b; {normal_threshold(2):.2f} standard errors (familywise level "
        f"{LEVEL:g})",
        "Corrected: X hardmax(Xᵀy − b/2). Of ‖x − y‖² + b the points do not share −2 x·y + b, so "
        "that the sign and the half are needed. The second softmax has the law of Theorem 4: "
        "orthogonal points of norm √d, y normal.",
        grade="exact",
        resolution=seen,
    )


CLAIMS = (
    Claim(
        "fact-1",
        f"{PAPER}, Fact 1",
        "For any ε, N and d one softmax head of full rank (V = I and K Qᵀ = c I) has an error of "
        "at most ε on independent points.",
        _fact_1,
        ("full-rank",),
    ),
    Claim(
        "fact-3",
        f"{PAPER}, Fact 3",
        "For any d, N and b one biased head of full rank computes the biased nearest neighbour, "
        "also as concatenated scalar encodings and, in the limit, with a softmax.",
        _fact_3,
        ("full-rank",),
    ),
)
