"""What the paper says about its two figures, in its order; `statements` has the rest."""

from __future__ import annotations

from attnlab.lab.study import Statement

FIGURE_1 = (
    Statement(
        "figure-1a",
        "Figure 1(a)",
        "figure",
        "Error against n for a ReLU target, d = 80, l = d, k = d/2, m = d², λ = 1e-8: the "
        "equivalent models, of a degree that is not given, lie on the curves of the ReLU and the "
        "tanh transformer.",
        ("theorem-3-fig-1a",),
        ("refinement-fig-1a", "constant-predictor"),
    ),
    Statement(
        "figure-1b",
        "Figure 1(b)",
        "figure",
        "The same for a tanh target.",
        ("theorem-3-fig-1b",),
        ("refinement-fig-1b", "constant-predictor"),
    ),
    Statement(
        "figure-1-trend",
        "Section 4, on Figure 1",
        "sentence",
        "The error is not monotone in n.",
        ("fig-1-not-monotone",),
    ),
    Statement(
        "figure-1-cause",
        "Section 4, on Figure 1",
        "sentence",
        "The reason is that the regularisation constant is relatively small.",
        ("fig-1-small-ridge",),
    ),
    Statement(
        "figure-1-match",
        "Section 4, on Figure 1",
        "sentence",
        "The errors of the equivalent models match those of the transformers; the text gives no "
        "degree.",
        ("theorem-3-fig-1a", "theorem-3-fig-1b"),
    ),
    Statement(
        "figure-1-activations",
        "Section 4, on Figure 1",
        "sentence",
        "The error depends on how the activation and the target are related by their Hermite "
        "coefficients.",
        ("matching-activation",),
        ("matching-by-samples",),
    ),
    Statement(
        "figure-1a-relu",
        "Section 4, on Figure 1(a)",
        "sentence",
        "For a ReLU target the ReLU transformer has a smaller error than the linear one at every "
        "n.",
        ("fig-1a-relu-beats-linear",),
    ),
    Statement(
        "figure-1a-nonlinear",
        "Section 4, on Figure 1(a)",
        "sentence",
        "This gap shows the benefit of processing features non-linearly.",
        ("fig-1a-nonlinear-benefit",),
        ("intercept-control",),
    ),
    Statement(
        "figure-1a-tanh",
        "Section 4, on Figure 1(a)",
        "sentence",
        "For a ReLU target the tanh transformer improves little or not on the linear one.",
        ("fig-1a-tanh-hardly",),
    ),
    Statement(
        "figure-1a-sensitive",
        "Section 4, on Figure 1(a)",
        "sentence",
        "The effectiveness of the non-linear head is very sensitive to the choice of the "
        "activation.",
        ("activation-sensitive",),
    ),
    Statement(
        "figure-1b-reduced",
        "Section 4, on Figure 1(b)",
        "sentence",
        "For a tanh target the MLP gains less than for a ReLU target.",
        ("fig-1b-gain-reduced",),
    ),
    Statement(
        "figure-1b-slight",
        "Section 4, on Figure 1(b)",
        "sentence",
        "For a tanh target the tanh transformer is slightly better than the linear one.",
        ("fig-1b-little-gained",),
    ),
    Statement(
        "figure-1-matching",
        "Section 4, on Figure 1",
        "sentence",
        "The MLP helps most where its activation matches or complements the target.",
        ("matching-activation",),
        ("matching-by-samples",),
    ),
)

FIGURE_2 = (
    Statement(
        "figure-2a",
        "Figure 2(a)",
        "figure",
        "Error against l for a ReLU target, n = 1.5 d², m = d², λ = 1e-8: the error falls, and the "
        "equivalent models match.",
        ("fig-2a-falls-with-length", "theorem-3-fig-2a"),
        ("context-length-minimum", "refinement-fig-2a"),
    ),
    Statement(
        "figure-2b",
        "Figure 2(b)",
        "figure",
        "Error against m for l = d, λ = 1e-8: double descent, and the equivalent models match.",
        ("double-descent", "theorem-3-fig-2b"),
        ("refinement-fig-2b",),
    ),
    Statement(
        "figure-2c",
        "Figure 2(c)",
        "figure",
        "Error of the ReLU transformer against m for several λ: regularisation mitigates double "
        "descent, and the equivalent models match.",
        ("double-descent-regularised", "theorem-3-fig-2c"),
        ("refinement-fig-2c",),
    ),
    Statement(
        "figure-2a-falls",
        "Section 4, on Figure 2(a)",
        "sentence",
        "A longer context lowers the error of all models.",
        ("fig-2a-falls-with-length",),
        ("context-length-minimum",),
    ),
    Statement(
        "figure-2a-threshold",
        "Section 4, on Figure 2(a)",
        "sentence",
        "From a threshold of l of about d on, transformers with an MLP are significantly better "
        "than the linear one; the MLP needs contexts that long.",
        ("fig-2a-mlp-gains-beyond", "fig-2a-mlp-needs-length"),
    ),
    Statement(
        "figure-2a-higher-order",
        "Section 4, on Figure 2(a)",
        "remark",
        "Long contexts are necessary for the MLP to extract and use statistics of higher order.",
        reason="It names no quantity that the MLP would extract. By Theorem 3 with r = 1 none of "
        "higher order is used at any length: a model with the linear term alone has the same "
        "limit.",
        beside=("theorem-3-degree-1",),
    ),
    Statement(
        "figure-2b-under",
        "Section 4, on Figure 2(b)",
        "sentence",
        "Below the interpolation threshold m = n the error falls with m.",
        ("fig-2b-falls-with-width",),
    ),
    Statement(
        "figure-2b-peak",
        "Section 4, on Figure 2(b)",
        "sentence",
        "The error has a peak near m = n and falls again beyond it.",
        ("double-descent",),
        ("peak-rate",),
    ),
    Statement(
        "figure-2b-best",
        "Section 4, on Figure 2(b)",
        "sentence",
        "The best results are those of moderate over-parameterisation.",
        ("fig-2b-moderate-overparameterisation",),
    ),
    Statement(
        "figure-2c-ridge",
        "Section 4, on Figure 2(c)",
        "sentence",
        "The larger λ, the lower the peak and the more stable the curve: regularisation is what "
        "mitigates double descent.",
        ("double-descent-regularised", "fig-2c-more-stable"),
        ("peak-rate", "best-lambda"),
    ),
)
