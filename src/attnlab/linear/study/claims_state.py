"""Claims of Section 4: the implicit regression state, its recursions, and what it cannot compute.

Source: Vladymyrov et al. (arXiv 2402.14180). The identities are exact, so their tolerance is a
number of roundings; where the text prints something else, both forms are measured.
"""

from __future__ import annotations

from attnlab.lab.study import Claim, Judgement, Verdict, View
from attnlab.linear.study import grids, results
from attnlab.stats.rounding import below

SOURCE = "Vladymyrov et al."
ROUNDING = 1e-9
TOLD = f"relative {ROUNDING:g}: a few thousand roundings of float64, enlarged by conditioning"


def corrected(exact: float, printed: float) -> Verdict:
    """Of an identity and its printed form."""
    if exact > ROUNDING:
        return "fails"
    return "holds" if printed <= ROUNDING else "holds as corrected"


def _state(view: View) -> Judgement:
    rows = [view.row(cell) for cell in grids.states(view.seed)]
    exact, shifted = max(r.tokens for r in rows), min(r.shifted for r in rows)
    return Judgement(
        corrected(exact, shifted),
        f"tokens from M, u, w, a: off by {below(exact, ROUNDING)}; one layer later: off by "
        f"{shifted:.2g}",
        "0",
        TOLD,
        "The state of layer l describes the tokens after layer l; the text's index is one off.",
    )


def _recursion(view: View) -> Judgement:
    rows = [view.row(cell) for cell in grids.states(view.seed)]
    exact, printed = max(r.recursion for r in rows), min(r.recursion_printed for r in rows)
    return Judgement(
        corrected(exact, printed),
        f"M' = (I + A) M − b wᵀ off by {below(exact, ROUNDING)}; with + b wᵀ, as printed, by "
        f"{printed:.2g}",
        "0",
        TOLD,
        "The sign of b wᵀ is minus.",
    )


def _alpha(view: View) -> Judgement:
    rows = [view.row(cell) for cell in grids.states(view.seed)]
    rows = [row for row in rows if row.alpha is not None]
    exact = max(max(row.alpha, row.momentum) for row in rows)
    printed = min(row.alpha_printed for row in rows)
    return Judgement(
        corrected(exact, printed),
        f"(M + u w*ᵀ) and the momentum form off by {below(exact, ROUNDING)}; (M + a u w*ᵀ), as "
        f"printed, by {printed:.2g}",
        "0",
        TOLD,
        "The factor a before u w*ᵀ does not belong there.",
    )


def _cosine(view: View) -> Judgement:
    cells = grids.cosines(view.scale, view.seed)
    rows = [view.row(cell) for cell in cells]
    z = results.normal(len(rows))
    agree = [
        abs(row.mean_square - row.predicted) <= z * row.mean_square_error + 2 * row.predicted**2
        for row in rows
    ]
    # At the largest n the limit law puts 99% of contexts below 0.1.
    far, last = cells[-1].config, rows[-1]
    share = last.beyond / far.contexts
    allowed = 0.01 + z * (0.01 / far.contexts) ** 0.5
    small = last.predicted_quantile < 0.1 and share <= allowed
    told = ", ".join(
        f"{row.mean_square:.4f} at n = {cell.config.n}"
        for cell, row in zip(cells, rows, strict=True)
    )
    return Judgement(
        "holds" if all(agree) and small else "fails",
        f"mean R² {told}; above 0.1 in a share {share:.3f} of contexts at n = {far.n}",
        f"(d + 4)/n = {', '.join(f'{row.predicted:.4f}' for row in rows)}; 99% quantile of R at "
        f"n = {far.n}: {last.predicted_quantile:.3f} in the limit, {last.quantile:.3f} sampled",
        f"{z:.1f} standard errors (familywise level {results.LEVEL:g}) and 2 R⁴ for the next "
        "order; at the largest n at most 1% beyond 0.1, with the same number of standard errors",
        "R is the supremum over all weights. 'n much larger than d' means thousands at d = 10: at "
        f"n = {cells[1].config.n} a share {rows[1].beyond / cells[1].config.contexts:.2f} of "
        "contexts is above 0.1.",
    )


CLAIMS = (
    Claim(
        "theorem-4.1",
        f"{SOURCE}, Theorem 4.1",
        "After every layer the tokens are x = M x₀ + y₀ u and y = a y₀ − ⟨w, x₀⟩: a linear "
        "regression, for any weights.",
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
        f"{SOURCE}, Lemmas 4.4 and A.1",
        "In the diagonal case α follows from the state, and u and w move as with momentum.",
        _alpha,
    ),
    Claim(
        "theorem-4.2",
        f"{SOURCE}, Theorem 4.2",
        "No linear transformer computes x(1)²: with n much larger than d the cosine similarity "
        "stays below 0.1 with high probability.",
        _cosine,
    ),
)
