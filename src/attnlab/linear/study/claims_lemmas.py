"""Claims about Lemmas A.2 and A.3, from which Theorem 5.1 follows: scalar recursions.

Source: Vladymyrov et al. (arXiv 2402.14180), Appendix A.4.
"""

from __future__ import annotations

import math
from fractions import Fraction

from attnlab.lab.study import Claim, Judgement, View
from attnlab.linear.study import grids
from attnlab.linear.study.claims_state import ROUNDING, SOURCE
from attnlab.linear.study.results import EXACT
from attnlab.stats import below


def _unit_step(view: View) -> Judgement:
    row = view.row(grids.scalar_rates())
    return Judgement(
        "holds" if row.unit_step <= 1 + ROUNDING else "fails",
        f"|Σ y_i x_i − w*| is at most {row.unit_step:.3f} ε |w*| for ε from 0.001 to 10",
        "at most ε |w*|",
        "rounding; the worst case is w* along the largest eigenvalue, where it is ε |w*|",
        "Σ y_i x_i is the gradient step of size 1 from 0.",
        **EXACT,
    )


def _one_step(view: View) -> Judgement:
    row = view.row(grids.scalar_rates())
    return Judgement(
        "holds" if row.step_error < 1e-12 and row.step_beyond <= 1 else "fails",
        f"the error of one step 2/(μ + ν) differs from (κ − 1)/(κ + 1) by "
        f"{below(row.step_error, 1e-12)}, and is at most {row.step_beyond:.2f} (κ − 1)",
        "(κ − 1)/(κ + 1) ≤ κ − 1",
        "1e-12: rounding",
        **EXACT,
    )


def _contraction(view: View) -> Judgement:
    row = view.row(grids.scalar_rates())
    far = row.contraction_largest <= row.contraction_close < 0.916
    near = row.excess_largest <= 2
    limits = abs(row.contraction_far - 4 / 9) < 1e-6 and abs(row.excess_limit - 0.75) < 1e-6
    return Judgement(
        "holds" if far and near and limits else "fails",
        f"κ is multiplied by {row.contraction_close:.3f} at 1.1 and by {row.contraction_far:.4f} "
        f"at 10⁸; the next excess is at most {row.excess_largest:.3f} ε²",
        "a constant below 1 from κ = 1.1 on (4/9 in the limit); 2 ε² (3/4 ε² in the limit)",
        "the scalar recursion is exact; limits to 1e-6",
        "The constant 2 is correct and can be improved.",
        **EXACT,
    )


def excess_series(terms: int) -> list[Fraction]:
    """Coefficients in powers of ε of κ' = κ (4/9)/(1 − 1/(3κ))² = (1 + ε)³/(1 + 3ε/2)²."""
    cube = [Fraction(math.comb(3, k)) for k in range(4)]
    inverse = [(k + 1) * Fraction(-3, 2) ** k for k in range(terms)]
    return [
        sum((cube[j] * inverse[k - j] for j in range(min(k, 3) + 1)), Fraction(0))
        for k in range(terms)
    ]


def _series(view: View) -> Judgement:
    row = view.row(grids.scalar_rates())
    found = excess_series(4)
    right = found == [1, 0, Fraction(3, 4), Fraction(-5, 4)]
    near = abs(row.excess_limit - float(found[2])) < 1e-6
    return Judgement(
        "holds" if right and near else "fails",
        f"1 + {found[1]} ε + {found[2]} ε² + ({found[3]}) ε³; the recursion has "
        f"{row.excess_limit:.6f} ε² next to κ = 1",
        "1 + 3/4 ε² − 5/4 ε³",
        "rational arithmetic; the recursion to 1e-6",
        **EXACT,
    )


CLAIMS = (
    Claim(
        "lemma-a.2",
        f"{SOURCE}, Lemma A.2",
        "With eigenvalues of Σ between 1 and 1 + ε, Σ y_i x_i is within ε |w*| of the least "
        "squares solution w*.",
        _unit_step,
    ),
    Claim(
        "lemma-a.2-best-step",
        "Ours, about Lemma A.2",
        "The step 2/(μ + ν) has the relative error (κ − 1)/(κ + 1), about half of κ − 1.",
        _one_step,
        ours=True,
    ),
    Claim(
        "lemma-a.3",
        f"{SOURCE}, Lemma A.3",
        "A layer with ω_xx divides κ by a constant while κ ≥ 1.1; an excess ε = κ − 1 below 0.1 "
        "becomes at most 2 ε².",
        _contraction,
    ),
    Claim(
        "lemma-a.3-series",
        f"{SOURCE}, proof of Lemma A.3",
        "Next to κ = 1 + ε the next condition number is 1 + 3/4 ε² − 5/4 ε³ + O(ε⁴).",
        _series,
    ),
)
