"""Claims about sentences of Section 4 and of the proofs in Appendices A.3 to A.5.

Source: Vladymyrov et al. (arXiv 2402.14180). Identities and recursions are exact, so that their
tolerance is a number of roundings; the rate of A.3 is fitted.
"""

from __future__ import annotations

import math

from attnlab.lab.study import Claim, Judgement, Resolution, View
from attnlab.linear.study import grids
from attnlab.linear.study.claims_state import ROUNDING, SOURCE, TOLERANCE, corrected
from attnlab.linear.study.questions_appendix import CONDITIONS, PRECISIONS
from attnlab.linear.study.results import AS_IN_PAPER, EXACT
from attnlab.stats import below, normal_threshold, rate

BENT = 1e-3  # of the size of M, u, w or a: far above rounding


def _not_linear(view: View) -> Judgement:
    row = view.row(grids.appendix(view.seed))
    return Judgement(
        "holds" if row.bend > BENT else "fails",
        "the second difference of M, u, w and a at one, two and three times the same tokens is at "
        f"least {row.bend:.2f} of their size, after two layers of random networks",
        "0 for a linear function, also with a constant",
        f"above {BENT:g}, which is far above rounding",
        **EXACT,
    )


def _rate(view: View) -> Judgement:
    """The cosine of Theorem 4.2 over the bound of A.3, by the length of the context."""
    cells = grids.cosines(view.scale, view.seed)
    rows = [view.row(cell) for cell in cells]
    lengths, d = [cell.config.n for cell in cells], cells[0].config.d
    z = normal_threshold(1)
    cosines = [math.sqrt(row.mean_square) for row in rows]
    errors = [row.mean_square_error / (2 * r) for row, r in zip(rows, cosines, strict=True)]
    line = rate(lengths, cosines, errors)
    constants = [
        r * n / (math.sqrt(n) + math.sqrt(n * d)) for r, n in zip(cosines, lengths, strict=True)
    ]
    right = abs(line.slope + 0.5) <= z * line.slope_error + SLACK
    return Judgement(
        "holds" if right else "fails",
        f"the root mean square of the largest cosine is {', '.join(f'{r:.3f}' for r in cosines)} "
        f"at n = {', '.join(map(str, lengths))}: n to the power {line.slope:.3f} ± "
        f"{line.slope_error:.3f}, and {', '.join(f'{c:.2f}' for c in constants)} times "
        "(√n + √(n d))/n",
        "power −0.5, and a bounded factor",
        f"{z:.1f} standard errors of the slope, plus {SLACK:g} for the next order",
        f"At d = {d}. The largest cosine is the supremum over all weights.",
        **AS_IN_PAPER,
        resolution=Resolution(z * line.slope_error + SLACK, 0.25, "of the power"),
    )


SLACK = 0.02


def _proof(view: View) -> Judgement:
    row = view.row(grids.appendix(view.seed))
    good = row.proof_condition <= 1 and row.proof_error <= 1 and row.proof_bound <= 1
    cases = len(CONDITIONS) * len(PRECISIONS)
    return Judgement(
        "holds" if good and row.proof_more <= MORE else "fails",
        f"of {cases} pairs of κ and ε: κ' − 1 is at most {row.proof_condition:.2f} ε/(2κ), the "
        f"step 1/μ' has an error of at most {row.proof_error:.3f} ε, and (κ' − 1) √κ √κ' is at "
        f"most {row.proof_bound:.2f} ε, with up to {row.proof_more} layers more than the least "
        "number",
        "at most 1 each, and a bounded number of further layers",
        f"scalar recursions, which are exact; at most {MORE} layers, because log log κ/ε exceeds "
        "log log 1/ε by at most 2 there",
        "κ = 10, 10³ and 10⁶ at ε = 1e-3 and 1e-9. μ' is the smallest eigenvalue that remains.",
        **EXACT,
    )


MORE = 3


def _signs(view: View) -> Judgement:
    row = view.row(grids.appendix(view.seed))
    exact = max(row.first_weights, row.equations)
    return Judgement(
        corrected(exact, max(row.first_weights_printed, row.equations_printed)),
        f"the error of w¹ = −ω_yx Σ y_i x_i and of −(1 + n σ² ω_yy) ω_yx = 1/(1 + σ²) is "
        f"{below(exact, ROUNDING)}; with the printed signs it is {row.first_weights_printed:.2g} "
        f"and {row.equations_printed:.2g}",
        "0",
        TOLERANCE,
        "Corrected: w¹ = −ω_yx Σ y_i x_i, by Lemma 4.3 with w⁰ = 0, M⁰ = I and c = ω_yx α, so that "
        "−(1 + n σ² ω_yy) ω_yx = 1/(1 + σ²). The equations are linear in ω_yx and n ω_yx ω_yy and "
        "have a solution for any two levels.",
        **EXACT,
    )


CLAIMS = (
    Claim(
        "state-not-linear",
        f"{SOURCE}, Section 4",
        "M, u, w and a are not linear in the input.",
        _not_linear,
    ),
    Claim(
        "theorem-4.2-rate",
        f"{SOURCE}, Appendix A.3",
        "With high probability the cosine similarity is at most of the order (√n + √(n d))/n.",
        _rate,
    ),
    Claim(
        "theorem-5.1-proof",
        f"{SOURCE}, Appendix A.4",
        "O(log κ + log log 1/ε) layers bring the condition number to κ' ≤ 1 + ε/(2κ), and a "
        "gradient step of size 1/μ' then has an error of at most (κ' − 1) √κ √κ' ≤ ε.",
        _proof,
    ),
    Claim(
        "theorem-5.2-proof",
        f"{SOURCE}, Appendix A.5",
        "After the first layer w¹ = ω_yx Σ y_i x_i, and weights with "
        "(1 + n σ² ω_yy) ω_yx = 1/(1 + σ²) at two noise levels exist.",
        _signs,
    ),
)
