"""Every statement of the paper in its order, with the claims that judge it.

Source: Deng, Song, Zhou, "Superiority of Softmax" (arXiv 2310.11685). The text available to us ends
with Section C of the appendix; Sections D, E and F are known from the references to them.
"""

from attnlab.lab.study import Statement
from attnlab.separation.study.statements_panels import PANEL_STATEMENTS

DEFINES = "It defines what the statements speak of."
DRAWS = "A drawing of the network."

_FRONT = (
    Statement(
        "linear-approximates",
        "Abstract and Section 1",
        "sentence",
        "Linear attention approximates the softmax operation, in one of the cited works by the "
        "first-order Taylor expansion.",
        claims=("linear-approximates",),
        beside=("linear-plain",),
    ),
    Statement(
        "practice-drop",
        "Abstract and Section 8",
        "sentence",
        "Linear attention shows a substantial drop of performance compared with softmax attention.",
        claims=("practice-drop",),
    ),
    Statement(
        "practice-most",
        "Abstract",
        "sentence",
        "Softmax attention is better than linear attention in most situations.",
        claims=("practice-most",),
    ),
    Statement(
        "practice",
        "Section 1",
        "sentence",
        "In applications softmax attention always performs better than linear attention.",
        claims=("practice",),
    ),
    Statement(
        "linear-cost",
        "Abstract and Section 1",
        "sentence",
        "The cost of attention grows with the square of the length for softmax, and linearly for "
        "linear attention.",
        claims=("linear-cost",),
    ),
    Statement(
        "hypothesis",
        "Section 1",
        "sentence",
        "For the Transformer there are datasets that can be classified effectively by softmax "
        "attention only, while linear attention proves insufficient.",
        claims=("hypothesis",),
        beside=("hypothesis-definition-6.1",),
    ),
    Statement(
        "equation-1",
        "Section 1, equation (1)",
        "definition",
        "Att = D^-1 exp(A_1 X A_2^T) A_2 Y with X = QK^T, Y = V and D the row sums; linear "
        "attention has its argument in place of exp.",
        reason=f"{DEFINES} D is printed as a d x d matrix and is n x n.",
    ),
    Statement(
        "theorem-1.1",
        "Section 1.1",
        "theorem",
        "There are two self-attention datasets in R^(n x d) and two four-layer networks, with "
        "softmax and with linear attention, such that with high probability over the weights the "
        "first distinguishes the datasets and the second does not.",
        claims=("theorem-1.1",),
    ),
    Statement(
        "theorem-1.2",
        "Section 1.1",
        "theorem",
        "The same for cross-attention, with two datasets in R^(2n x d).",
        claims=("theorem-1.2",),
    ),
    Statement(
        "roadmap",
        "Section 2, roadmap",
        "sentence",
        "The experiments of Section 7 show the robustness of the theoretical results.",
        claims=("experiments-robust",),
        beside=("theorem-6.2-experiment", "lemma-5-experiment", "theorem-6.2-mended"),
    ),
    Statement(
        "lemma-3.1",
        "Section 3.1",
        "lemma",
        "Hoeffding: for independent X_i in [a_i, b_i] the sum differs from its mean by t or more "
        "with probability at most 2 exp(−2 t² / Σ (b_i − a_i)²).",
        claims=("lemma-3.1",),
    ),
)

_DEFINITIONS = tuple(
    Statement(id, where, "figure" if where.startswith("Figure") else "definition", text, reason=why)
    for id, where, text, why in (
        ("definition-3.2", "Section 3.2", "f_lin = A x / <A x, 1>.", DEFINES),
        (
            "definition-3.3",
            "Section 3.2",
            "f_exp = exp(A x) / <exp(A x), 1>.",
            DEFINES,
        ),
        ("definition-3.4", "Section 3.2", "φ_τ(z) = max(z − τ, 0).", DEFINES),
        (
            "definition-3.5",
            "Section 3.2",
            "F_exp = φ(Σ_j φ_τ(⟨f_exp, y_j⟩)) with a parameter τ > 0.",
            f"{DEFINES} The value of τ is left open.",
        ),
        (
            "definition-3.6",
            "Section 3.2",
            "F_lin = φ(Σ_j φ_τ(⟨f_lin, y_j⟩)).",
            f"{DEFINES} It is printed under the name F_exp.",
        ),
        ("figure-1", "Figure 1", "The network of Section 4, m = O(log n).", DRAWS),
        ("figure-2", "Figure 2", "The network for self-attention.", DRAWS),
        (
            "definition-3.7",
            "Section 3.2",
            "m = C log(n/δ) with a constant C > 1, and y_1..y_m independent random signs.",
            DEFINES,
        ),
        (
            "definition-3.8",
            "Section 3.3",
            "D0: every (A x)_i lies in [log n, 1.4 log n]. D1: one of them is 4 log n.",
            DEFINES,
        ),
    )
)

_LEMMAS = (
    Statement(
        "lemma-4.1-1",
        "Section 4, Lemma 4.1, part 1",
        "lemma",
        "There is a constant C such that for every δ in (0, 0.1) and every A in D0, "
        "|⟨f_lin, σ⟩| ≤ C √(log(n/δ)) / √n with probability 1 − δ/poly(n).",
        claims=("lemma-4.1-linear",),
        beside=("sign-sums-rate",),
    ),
    Statement(
        "lemma-4.1-2",
        "Section 4, Lemma 4.1, part 2",
        "lemma",
        "There is a constant C such that for every δ in (0, 0.1) and every A in D0, "
        "|⟨f_exp, σ⟩| ≤ C √(log(n/δ)) / n^0.1 with probability 1 − δ/poly(n).",
        claims=("lemma-4.1-softmax",),
        beside=("lemma-4.1-softmax-vacuous",),
    ),
    Statement(
        "lemma-4.1-proof",
        "Section 4, proof of Lemma 4.1",
        "sentence",
        "On D0 no entry of f_lin is larger than 2/n, and none of f_exp larger than n^-0.6.",
        claims=("lemma-4.1-entries",),
    ),
    Statement(
        "lemma-4.2-1",
        "Section 4, Lemma 4.2, part 1",
        "lemma",
        "There is a constant C such that for every δ in (0, 0.1) and every A in D1, "
        "|⟨f_lin, σ⟩| ≤ C √(log(n/δ)) / n with probability 1 − δ/poly(n).",
        claims=("lemma-4.2-linear",),
    ),
    Statement(
        "lemma-4.2-2",
        "Section 4, Lemma 4.2, part 2",
        "lemma",
        "For every A in D1 and every σ, |⟨f_exp, σ⟩| ≥ 1/4.",
        claims=("lemma-4.2-softmax",),
    ),
    Statement(
        "lemma-4.2-3",
        "Section 4, Lemma 4.2, part 3",
        "lemma",
        "For every A in D1, ⟨f_exp, σ⟩ is positive with probability 1/2 and negative with 1/2.",
        claims=("lemma-4.2-sign",),
    ),
    Statement(
        "lemma-4.2-proof",
        "Section 4, proof of Lemma 4.2",
        "sentence",
        "On D1 the entries of f_lin are at most 4/n; f_exp is at least 1/2 at the spike and at "
        "most n^-2.6 elsewhere; 1/2 − (n − 1) n^-2.6 ≥ 1/4 for n ≥ 4.",
        claims=("lemma-4.2-entries",),
    ),
    Statement(
        "lemma-5.1",
        "Section 5.1",
        "lemma",
        "For every A in D0, F_exp(A) = 0 with probability at least 1 − δ/poly(n).",
        claims=("lemma-5.1",),
    ),
    Statement(
        "lemma-5.1-each-neuron",
        "Section 5, proofs of Lemmas 5.1, 5.3 and 5.4",
        "sentence",
        "For each l, Lemma 4.1 part 2 gives φ_τ(⟨f_exp, y_l⟩) = 0 on D0, Lemma 4.1 part 1 "
        "φ_τ(⟨f_lin, y_l⟩) = 0 on D0, and Lemma 4.2 part 1 the same on D1.",
        claims=("lemma-5.1-one-neuron",),
    ),
    Statement(
        "lemma-5.1-proof",
        "Section 5, proofs of Lemmas 5.1, 5.3 and 5.4",
        "sentence",
        "Because m ≤ δ/poly(n), a union bound over the m neurons is allowed.",
        claims=("lemma-5.1-union-bound",),
    ),
    Statement(
        "lemma-5.2",
        "Section 5.1",
        "lemma",
        "For every A in D1, F_exp(A) > 0 with probability at least 1 − δ/poly(n).",
        claims=("lemma-5.2",),
    ),
    Statement(
        "lemma-5.2-proof",
        "Section 5.1, proof of Lemma 5.2",
        "sentence",
        "By parts 2 and 3 of Lemma 4.2, φ_τ(⟨f_exp, y_l⟩) > 1/4 with probability 1/2 for each l; "
        "the l are independent, so that some l has this with probability 1 − (1/2)^m ≥ "
        "1 − δ/poly(n).",
        claims=("lemma-5.2-one-neuron", "lemma-5.2"),
    ),
    Statement(
        "lemma-5.3",
        "Section 5.2",
        "lemma",
        "For every A in D0, F_lin(A) = 0 with probability at least 1 − δ/poly(n).",
        claims=("lemma-5.3",),
    ),
    Statement(
        "lemma-5.4",
        "Section 5.2",
        "lemma",
        "For every A in D1, F_lin(A) = 0 with probability at least 1 − δ/poly(n).",
        claims=("lemma-5.4",),
    ),
)

_MAIN = (
    Statement(
        "definition-6.1",
        "Section 6",
        "definition",
        "a0 in (0, 0.1), a1 ≥ 0.7, b + c = 1, b and c ≥ 0.1, n = (d − 2) t; in units of "
        "√(log n) the columns are a spike a0 (D0) or a1 (D1) in one row, stacked identities "
        "times b, and a constant c.",
        reason=f"{DEFINES} a1 has no upper limit. Whether D0 and D1 have their spike in the same "
        "row is left open.",
    ),
    Statement(
        "theorem-6.2",
        "Section 6",
        "theorem",
        "For τ = (c + 0.1) √(log n), d from ω(n^0.02) to n, m = O(log(n/δ)) and "
        "x the vector of ones, each with probability 1 − δ/poly(n): for every input of D1, "
        "F_exp > 0 and F_exp = 0, and for every input of D0, F_lin = 0 and F_lin = 0 (as printed).",
        claims=("theorem-6.2",),
        beside=(
            "theorem-6.2-constant",
            "theorem-6.2-dimension",
            "theorem-6.2-spike-limit",
            "theorem-6.2-identity",
        ),
    ),
    Statement(
        "success",
        "Sections 7.1 and 7.2",
        "definition",
        "E_success: F_exp > 0 and F_lin = 0 on D1, and F_exp = F_lin = 0 on D0.",
        reason=DEFINES,
    ),
    Statement(
        "section-7",
        "Section 7",
        "sentence",
        "Softmax regression, self-attention and cross-attention were simulated.",
        reason="A report of what was done; the results for cross-attention are in Section F.",
    ),
)

_END = (
    Statement(
        "conclusion",
        "Section 8",
        "sentence",
        "Networks with softmax attention distinguish certain datasets better than those with "
        "linear attention, for self-attention and for cross-attention.",
        claims=("theorem-1.1", "theorem-1.2"),
    ),
    Statement(
        "fact-a.1",
        "Appendix A",
        "fact",
        "vec(exp(A_1 QK^T A_2^T)) = exp(A vec(QK^T)) with A = A_1 (x) A_2.",
        claims=("fact-a.1",),
    ),
    Statement(
        "definition-c.1",
        "Appendix C.1",
        "definition",
        "Linear attention by the blocks of A = A_1 (x) A_2, and its output c_lin.",
        reason=DEFINES,
    ),
    Statement(
        "definition-c.2",
        "Appendix C.1",
        "definition",
        "F_lin of three matrices: the sum of φ_τ(<c_lin, y_l>) over rows and neurons.",
        reason=DEFINES,
    ),
    Statement("figure-6", "Figure 6", "figure", "The attention computation.", reason=DRAWS),
    Statement(
        "claim-c.3",
        "Appendix C.1",
        "claim",
        "u_lin(A, x)_j is row j of A_1 QK^T A_2^T, and alpha_lin(A, x)_j its sum.",
        claims=("claim-c.3",),
    ),
    Statement(
        "definition-c.4",
        "Appendix C.2",
        "definition",
        "Softmax attention by the blocks of A = A_1 (x) A_2, and its output c_exp.",
        reason=DEFINES,
    ),
    Statement(
        "claim-c.5",
        "Appendix C.2",
        "claim",
        "u_exp(A, x)_j is the exponential of row j of A_1 QK^T A_2^T, and alpha_exp(A, x)_j the "
        "sum of exp((A_1)_j QK^T A_2)^T (as printed).",
        claims=("claim-c.5",),
    ),
    Statement(
        "definition-c.6",
        "Appendix C.2",
        "definition",
        "F_exp of three matrices: the sum of φ_τ(<c_exp, y_l>) over rows and neurons.",
        reason=f"{DEFINES} The signs are printed as n x m and are d x m.",
    ),
)

STATEMENTS = (
    *_FRONT,
    *_DEFINITIONS,
    *_LEMMAS,
    *_MAIN,
    *PANEL_STATEMENTS,
    *_END,
)
