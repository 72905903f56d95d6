"""Claims about single sentences of Sections 2, 4 and 5: algebra of one layer, and ridge.

Source: Vladymyrov et al. (arXiv 2402.14180). The identities are exact, so that their tolerance is a
number of roundings.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from attnlab.lab.study import Claim, Judgement, Resolution, View
from attnlab.linear.study import grids, results
from attnlab.linear.study.claims_state import ROUNDING, SOURCE, TOLERANCE
from attnlab.stats import LEVEL, below, normal_threshold, rate

D, N = 10, 20  # of the paper
SIGMAS = (0.0, 1.0, 3.0, 5.0)
OMEGA = -1e-3


def identity(what: str, *fields: str) -> Callable[[View], Judgement]:
    """The check that the largest of some relative errors is rounding."""

    def check(view: View) -> Judgement:
        row = view.row(grids.readings(view.seed))
        error = max(getattr(row, name) for name in fields)
        return Judgement(
            "holds" if error <= ROUNDING else "fails",
            f"{what}: relative error {below(error, ROUNDING)}",
            "0",
            TOLERANCE,
            **results.EXACT,
        )

    return check


def _one_head(view: View) -> Judgement:
    row = view.row(grids.readings(view.seed))
    return Judgement(
        "holds" if row.one_head <= ROUNDING and row.two_heads > 1e-3 else "fails",
        f"|ω_xx ω_yy − ω_xy ω_yx| over the sum of both terms is {below(row.one_head, ROUNDING)} "
        f"with one head and {row.two_heads:.2f} with two, in the median of random layers",
        "0 with one head; not 0 with two",
        TOLERANCE,
        **results.EXACT,
    )


def mean_factors(omega: float) -> list[float]:
    """The expectation of 1 + omega lambda by noise level, E lambda = n (d + sigma^2)."""
    return [1 + omega * N * (D + sigma**2) for sigma in SIGMAS]


def shown_factors(factors: list[float]) -> str:
    """The factors as text, with their noise levels."""
    return (
        f"{', '.join(f'{value:.3f}' for value in factors)} at σ = "
        f"{', '.join(f'{sigma:g}' for sigma in SIGMAS)}"
    )


def _rescaling(view: View) -> Judgement:
    row = view.row(grids.readings(view.seed))
    exact = max(row.rescaled, row.kept)
    factors = mean_factors(OMEGA)
    falls = all(a > b for a, b in pairwise(factors)) and factors[0] < 1
    return Judgement(
        "holds" if exact <= ROUNDING and falls else "fails",
        f"the error of y' = (1 + ω_yy λ) y, x' = x is {below(exact, ROUNDING)}; the expectation of "
        f"1 + ω_yy λ at ω_yy = {OMEGA:g} is {shown_factors(factors)}",
        "0; a factor below 1 that falls with the noise",
        f"{TOLERANCE}; the expectation is exact, E λ = n (d + σ²) at d = {D}, n = {N}",
        "Of the first layer, where y is the label: E y_i² = d + σ² for w and x_i of variance 1.",
        **results.EXACT,
    )


def _ridge_scaled(view: View) -> Judgement:
    rows = list(view.rows(grids.rescaled(view.seed)))
    z = normal_threshold(1)
    line = rate(
        [row.n for row in rows[1:]],
        [row.distance for row in rows[1:]],
        [row.distance_error for row in rows[1:]],
    )
    right = abs(line.slope + 0.5) <= z * line.slope_error + 0.05
    small = rows[-1].distance < 0.1
    sigma = grids.rescaled(view.seed).config.sigma
    return Judgement(
        "holds" if right and small else "fails",
        "|w_ridge − n/(n + σ²) w*| over |w_ridge − w*| is "
        + ", ".join(f"{row.distance:.2f} at n = {row.n}" for row in rows)
        + f", σ = {sigma:g}; it falls as n to the power {line.slope:.3f} ± {line.slope_error:.3f}",
        "0 where Σ is near n I, that is as n grows; power −0.5",
        f"{z:.1f} standard errors of the slope, plus 0.05 for the next order; below 0.1 at the "
        "largest n",
        f"At the paper's n = {rows[0].n} the rescaled solution is still off by "
        f"{rows[0].relative:.0%} of ridge. The factor n/(n + σ²) falls with σ by its form.",
        **results.AS_IN_PAPER,
        resolution=Resolution(z * line.slope_error + 0.05, 0.25, "of the power"),
    )


def _known(view: View) -> Judgement:
    rows = {row.multiple: row for row in view.rows(grids.known_noise(view.seed))}
    others = [row for row in rows.values() if row.multiple != 1]
    z = normal_threshold(len(others))
    better = [row.multiple for row in others if row.excess < -z * row.excess_error]
    unclear = [row.multiple for row in others if abs(row.excess) <= z * row.excess_error]
    return Judgement(
        "fails" if better or unclear else "holds",
        "the loss exceeds that of the true variance by "
        + ", ".join(f"{row.excess:.3f} at {row.multiple:g} σ²" for row in others),
        "the constant σ² has the least loss",
        f"{z:.1f} standard errors of the paired differences (familywise level {LEVEL:g})",
        f"Not above: {results.listed([f'{m:g}' for m in (*better, *unclear)])}. For Gaussian w and "
        "noise ridge with σ² is the posterior mean, so that no predictor is better.",
        **results.AS_IN_PAPER,
        resolution=Resolution(
            z * max(row.excess_error / rows[1.0].loss for row in others),
            min(abs(row.excess) for row in others) / rows[1.0].loss,
            "of the least loss",
        ),
    )


def _query_noise(view: View) -> Judgement:
    rows = list(view.rows(grids.known_noise(view.seed)))
    z = normal_threshold(len(rows))
    off = [row.multiple for row in rows if abs(row.added - 1) > z * row.added_error]
    return Judgement(
        "fails" if off else "holds",
        "noise in the label of the query adds "
        + ", ".join(f"{row.added:.3f} ({row.multiple:g} σ²)" for row in rows)
        + " times σ²/2 to five ridges",
        "σ²/2 for every predictor, so that no difference of losses changes",
        f"{z:.1f} standard errors (familywise level {LEVEL:g})",
        "The noise of the query is independent of what the predictor sees.",
        **results.AS_IN_PAPER,
        resolution=Resolution(z * max(row.added_error for row in rows), 0.2, "of σ²/2"),
    )


def _adjustment(view: View) -> Judgement:
    """Losses and derivatives on sampled queries, against those of 1/2 |w - w_oracle|^2."""
    rows = list(view.rows(grids.adjustment(view.seed)))
    z = normal_threshold(2 * len(rows))
    names = [f"{row.predictor} {row.parameter:.3g}" for row in rows]
    off = [
        name
        for name, row in zip(names, rows, strict=True)
        if abs(row.difference) > z * row.difference_error
        or abs(row.slope_difference) > z * row.slope_error
    ]
    shares = [row.difference / row.oracle for row in rows]
    slopes = [row.slope_difference / row.slope_scale for row in rows]
    seen = max(
        max(z * row.difference_error / row.oracle, z * row.slope_error / row.slope_scale)
        for row in rows
    )
    listed = ", ".join(f"{share:+.3f} ({name})" for name, share in zip(names, shares, strict=True))
    return Judgement(
        "fails" if off else "holds",
        "the loss of sampled queries minus the adjusted loss differs from the oracle's loss by "
        f"{listed} of it; the derivatives of both losses differ by at most "
        f"{max(map(abs, slopes)):.3f} of their size",
        "0: one constant for every predictor, and the same gradients",
        f"{z:.1f} standard errors (familywise level {LEVEL:g})",
        f"Not so: {results.listed(off)}. The adjusted loss is that of this package, "
        "½ |w − w_oracle|², which is the loss minus the oracle's because the oracle is the "
        "posterior mean of the weights. Derivatives are by the step of one layer and by the "
        "constant of ridge.",
        **results.AS_IN_PAPER,
        resolution=Resolution(seen, 0.25, "of the oracle's loss, or of the size of a derivative"),
    )


CLAIMS = (
    Claim(
        "equation-2",
        f"{SOURCE}, Section 2.1",
        "Four matrices of a head act only through P = W_P W_V and Q = W_Kᵀ W_Q.",
        identity("a head of four matrices against P and Q", "two_matrices"),
    ),
    Claim(
        "equation-5",
        f"{SOURCE}, Equation (5)",
        "For a known noise level the best estimate is ridge with its variance.",
        _known,
    ),
    Claim(
        "query-noise",
        f"{SOURCE}, Section 2.2",
        "Noise in the label of the query adds a constant to the loss of every predictor.",
        _query_noise,
    ),
    Claim(
        "adjustment-constant",
        f"{SOURCE}, Section 6",
        "The adjustment changes the loss by an additive constant only, so that it does not affect "
        "the optimisation.",
        _adjustment,
    ),
    Claim(
        "momentum-gradient",
        f"{SOURCE}, Section 4",
        "Σ (a w* − w) is proportional to the gradient of Σ_i (a y_i − ⟨w, x_i⟩)².",
        identity("the gradient against −2 Σ (a w* − w)", "gradient"),
    ),
    Claim(
        "equation-10",
        f"{SOURCE}, Equation (10)",
        "Diagonal heads act only through the four omegas, as in Equation (10).",
        identity("a layer of three diagonal heads against Equation (10)", "updates"),
    ),
    Claim(
        "one-head-constraint",
        f"{SOURCE}, Section 5",
        "With one head ω_xx ω_yy = ω_xy ω_yx; with more heads this need not hold.",
        _one_head,
    ),
    Claim(
        "more-heads-same",
        f"{SOURCE}, Section 5",
        "Any number of diagonal heads is captured by four numbers, which two heads already have.",
        identity("three heads against two with the same omegas", "three_heads"),
    ),
    Claim(
        "equation-11",
        f"{SOURCE}, Section 5.1",
        "In GD++ ω_xx preconditions the inputs and ω_yx is a gradient step on the labels.",
        identity("Σ' = (I + ω_xx Σ) Σ (I + ω_xx Σ) and w = −ω_yx Σ w*", "preconditioner", "step"),
    ),
    Claim(
        "y-rescaling",
        f"{SOURCE}, Section 5.2",
        "ω_yy alone multiplies every y by 1 + ω_yy λ; with ω_yy < 0 the factor falls as the noise "
        "grows.",
        _rescaling,
    ),
    Claim(
        "ridge-rescaled-ols",
        f"{SOURCE}, Section 5.2",
        "Where Σ is near n I, ridge is near the rescaled least squares solution n/(n + σ²) w*.",
        _ridge_scaled,
    ),
    Claim(
        "section-5.3-first-layer",
        f"{SOURCE}, Section 5.3",
        "A layer with ω_xy alone maps x_i to (I + ω_xy Σ w* w*ᵀ) x_i + ω_xy r_i Σ w*.",
        identity("the first layer against its formula", "first_layer"),
    ),
)
