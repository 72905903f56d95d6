"""The paper's statements of Section 7, its figures and its conclusion, in our words."""

from __future__ import annotations

from attnlab.lab.study import Statement

EXPERIMENTS = (
    Statement(
        "training-setting",
        "Section 7",
        "definition",
        "Encoders with H = d^c/r heads, RMSNorm and an MLP find, for each of N independent points, "
        "the farthest other one; 10⁵ batches of 256, AdamW, rate .01, warm-up and cosine.",
        reason="A description of the experiment.",
    ),
    Statement(
        "same-training",
        "Section 7",
        "sentence",
        "All experiments have the same rate 0.01 and 10⁵ batches of 256.",
        ("same-training",),
    ),
    Statement(
        "biases",
        "Section 7",
        "sentence",
        "Biases have little effect (preliminary experiments).",
        ("biases-little-effect",),
        beside=("without-perceptron",),
    ),
    Statement(
        "fresh-stream",
        "Section 7",
        "sentence",
        "Training and test use a stream of new samples that never repeats.",
        ("stream-never-repeats",),
        beside=("replayed-stream", "figure-1-memorised"),
    ),
    Statement(
        "figure-1-one-layer",
        "Figure 1, L = 1",
        "figure",
        "For L = 1 and all three widths full rank is necessary and sufficient to learn the target "
        "accurately; even 2d heads of rank d/2 fail.",
        ("figure-1-necessary", "figure-1-sufficient", "figure-1-half-rank"),
        beside=("figure-1-parameters-one-layer",),
    ),
    Statement(
        "figure-1-three-layers",
        "Figure 1, L = 3",
        "figure",
        "For L > 1 low rank does better than with one layer, and is still considerably worse than "
        "full rank, even with more parameters.",
        ("figure-1-depth", "figure-1-deep-low-rank"),
        beside=("figure-1-best-rate",),
    ),
    Statement(
        "figure-1-five-layers",
        "Figure 1, L = 5",
        "figure",
        "The standard five-layer model (d² parameters per layer) has difficulties in training.",
        ("figure-1-five-layers",),
        beside=("five-layers-best-rate", "five-layers-answer-0", "five-layers-published-start"),
    ),
    Statement(
        "figure-1-best-and-worst",
        "Figure 1",
        "sentence",
        "That case left out, the best model below full rank (L = 5, d³, r = 32) is no better than "
        "the worst one of full rank (L = 1, d², r = 64), with 80 times the parameters.",
        ("figure-1-parameters", "figure-1-eighty-times"),
    ),
    Statement(
        "one-head",
        "Section 7, on Figure 1",
        "sentence",
        "A standard transformer with H = 1 does much better than one with even moderately more "
        "heads.",
        ("figure-1-one-head",),
    ),
    Statement(
        "figure-2-angle",
        "Figure 2, first panel",
        "figure",
        "In single-layer models of full rank the median Frobenius angle of K_h Q_hᵀ to I is close "
        "to 180°, at H = 1, 8 and 64.",
        ("figure-2-identity",),
    ),
    Statement(
        "figure-2-norm",
        "Figure 2, second panel",
        "figure",
        "The norm of K_h Q_hᵀ is large, so that the softmax acts like a hardmax.",
        ("figure-2-norm",),
        beside=("one-head-softness",),
    ),
    Statement(
        "figure-2-deep",
        "Section 7, on Figure 2",
        "sentence",
        "Three layers with one full-rank head learn the same; with L > 1 and H > 1 the network "
        "learns something else.",
        ("figure-2-several-heads",),
    ),
    Statement(
        "figure-3-additive",
        "Figure 3",
        "figure",
        "Additive encodings fail completely to help low rank.",
        ("figure-3-additive",),
    ),
    Statement(
        "figure-3-one-layer",
        "Figure 3, left panel",
        "figure",
        "With L = 1 concatenated encodings do not help low rank either.",
        ("figure-3-one-layer",),
    ),
    Statement(
        "figure-3-three-layers",
        "Figure 3, right panel",
        "figure",
        "With L = 3 concatenated encodings improve low rank considerably.",
        ("figure-3-concatenated",),
        beside=("figure-3-padded",),
    ),
    Statement(
        "figure-4",
        "Figure 4",
        "figure",
        "With L = 2 and H = d²/r heads of full rank learn the target accurately for N = 4 to 256, "
        "and heads of low rank lose accuracy as N grows.",
        ("figure-4-full-rank", "figure-4-low-rank"),
    ),
    Statement(
        "conclusion",
        "Section 8",
        "sentence",
        "For a simple natural target low rank is fundamentally weaker than full rank even for "
        "H far above d/r, in theory for shallow models and in trained ones.",
        ("theorem-2-i", "figure-1-half-rank"),
    ),
    Statement(
        "open-questions",
        "Section 8",
        "remark",
        "Scaling laws of other hyperparameters, data without rotational symmetry, and the relation "
        "of rank, length and depth are open.",
        reason="Remarks about future work.",
    ),
)
