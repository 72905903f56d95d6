"""Every statement of the paper in its order, Sections 1 to 5, with the claims that judge it.

Source: Vladymyrov et al. (arXiv 2402.14180). Sections 6 and 7 are in
`statements_experiments`, the appendices in `statements_appendix`.
"""

from __future__ import annotations

from attnlab.lab.study import Statement
from attnlab.linear.study.statements_appendix import APPENDIX
from attnlab.linear.study.statements_experiments import EXPERIMENTS

DEFINITION = "A definition."
OTHERS = "A report of the work of others."
INTRODUCTION = (
    Statement(
        "abstract-weights",
        "Abstract, Sections 1 and 7",
        "sentence",
        "Every layer of every linear transformer keeps the weight vector of an implicit linear "
        "regression.",
        ("theorem-4.1",),
    ),
    Statement(
        "abstract-descent",
        "Abstract, Sections 1 and 7",
        "sentence",
        "With diagonal weights the layers are a variant of preconditioned gradient descent with "
        "momentum.",
        ("lemma-4.4", "momentum-gradient"),
    ),
    Statement(
        "abstract-baselines",
        "Abstract",
        "sentence",
        "Where the training data have different levels of noise, linear transformers discover an "
        "algorithm that surpasses or matches many reasonable baselines.",
        ("surpasses-many-baselines", "tuned-categorical-1-3", "tuned-categorical-1-3-5"),
    ),
    Statement(
        "introduction-baselines",
        "Sections 1 and 7",
        "sentence",
        "Training a linear transformer on uniform and on categorical noise leads to an algorithm "
        "that outperforms GD++ as well as various baselines derived from the exact closed-form "
        "solution of ridge regression.",
        ("outperforms-full",),
    ),
    Statement(
        "abstract-rescaling",
        "Abstract, Sections 1 and 7",
        "sentence",
        "The algorithm that they find combines momentum with steps and a rescaling that adapt to "
        "the noise.",
        ("found-algorithm", "lemma-4.4", "y-rescaling", "section-5.3-adapts"),
        ("found-algorithm-together",),
    ),
    Statement(
        "introduction-second-order",
        "Section 1",
        "sentence",
        "The preconditioning of GD++ makes it a second-order method.",
        ("theorem-5.1",),
    ),
    Statement(
        "introduction-diagonal",
        "Section 1",
        "sentence",
        "This result holds even when a linear transformer is trained with diagonal weight "
        "matrices.",
        ("outperforms-diag",),
    ),
    Statement(
        "introduction-others",
        "Sections 1, 2.3 and 3",
        "remark",
        "Earlier work trains transformers on regression and finds gradient descent in them.",
        reason=OTHERS,
    ),
)

PRELIMINARIES = (
    Statement(
        "equation-1",
        "Section 2.1, Equations (1) and (3)",
        "definition",
        "A layer of linear attention with several heads adds to every token what its heads read "
        "from the n context tokens.",
        reason=DEFINITION,
    ),
    Statement(
        "equation-2",
        "Section 2.1, Equation (2)",
        "sentence",
        "The four matrices of a head act only through P = W_P W_V and Q = W_Kᵀ W_Q.",
        ("equation-2",),
    ),
    Statement(
        "definition-models",
        "Sections 2.1 and 6",
        "definition",
        "FULL has any matrices, DIAG diagonal ones, GD++ diagonal ones with q_y = 0; all have one "
        "head.",
        reason=DEFINITION,
    ),
    Statement(
        "definition-problem",
        "Sections 2.1 to 2.3",
        "definition",
        "Tokens, the query, the noisy regression problem, least squares, and a noise level that is "
        "fixed or drawn for each sequence.",
        reason=DEFINITION,
    ),
    Statement(
        "query-noise",
        "Section 2.2",
        "sentence",
        "Noise in the label of the query only adds a constant to the loss.",
        ("query-noise",),
    ),
    Statement(
        "equation-5",
        "Section 2.2, Equation (5)",
        "sentence",
        "For a known noise level σ the best estimate of w is ridge with the constant σ².",
        ("equation-5",),
    ),
    Statement(
        "gd-single-variance",
        "Section 2.3",
        "sentence",
        "On mixed noise GD++ fails to model the noise level and converges to an estimate of a "
        "single variance for all sequences.",
        ("gd-is-constrr", "gd-profile"),
        ("gd-floor",),
    ),
)

STATE = (
    Statement(
        "theorem-4.1",
        "Section 4",
        "theorem",
        "For any weights and every layer l there are M, u, w and a such that the tokens after "
        "layer l are x_i = M x_i⁰ + y_i⁰ u and y_i = a y_i⁰ − ⟨w, x_i⁰⟩, and M x_t, −⟨w, x_t⟩ for "
        "the query.",
        ("theorem-4.1",),
    ),
    Statement(
        "state-not-linear",
        "Section 4",
        "sentence",
        "M, u, w and a are not linear in the input.",
        ("state-not-linear",),
    ),
    Statement(
        "theorem-4.2",
        "Section 4 and Appendix A.3",
        "theorem",
        "For labels w·x_i and n much larger than d, the labels of any layer have with high "
        "probability a cosine similarity of at most 0.1 with (x_i(1)²).",
        ("theorem-4.2",),
    ),
    Statement(
        "lemma-4.3",
        "Section 4 and Appendix A.1",
        "lemma",
        "M, u, w and a of the next layer follow from A, b, c and d, the blocks of "
        "Σ_k P_k (Σ_j e_j e_jᵀ) Q_k.",
        ("lemma-4.3",),
    ),
    Statement(
        "lemma-4.4",
        "Section 4",
        "lemma",
        "With diagonal weights u' = (I − Λ) u + Γ Σ (a w* − w) and w' = (1 + s) w − "
        "Π Σ (a w* − w) − Φ u, for matrices and numbers that depend on the state.",
        ("lemma-4.4",),
    ),
    Statement(
        "momentum",
        "Section 4",
        "sentence",
        "Σ (a w* − w) is proportional to the gradient of Σ_i (a y_i − ⟨w, x_i⟩)², so that the "
        "updates are like gradient descent with momentum.",
        ("momentum-gradient", "lemma-4.4"),
    ),
)

DIAGONAL = (
    Statement(
        "very-accurate",
        "Section 5",
        "sentence",
        "Empirically, linear transformers can solve linear regression with mixed noise variance "
        "very accurately.",
        ("very-accurate",),
    ),
    Statement(
        "diagonal-weights",
        "Section 5",
        "sentence",
        "Trained on mixed noise, FULL has weights that are diagonal-heavy, with some low-rank "
        "part.",
        ("near-diagonal", "low-rank-part"),
    ),
    Statement(
        "diagonal-loss",
        "Section 5",
        "sentence",
        "The loss stays about the same when Q and P are diagonal.",
        ("full-diag-uniform",),
        ("symmetry-broken",),
    ),
    Statement(
        "equation-8",
        "Section 5, Equation (8)",
        "definition",
        "Diagonal P and Q that treat all inputs alike, since the law of the inputs is invariant "
        "under permutations, have four numbers per head.",
        reason=DEFINITION,
    ),
    Statement(
        "equation-9",
        "Section 5, Equation (9)",
        "definition",
        "ω_xx, ω_xy, ω_yx and ω_yy of a layer are the sums over its heads of products of these "
        "numbers.",
        reason=DEFINITION,
    ),
    Statement(
        "equation-10",
        "Section 5, Equation (10)",
        "sentence",
        "A layer of diagonal heads acts only through the four omegas.",
        ("equation-10",),
    ),
    Statement(
        "more-heads",
        "Section 5",
        "sentence",
        "Because four numbers capture any number of heads, more heads add little.",
        ("more-heads-same", "more-heads"),
    ),
    Statement(
        "one-head",
        "Section 5",
        "sentence",
        "With one head ω_xx ω_yy = ω_xy ω_yx always; with more heads there is no such restriction.",
        ("one-head-constraint",),
    ),
    Statement(
        "one-head-powerful",
        "Section 5",
        "sentence",
        "Models with one head are quite powerful nevertheless.",
        ("four-layers-beat-adarr-diag",),
    ),
    Statement(
        "equation-11",
        "Section 5.1, Equation (11)",
        "sentence",
        "In GD++ the update of x preconditions and the update of y is gradient descent.",
        ("equation-11",),
    ),
    Statement(
        "theorem-5.1",
        "Section 5.1 and Appendix A.4",
        "theorem",
        "For eigenvalues of Σ with condition number κ there are weights of GD++ whose output is "
        "within ε |x_t| |w*| of ⟨x_t, w*⟩ after O(log κ + log log 1/ε) layers.",
        ("theorem-5.1",),
    ),
    Statement(
        "newton",
        "Section 5.1",
        "sentence",
        "The rate O(log log 1/ε) is usually reached by second-order methods only, such as "
        "Newton's.",
        ("newton",),
    ),
    Statement(
        "rescaling",
        "Section 5.2",
        "sentence",
        "A layer with ω_yy alone multiplies every y by 1 + ω_yy λ, and ω_yy < 0 shrinks the output "
        "more where the labels are larger.",
        ("y-rescaling",),
    ),
    Statement(
        "ridge-rescaled",
        "Section 5.2",
        "sentence",
        "Where Σ ≈ n I, ridge is about n/(n + σ²) times the least squares solution, a factor that "
        "falls as the noise grows.",
        ("ridge-rescaled-ols",),
    ),
    Statement(
        "theorem-5.2",
        "Section 5.2 and Appendix A.5",
        "theorem",
        "For x_i ~ N(0, I/n) and two noise levels there are two layers, the first with ω_yx alone "
        "and the second with ω_yy alone, whose w tends to the best ridge at both as n → ∞.",
        ("theorem-5.2",),
        ("theorem-5.2-third-level",),
    ),
    Statement(
        "step-first-layer",
        "Section 5.3",
        "sentence",
        "A layer with ω_xy alone maps x_i to (I + ω_xy Σ w* w*ᵀ) x_i + ω_xy r_i Σ w*.",
        ("section-5.3-first-layer",),
    ),
    Statement(
        "step-size",
        "Section 5.3",
        "sentence",
        "For simplicity the multiplicative term is assumed to be small, "
        "x_i¹ ≈ x_i + ω_xy r_i Σ w*; then ω_xy in layer 1 and ω_yx in layer 2 give "
        "y_t² ≈ y_t + ω_yx (1 + ω_xy Σ r_i²) (Σ w*)ᵀ x_t, a gradient step of size "
        "−ω_yx (1 + ω_xy Σ r_i²).",
        ("section-5.3",),
    ),
    Statement(
        "step-adapts",
        "Section 5.3",
        "sentence",
        "With negative ω_xy and ω_yx the step is smaller where there is more noise.",
        ("section-5.3-adapts",),
    ),
)

STATEMENTS = (*INTRODUCTION, *PRELIMINARIES, *STATE, *DIAGONAL, *EXPERIMENTS, *APPENDIX)
