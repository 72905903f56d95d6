"""Claims of Section 5 and Appendix A: the effect of each of the four omegas, built by hand.

Source: Vladymyrov et al. (arXiv 2402.14180). Rates are fitted besides limits. The layers that
Theorem 5.1 needs are counted with the scalar recursion, and the network is then run with them.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from attnlab.lab.study import Claim, Judgement, Resolution, View
from attnlab.linear.study import claims_lemmas, grids
from attnlab.linear.study.claims_readings import OMEGA, SIGMAS, D, N, mean_factors, shown_factors
from attnlab.linear.study.claims_state import ROUNDING, SOURCE, TOLERANCE, corrected
from attnlab.linear.study.results import AS_IN_PAPER, EXACT
from attnlab.stats import Estimate, Line, agree, below, line, normal_threshold, rate

LAYERS = (7, 8, 12, 14, 21, 23)  # for kappa = 10, 1e3, 1e6, each at 1e-3 and 1e-9
EPSILON = 2.2e-16


def _least_squares(view: View) -> Judgement:
    cells = grids.least_squares_cells(view.seed)
    rows = [view.row(cell) for cell in cells]
    rates = view.row(grids.scalar_rates())
    good = all(
        row.error <= cell.config.precision
        and (row.error_before or math.inf) > cell.config.precision
        and row.network_error <= cell.config.precision + 10 * cell.config.kappa * EPSILON
        for cell, row in zip(cells, rows, strict=True)
    )
    log = 1 / math.log(9 / 4)
    slopes = abs(rates.log_slope / log - 1) < 0.05 and abs(rates.log_log_slope - 1) < 0.05
    counted = tuple(row.layers for row in rows) == LAYERS
    return Judgement(
        "holds" if good and slopes and counted else "fails",
        f"{', '.join(str(row.layers) for row in rows)} layers for κ = 10, 10³, 10⁶, each at 1e-3 "
        f"and 1e-9; {rates.log_slope:.3f} layers per unit of log κ, {rates.log_log_slope:.3f} "
        "layers per doubling of log 1/ε",
        f"{', '.join(map(str, LAYERS))}; 1/log(9/4) = {log:.3f} and 1",
        "the error is reached with these layers and not with one less; the error of the network "
        "is larger by at most 10 κ roundings; slopes within 5%, because layers are whole numbers",
        "κ is the largest over the smallest eigenvalue; the text exchanges the two symbols.",
        **EXACT,
    )


SECOND, FIRST = ("GD++", "Newton"), ("gradient descent", "any first-order method")


def _newton(view: View) -> Judgement:
    rows = view.rows(grids.convergence_orders())
    steps = {
        method: [row.steps for row in rows if row.method == method] for method in (*SECOND, *FIRST)
    }
    digits = [row.digits for row in rows if row.method == "GD++"]
    doublings = {name: line(np.log2(digits), steps[name]).slope for name in SECOND}
    powers = {name: rate(digits, steps[name]).slope for name in FIRST}
    good = all(abs(value - 1) < 0.05 for value in (*doublings.values(), *powers.values()))
    shown = {name: ", ".join(map(str, values)) for name, values in steps.items()}
    return Judgement(
        "holds" if good else "fails",
        "steps for 10 to 100,000 digits at κ = 10, by factors of 10: "
        + "; ".join(
            f"{name} {shown[name]} ({doublings[name]:.3f} per doubling of log 1/ε)"
            for name in SECOND
        )
        + "; "
        + "; ".join(
            f"{name} {shown[name]} (log 1/ε to the power {powers[name]:.3f})" for name in FIRST
        ),
        "one step per doubling of log 1/ε for GD++ and Newton's iteration; the power 1 of log 1/ε, "
        "for the best that combinations of gradients can do as well",
        "exact counts; slopes within 5%, because steps are whole numbers",
        "Newton's iteration is that for the inverse of Σ. The bound on first-order methods is "
        'Chebyshev\'s, for more dimensions than steps. The text says "usually": secant methods, '
        "which build up second derivatives from gradients, are in between.",
        **EXACT,
    )


def slope(view: View, sigma: float) -> Line:
    """The power of n with which the distance to ridge falls, from n = 400 on."""
    cells = grids.rescalings(sigma, view.scale, view.seed)[1:]
    rows = [view.row(cell) for cell in cells]
    return rate(
        [cell.config.n for cell in cells],
        [row.distance for row in rows],
        [row.distance_error for row in rows],
    )


def _rescaling(view: View) -> Judgement:
    z = normal_threshold(2)
    found = {sigma: slope(view, sigma) for sigma in grids.LEVELS}
    right = all(abs(line.slope + 0.5) <= z * line.slope_error + 0.02 for line in found.values())
    last = [
        view.row(grids.rescalings(sigma, view.scale, view.seed)[-1]).distance
        for sigma in grids.LEVELS
    ]
    powers = ", ".join(
        f"{line.slope:.3f} ± {line.slope_error:.3f} (σ = {s})" for s, line in found.items()
    )
    return Judgement(
        "holds" if right and max(last) < 0.05 else "fails",
        f"relative distance to the best ridge {last[0]:.3f} and {last[1]:.3f} at n = "
        f"{grids.LENGTHS[-1]}, which falls as n to the power {powers}",
        "0 in the limit; power −0.5",
        f"{z:.1f} standard errors of the slope, plus 0.02 for the next order, n^-1/2 at n = 400",
        **AS_IN_PAPER,
        resolution=Resolution(
            max(z * line.slope_error + 0.02 for line in found.values()), 0.25, "of the power"
        ),
    )


NO_LIMIT = 0.05  # a relative distance that is none


def _third_level(view: View) -> Judgement:
    cells = grids.rescalings(grids.THIRD, view.scale, view.seed)
    row = view.row(cells[-1])
    # The variance around the limit adds its mean square to the distance, at order 1/n.
    slack = 5 / math.sqrt(grids.LENGTHS[-1]) * row.limit
    found = agree(
        Estimate(row.distance, row.distance_error, cells[-1].config.contexts),
        row.limit,
        slack=slack,
    )
    # What the sentence is about: half of a limit that is not 0. A refutation has its departure.
    seen, about = found.allowed + slack, max(0.5 * row.limit, NO_LIMIT)
    if not found.agrees:
        seen, about = found.allowed, abs(found.difference)
    return Judgement(
        "holds" if row.limit > NO_LIMIT and found.agrees else "fails",
        f"relative distance {row.distance:.4f} ± {row.distance_error:.4f} at σ = {grids.THIRD}, "
        f"n = {grids.LENGTHS[-1]}",
        f"{row.limit:.4f} in the limit, not 0",
        f"{found.threshold:.1f} standard errors plus 5/√n times the limit",
        **AS_IN_PAPER,
        resolution=Resolution(seen, about, "of the relative distance"),
    )


def _step(view: View) -> Judgement:
    cells = grids.step_sizes(view.seed)
    rows = [view.row(cell) for cell in cells]
    exact, printed = max(row.corrected for row in rows), min(row.printed for row in rows)
    sizes = [abs(cell.config.omega_xy) for cell in cells]
    order = rate(sizes, [max(row.printed, 1e-300) for row in rows]).slope
    verdict = corrected(exact, printed)
    if verdict == "holds as corrected" and abs(order - 1) > 0.05:
        verdict = "fails"
    return Judgement(
        verdict,
        f"the error with λ = Σ y² is {below(exact, ROUNDING)}; with ρ, as printed, it is "
        f"{rows[1].printed:.3f} at ω_xy = {cells[1].config.omega_xy:g} and grows as ω_xy to the "
        f"power {order:.3f}",
        "0; the error of the printed form is of first order",
        f"{TOLERANCE}; power within 0.05",
        "Corrected: w² = −ω_yx (1 + ω_xy λ) Σ w* with λ = Σ y_i² = ρ + w*ᵀ Σ w* in place of "
        "ρ = Σ r_i², without an assumption. The multiplicative term that the text leaves out as "
        "small adds w*ᵀ Σ w*, which is of the same order in ω_xy as ρ.",
        **EXACT,
    )


def _adapts(view: View) -> Judgement:
    exact = max(view.row(cell).corrected for cell in grids.noisy_step_sizes(view.seed))
    factors = mean_factors(OMEGA)
    # As printed, with the residuals: E rho = (n - d) sigma^2.
    printed = [1 + OMEGA * (N - D) * sigma**2 for sigma in SIGMAS]
    down = all(a > b > 0 for own in (factors, printed) for a, b in pairwise(own))
    return Judgement(
        "holds" if down and exact <= ROUNDING else "fails",
        f"the error of the step −ω_yx (1 + ω_xy λ) is {below(exact, ROUNDING)}; the expectation of "
        f"1 + ω_xy λ at ω_xy = {OMEGA:g} is {shown_factors(factors)}; with Σ r_i², as printed, "
        f"that of the factor is {shown_factors(printed)}",
        "0; a positive factor that falls with the noise",
        f"{TOLERANCE}; the expectations are exact, E λ = n (d + σ²) and E Σ r_i² = (n − d) σ² at "
        f"d = {D}, n = {N}",
        "Where ω_xy λ is below −1 the step changes its sign.",
        **EXACT,
    )


CLAIMS = (
    Claim(
        "theorem-5.1",
        f"{SOURCE}, Theorem 5.1",
        "GD++ solves least squares to relative error ε in O(log κ + log log 1/ε) layers.",
        _least_squares,
    ),
    Claim(
        "newton",
        f"{SOURCE}, Section 5.1",
        "The rate O(log log 1/ε) is usually reached by second-order methods only, such as "
        "Newton's.",
        _newton,
    ),
    *claims_lemmas.CLAIMS,
    Claim(
        "theorem-5.2",
        f"{SOURCE}, Theorem 5.2",
        "A gradient step and a layer with ω_yy alone tend to the best ridge at two noise levels "
        "as n grows.",
        _rescaling,
    ),
    Claim(
        "theorem-5.2-third-level",
        "Ours, about Theorem 5.2",
        "At a third noise level they do not tend to the best ridge.",
        _third_level,
        ours=True,
    ),
    Claim(
        "section-5.3",
        f"{SOURCE}, Section 5.3",
        "Where the multiplicative term is small, ω_xy in layer 1 and ω_yx in layer 2 are about a "
        "gradient step, y_t² ≈ y_t + ω_yx (1 + ω_xy Σ r_i²) (Σ w*)ᵀ x_t.",
        _step,
    ),
    Claim(
        "section-5.3-adapts",
        f"{SOURCE}, Section 5.3",
        "With negative omegas the step shrinks as the noise grows.",
        _adapts,
    ),
)
