"""Every statement of the paper in its order, and the claims that judge it.

Source: Demir, Dogan, "Asymptotic Study of In-Context Learning with Random Transformers through
Equivalent Models" (arXiv 2509.15152). The sentences are ours.
"""

from __future__ import annotations

from attnlab.lab.study import Statement
from attnlab.random.study.statements_figures import FIGURE_1, FIGURE_2

DEFINES = "A definition: it fixes what the words mean and asserts nothing."
FIGURES = ("1a", "1b", "2a", "2b", "2c")
MATCHES = tuple(f"theorem-3-fig-{figure}" for figure in FIGURES)
DEGREES = ("theorem-3-degree-1", "theorem-3-degree-2", "theorem-3-degree-4")
REFINED_DEGREES = ("refinement-degree-1", "refinement-degree-2", "refinement-degree-4")

INTRODUCTION = (
    Statement(
        "abstract-equivalence",
        "Abstract; Section 1, contribution 1",
        "sentence",
        "In the limit in which context length, dimension, width, tasks and samples grow together, "
        "a random transformer with an MLP head has the in-context error of a Hermite polynomial "
        "model of finite degree.",
        ("theorem-3",),
    ),
    Statement(
        "abstract-validated",
        "Abstract",
        "sentence",
        "Simulations confirm the equivalence for several activations, context lengths, widths and "
        "regularisations.",
        MATCHES,
        tuple(f"refinement-fig-{figure}" for figure in FIGURES),
    ),
    Statement(
        "conditions-activation",
        "Section 1, condition (i)",
        "sentence",
        "The MLP improves learning in context if its activation is well chosen.",
        ("fig-1a-relu-beats-linear",),
        ("intercept-control",),
    ),
    Statement(
        "conditions-length",
        "Section 1, condition (ii)",
        "sentence",
        "The MLP improves learning in context if the context is long enough.",
        ("fig-2a-mlp-gains-beyond",),
    ),
    Statement(
        "conditions-width",
        "Section 1, condition (iii)",
        "sentence",
        "The MLP improves learning in context if its width is well chosen or it is well "
        "regularised.",
        ("width-or-ridge-suffices",),
    ),
    Statement(
        "introduction-double-descent",
        "Section 1",
        "sentence",
        "The in-context error of a transformer with an MLP can be non-monotone in the complexity "
        "of the model (double descent).",
        ("double-descent",),
    ),
    Statement(
        "contribution-conditions",
        "Section 1, contribution 2",
        "sentence",
        "The paper characterises the conditions under which a transformer with an MLP is better "
        "than one without: those on activation, length, and width or regularisation.",
        ("fig-1a-relu-beats-linear", "fig-2a-mlp-gains-beyond", "width-or-ridge-suffices"),
    ),
    Statement(
        "contribution-regularisation",
        "Section 1, contribution 3",
        "sentence",
        "Suitable regularisation mitigates the non-monotone behaviour of the error.",
        ("double-descent-regularised",),
        ("peak-rate",),
    ),
    Statement(
        "related-work",
        "Section 2",
        "remark",
        "Earlier work studies attention without MLPs, classification, or MLPs before attention.",
        reason="A survey of other papers.",
    ),
)

SETTING = (
    Statement(
        "problem",
        "Section 3, (1) to (3)",
        "definition",
        "Single-index regression in context: inputs, tasks and noise are Gaussian, and a prompt "
        "is the matrix Z of labelled pairs and a query.",
        reason=DEFINES,
    ),
    Statement(
        "linear-attention",
        "Section 3, (4) and (5)",
        "definition",
        "Linear attention A = Z + V Z (K Z)^T (Q Z) / l answers with the last entry of its last "
        "row.",
        reason=DEFINES,
    ),
    Statement(
        "reduction",
        "Section 3, (6)",
        "sentence",
        "The answer of linear attention can be written as the inner product of a matrix Γ with H.",
        ("attention-reduction",),
    ),
    Statement(
        "ridge-factor",
        "Section 3, after (6)",
        "sentence",
        "The factor n/d keeps the regularisation by λ meaningful in the limit.",
        ("ridge-scaling",),
        ("ridge-scaling-transformer",),
    ),
    Statement(
        "transformer",
        "Section 3, (7)",
        "definition",
        "The transformer answers w^T σ(F^T vec H), with F random and fixed and w trained by ridge "
        "regression.",
        reason=DEFINES,
        beside=("implicit-ridge", "never-beats-linear"),
    ),
    Statement(
        "icl-error",
        "Section 3, (8)",
        "definition",
        "The in-context error is the expected square error over fresh tasks and prompts.",
        reason=DEFINES,
    ),
    Statement(
        "regime",
        "Section 4",
        "sentence",
        "The scalings with l/d, k/d and n/d² fixed are those that Lu et al. identified for "
        "learning in context by linear attention.",
        ("lu-icl",),
        ("lu-idg", "lu-nonlinear-target", "law-reduces-to-lu"),
    ),
    Statement(
        "regime-width",
        "Section 4",
        "remark",
        "With m/n fixed the complexity of the model and the number of samples are comparable.",
        reason="A reason for a choice: m parameters and n samples of one order are comparable by "
        "definition.",
    ),
)

RESULTS = (
    Statement(
        "lemma-1",
        "Section 4, Lemma 1",
        "lemma",
        "If the entries of F are i.i.d. N(0, 1/t), t = tr Cov(vec H), then every pre-activation "
        "f_i^T vec(H) tends to N(0, 1) almost surely as l and d grow with l/d fixed.",
        ("lemma-1",),
        ("lemma-1-norms",),
    ),
    Statement(
        "lemma-1-scale",
        "Section 4, Lemma 1",
        "sentence",
        "With entries of variance 1/t the elements of F^T vec(H) have unit variance.",
        ("lemma-1-scale",),
    ),
    Statement(
        "lemma-1-proof",
        "Section 4, proof of Lemma 1, (10)",
        "sentence",
        "Given the prompt a pre-activation is N(0, |vec H|²/t), and |vec H|²/t concentrates at 1.",
        ("lemma-1-conditional", "lemma-1-concentration"),
        ("lemma-1-norms", "lemma-1-draws"),
    ),
    Statement(
        "corollary-2",
        "Section 4, Corollary 2",
        "corollary",
        "Given the task ξ, the pre-activations and ξ^T x_{l+1} tend to jointly Gaussian variables "
        "with mean 0.",
        ("corollary-2",),
    ),
    Statement(
        "asymptotic-equivalence",
        "Section 4, before Theorem 3",
        "definition",
        "Two models are asymptotically equivalent if their in-context errors have the same limit.",
        reason=DEFINES,
    ),
    Statement(
        "theorem-3",
        "Section 4, Theorem 3",
        "theorem",
        "Let d, n, m, l and k grow with l/d, k/d, n/d² and m/n fixed, and let σ and σ_* be "
        "Lipschitz with finite second moments. Then the transformer is asymptotically equivalent "
        "to a model of finite degree r, which depends on σ, with the same random weights.",
        ("theorem-3", "theorem-3-relu", "theorem-3-tanh"),
        (
            *DEGREES,
            "theorem-3-rescaled",
            "sign-beyond-theorem-3",
            "law-in-rescaled-prompts",
            *REFINED_DEGREES,
        ),
    ),
    Statement(
        "equivalent-model",
        "Section 4, (11) and (12)",
        "definition",
        "The equivalent model has the Hermite terms of σ up to degree r, and Gaussian noise c_r^* "
        "with the second moment of the rest.",
        reason=DEFINES,
        beside=("hermite-coefficients",),
    ),
    Statement(
        "small-degree",
        "Section 4, Theorem 3, last sentence",
        "sentence",
        "The degree r depends on σ and on the joint law of Corollary 2; empirically a small finite "
        "r suffices.",
        ("small-degree-suffices",),
        ("refinement-agrees", "refinement-idg", *DEGREES),
    ),
)

CONCLUSION = (
    Statement(
        "conclusion-equivalence",
        "Section 5",
        "sentence",
        "A random transformer with an MLP head is asymptotically equivalent to a polynomial model "
        "of finite degree.",
        ("theorem-3",),
    ),
    Statement(
        "conclusion-scope",
        "Section 5",
        "remark",
        "The theory delimits where non-linear features improve on linear attention.",
        reason="A summary: it states no limits of its own beyond the sentences on the figures.",
    ),
    Statement(
        "conclusion-nonlinear",
        "Section 5, (i)",
        "sentence",
        "The MLP significantly reduces the in-context error where the target is not linear.",
        ("nonlinear-target-gains",),
    ),
    Statement(
        "conclusion-length",
        "Section 5, (ii)",
        "sentence",
        "The MLP is of use only where the context is longer than a threshold that grows with d.",
        ("fig-2a-mlp-gains-beyond", "fig-2a-mlp-needs-length"),
    ),
    Statement(
        "conclusion-double-descent",
        "Section 5, (iii)",
        "sentence",
        "The error shows double descent, which regularisation mitigates.",
        ("double-descent", "double-descent-regularised"),
    ),
    Statement(
        "future-work",
        "Section 5",
        "remark",
        "Several heads, deeper MLPs and adaptive regularisation are left for later.",
        reason="A remark about future work.",
    ),
)

STATEMENTS = (*INTRODUCTION, *SETTING, *RESULTS, *FIGURE_1, *FIGURE_2, *CONCLUSION)
