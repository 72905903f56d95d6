"""The statements of the appendices, with the claims that judge them.

Source: Vladymyrov et al. (arXiv 2402.14180).
"""

from __future__ import annotations

from attnlab.lab.study import Statement

APPENDIX = (
    Statement(
        "lemma-a.1",
        "Appendix A.2",
        "lemma",
        "With diagonal weights α of layer l is (M + a u w*ᵀ) Σ (a w* − w) + a ρ u, from which the "
        "matrices of Lemma 4.4 follow.",
        ("lemma-a.1",),
    ),
    Statement(
        "theorem-4.2-rate",
        "Appendix A.3",
        "sentence",
        "With high probability the cosine similarity of Theorem 4.2 is at most "
        "O(1) (√n + √(n d))/n.",
        ("theorem-4.2-rate",),
    ),
    Statement(
        "lemma-a.2",
        "Appendix A.4",
        "lemma",
        "If the eigenvalues of Σ are between 1 and 1 + ε, then Σ y_i x_i is within ε |w*| of the "
        "least squares solution w*.",
        ("lemma-a.2",),
        ("lemma-a.2-best-step",),
    ),
    Statement(
        "lemma-a.3",
        "Appendix A.4",
        "lemma",
        "With γ ν = 1/3 a condition number κ ≥ 1.1 becomes at most c κ with a constant c < 1, and "
        "1 + ε with ε ≤ 0.1 becomes at most 1 + 2 ε².",
        ("lemma-a.3",),
    ),
    Statement(
        "lemma-a.3-series",
        "Appendix A.4",
        "sentence",
        "Next to 1 it becomes 1 + 3/4 ε² − 5/4 ε³ + O(ε⁴).",
        ("lemma-a.3-series",),
    ),
    Statement(
        "theorem-5.1-proof",
        "Appendix A.4",
        "sentence",
        "In O(log κ + log log 1/ε) iterations the condition number is reduced to κ' ≤ 1 + ε/(2κ), "
        "and one gradient step of size 1/μ' then has an error of at most "
        "(κ' − 1) √κ √κ' |w*| |x_t| ≤ ε |w*| |x_t|.",
        ("theorem-5.1-proof",),
    ),
    Statement(
        "theorem-5.2-proof",
        "Appendix A.5",
        "sentence",
        "After the first layer w¹ = ω_yx Σ y_i x_i; ω_yx and ω_yy with "
        "(1 + n σ² ω_yy) ω_yx = 1/(1 + σ²) at σ₁ and at σ₂ always exist.",
        ("theorem-5.2-proof",),
    ),
    Statement(
        "figure-5",
        "Appendix B, caption of Figure 5",
        "figure",
        "On U(0,5) the loss of the prediction read after K layers falls with every layer.",
        ("figure-5",),
        ("figure-5-at-the-end",),
    ),
    Statement(
        "figure-6",
        "Appendix B, Figure 6",
        "figure",
        "Without the adjustment it is hardly possible to compare methods over noise levels.",
        ("figure-6",),
    ),
    Statement(
        "figure-7-gd",
        "Appendix B, Figure 7",
        "figure",
        "Early layers of GD++ model higher noise, and later ones converge to lower noise.",
        ("figure-7-gd",),
    ),
    Statement(
        "figure-7-diag",
        "Appendix B, Figure 7",
        "figure",
        "DIAG does so at first and then improves greatly, above all at low noise.",
        ("figure-7-diag",),
    ),
    Statement(
        "figure-7-full",
        "Appendix B, Figure 7",
        "figure",
        "FULL first improves low noise, followed by a decline of the accuracy at higher noise, "
        "especially in the last layer.",
        ("figure-7-full",),
        ("figure-7-full-decline",),
    ),
    Statement(
        "table-1-gd",
        "Table 1, GD++",
        "table",
        "The adjusted losses of GD++ on ten noise laws with one to seven layers.",
        ("table-1-gd", "table-1-gd-reproduced"),
        ("gd-floor", "gd-paper-recipe"),
    ),
    Statement(
        "table-1-diag",
        "Table 1, DIAG",
        "table",
        "The adjusted losses of DIAG on ten noise laws with one to seven layers.",
        ("table-1-diag",),
        ("diag-paper-recipe",),
    ),
    Statement(
        "table-1-full",
        "Table 1, FULL",
        "table",
        "The adjusted losses of FULL on ten noise laws with one to seven layers.",
        ("table-1-full",),
        (
            "full-paper-recipe",
            "full-grown",
            "printed-recipe-tails",
            "full-from-diag",
            "table-1-axis",
            "axis-beats-papers-full",
            "axis-beats-full",
            "bayes-uniform-5",
            "bayes-categorical-1-3",
        ),
    ),
    Statement(
        "table-1-one-layer",
        "Table 1, one layer",
        "table",
        "The adjusted losses of one layer of the three models.",
        ("table-1-one-layer",),
        ("one-layer-law",),
    ),
    Statement(
        "table-1-noiseless",
        "Table 1, σ = 0",
        "table",
        "The adjusted losses of three to seven layers without noise.",
        ("table-1-noiseless", "table-1-noiseless-others"),
        ("noiseless-evaluations",),
    ),
    Statement(
        "table-1-ridges",
        "Table 1, baselines",
        "table",
        "The adjusted losses of CONSTRR, ADARR and TUNEDRR on ten noise laws.",
        ("table-1-ridges",),
        ("bayes-floor",),
    ),
)
