"""Claims of Section 4: the implicit regression state, its recursions, and its limits.

Source: Vladymyrov et al. (arXiv 2402.14180). The identities are exact, so that their tolerance is a
number of roundings. Where the text prints another formula, both are computed.
"""

from __future__ import annotations

from attnlab.lab.study import Claim, Judgement, Resolution, Verdict, View
from attnlab.linear.study import grids
from attnlab.linear.study.results import AS_IN_PAPER, EXACT
from attnlab.stats import LEVEL, Estimate, agree, below, normal_threshold

SOURCE = "Vladymyrov et al."
ROUNDING = 1e-9
TOLERANCE = (
    f"relative error {ROUNDING:g}: a few thousand roundings in double precision, amplified by the "
    "condition number"
)


def corrected(exact: float, printed: float) -> Verdict:
    """The verdict for an identity, from its error and that of its printed form."""
    if exact > ROUNDING:
        return "fails"
    return "holds" if printed <= ROUNDING else "holds as corrected"


def _state(view: View) -> Judgement:
    rows = [view.row(cell) for cell in grids.states(view.seed)]
    exact, shifted = max(r.tokens for r in rows), min(r.shifted for r in rows)
    return Judgement(
        corrected(exact, shifted),
        f"the error of the tokens from M, u, w and a is {below(exact, ROUNDING)}; with the state "
        f"of the layer before, as printed, it is {shifted:.2g}",
        "0",
        TOLERANCE,
        "Corrected: x_i^l = M^l x_i + y_i u^l and y_i^l = a^l y_i − ⟨w^l, x_i⟩; the layer index of "
        "the text is shifted by one.",
        **EXACT,
    )


def _recursion(view: View) -> Judgement:
    rows = [view.row(cell) for cell in grids.states(view.seed)]
    exact, printed = max(r.recursion for r in rows), min(r.recursion_printed for r in rows)
    return Judgement(
        corrected(exact, printed),
        f"the error of M' = (I + A) M − b wᵀ is {below(exact, ROUNDING)}; with + b wᵀ, as "
        f"printed, it is {printed:.2g}",
        "0",
        TOLERANCE,
        "Corrected: M' = (I + A) M − b wᵀ; the sign of b wᵀ is minus.",
        **EXACT,
    )


def _momentum(view: View) -> Judgement:
    rows = [view.row(cell) for cell in grids.states(view.seed)]
    error = max(row.momentum for row in rows if row.momentum is not None)
    return Judgement(
        "holds" if error <= ROUNDING else "fails",
        f"the error of u and w by the momentum form is {below(error, ROUNDING)}",
        "0",
        TOLERANCE,
        "With Λ, Γ, s, Π and Φ as Lemma A.1 has them once it is corrected.",
        **EXACT,
    )


def _alpha(view: View) -> Judgement:
    rows = [view.row(cell) for cell in grids.states(view.seed)]
    rows = [row for row in rows if row.alpha is not None]
    exact = max(row.alpha for row in rows)
    printed = min(row.alpha_printed for row in rows)
    return Judgement(
        corrected(exact, printed),
        f"the error of α with (M + u w*ᵀ) is {below(exact, ROUNDING)}; "
        f"with (M + a u w*ᵀ), as printed, it is {printed:.2g}",
        "0",
        TOLERANCE,
        "Corrected: α = (M + u w*ᵀ) Σ (a w* − w) + a ρ u; the factor a before u w*ᵀ does not "
        "belong there.",
        **EXACT,
    )


def _cosine(view: View) -> Judgement:
    cells = grids.cosines(view.scale, view.seed)
    rows = [view.row(cell) for cell in cells]
    z = normal_threshold(len(rows))
    found = [
        agree(
            Estimate(row.mean_square, row.mean_square_error, cell.config.contexts),
            row.predicted,
            comparisons=len(rows),
            slack=2 * row.predicted**2,
        )
        for cell, row in zip(cells, rows, strict=True)
    ]
    # At the largest n the limit law has 99% of the contexts below 0.1.
    far, last = cells[-1].config, rows[-1]
    share = last.beyond / far.contexts
    allowed = 0.01 + z * (0.01 / far.contexts) ** 0.5
    small = last.predicted_quantile < 0.1 and share <= allowed
    means = ", ".join(
        f"{row.mean_square:.4f} at n = {cell.config.n}"
        for cell, row in zip(cells, rows, strict=True)
    )
    return Judgement(
        "holds" if all(each.agrees for each in found) and small else "fails",
        f"mean R² {means}; R is above 0.1 in a fraction {share:.3f} of the contexts at n = {far.n}",
        f"(d + 4)/n = {', '.join(f'{row.predicted:.4f}' for row in rows)}; 99% quantile of R at "
        f"n = {far.n}: {last.predicted_quantile:.3f} in the limit, {last.quantile:.3f} sampled",
        f"{z:.1f} standard errors (familywise level {LEVEL:g}) plus 2 R⁴ for the next order; at "
        "the largest n, R is above 0.1 in at most 1% of the contexts, up to the same number of "
        "standard errors",
        "R is the supremum over all weights. 'n much larger than d' means thousands at d = 10: at "
        f"n = {cells[1].config.n}, R is above 0.1 in a fraction "
        f"{rows[1].beyond / cells[1].config.contexts:.2f} of the contexts.",
        **AS_IN_PAPER,
        resolution=Resolution(
            max(z * row.mean_square_error / row.predicted + 2 * row.predicted for row in rows),
            0.5,
            "of the mean of R²",
        ),
    )


CLAIMS = (
    Claim(
        "theorem-4.1",
        f"{SOURCE}, Theorem 4.1",
        "After every layer the tokens are x = M x₀ + y₀ u and y = a y₀ − ⟨w, x₀⟩, which is a "
        "linear regression, for any weights.",
        _state,
    ),
    Claim(
        "lemma-4.3",
        f"{SOURCE}, Lemma 4.3",
        "M, u, w and a follow a recursion in the blocks of Σ_k P_k G Q_k.",
        _recursion,
    ),
    Claim(
        "lemma-4.4",
        f"{SOURCE}, Lemma 4.4",
        "In the diagonal case u and w change as u' = (I − Λ) u + Γ Σ (a w* − w) and "
        "w' = (1 + s) w − Π Σ (a w* − w) − Φ u.",
        _momentum,
    ),
    Claim(
        "lemma-a.1",
        f"{SOURCE}, Lemma A.1",
        "In the diagonal case α is (M + a u w*ᵀ) Σ (a w* − w) + a ρ u, which gives Λ, Γ, s, Π and "
        "Φ.",
        _alpha,
    ),
    Claim(
        "theorem-4.2",
        f"{SOURCE}, Theorem 4.2",
        "No linear transformer computes x(1)²: for n much larger than d the cosine similarity is "
        "below 0.1 with high probability.",
        _cosine,
    ),
)
