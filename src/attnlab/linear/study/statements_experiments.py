"""The statements of Sections 6 and 7, with the claims that judge them.

Source: Vladymyrov et al. (arXiv 2402.14180).
"""

from __future__ import annotations

from attnlab.lab.study import Statement

DEFINITION = "A definition."
UNIFORM = tuple(f"tuned-uniform-{high}" for high in range(1, 8))

SETTING = (
    Statement(
        "training",
        "Section 6",
        "definition",
        "Adam, 200,000 steps, rate 1e-4 (lowered where training is unstable), batches of 2,048, "
        "best of five seeds, n = 20, d = 10, 100,000 sequences for the evaluation.",
        reason="An account of what the authors did.",
    ),
    Statement(
        "adjusted-loss",
        "Section 6",
        "definition",
        "The adjusted loss is the loss minus that of ridge with the true noise level.",
        reason=DEFINITION,
    ),
    Statement(
        "noise-degrades",
        "Section 6",
        "sentence",
        "High noise degrades predictions greatly, so that losses must be adjusted to be compared.",
        ("noise-degrades",),
    ),
    Statement(
        "adjustment-constant",
        "Section 6",
        "sentence",
        "Subtracting the oracle's loss shifts the loss of every model by one constant, so that "
        "training is the same.",
        ("adjustment-constant",),
    ),
    Statement(
        "baselines",
        "Section 6",
        "definition",
        "CONSTRR, ADARR and TUNEDRR are ridge with one constant, with an estimate of the noise, "
        "and with that estimate cut off and scaled; they have an inverse that transformers lack.",
        reason=DEFINITION,
    ),
    Statement(
        "baselines-upper-bound",
        "Section 6",
        "sentence",
        "The three ridges, which may invert a matrix, are an upper bound on what a transformer can "
        "reach.",
        ("baselines-upper-bound",),
        ("bayes-floor",),
    ),
    Statement(
        "iterative-adarr",
        "Section 6",
        "sentence",
        "ADARR by gradient descent converges to ADARR only after about 100 iterations.",
        ("iterative-adarr",),
    ),
    Statement(
        "fewer-layers",
        "Section 6",
        "sentence",
        "Linear transformers typically converge in fewer than ten layers.",
        ("fewer-than-ten-layers",),
    ),
)

UNIFORM_NOISE = (
    Statement(
        "figure-1-full-diag",
        "Section 6, Figure 1",
        "figure",
        "On U(0, s_max), FULL and DIAG are comparable over numbers of layers and over s_max.",
        ("full-diag-uniform",),
    ),
    Statement(
        "figure-1-gd",
        "Section 6, Figure 1",
        "figure",
        "GD++ converges to a higher loss, close to that of CONSTRR.",
        ("gd-higher", "gd-is-constrr"),
        ("gd-floor",),
    ),
    Statement(
        "figure-1-gain",
        "Section 6, Figure 1",
        "sentence",
        "As s_max grows, linear transformers have a clear advantage over the baselines.",
        ("gain-grows",),
    ),
    Statement(
        "figure-1-adarr",
        "Section 6, Figure 1",
        "sentence",
        "With four layers they are better than ADARR for s_max = 4 and larger.",
        ("four-layers-beat-adarr-diag", "four-layers-beat-adarr-full"),
    ),
    Statement(
        "figure-1-tuned",
        "Section 6, Figure 1",
        "sentence",
        "Models with five layers or more match or beat TUNEDRR.",
        UNIFORM,
    ),
    Statement(
        "figure-2-gd-range",
        "Section 6, Figure 2 (top)",
        "figure",
        "The poor loss of GD++ comes from its inability to estimate well over the whole range of "
        "noise levels.",
        ("gd-range",),
        ("gd-best-at-its-constant",),
    ),
    Statement(
        "figure-2-gd",
        "Section 6, Figure 2 (top)",
        "figure",
        "Over the noise levels from 0 to s_max + 1, GD++ follows CONSTRR closely, as if it "
        "estimated one variance for all sequences.",
        ("gd-profile",),
    ),
    Statement(
        "figure-2-adarr",
        "Section 6, Figure 2 (top)",
        "figure",
        "ADARR is exact without noise and has more difficulty as the noise grows.",
        ("adarr-profile",),
    ),
    Statement(
        "figure-2-tuned",
        "Section 6, Figure 2 (top)",
        "figure",
        "TUNEDRR improves on ADARR slightly, and has difficulty in the middle range.",
        ("tuned-improves", "tuned-profile"),
    ),
    Statement(
        "figure-2-full-diag",
        "Section 6, Figure 2 (top)",
        "figure",
        "FULL and DIAG are comparable at all noise levels.",
        ("full-diag-sigma",),
    ),
    Statement(
        "not-identical",
        "Section 6",
        "remark",
        "The authors believe that FULL and DIAG are not the same although their losses are alike.",
        ("full-is-not-diag",),
    ),
    Statement(
        "figure-2-two-layers",
        "Section 6, Figure 2 (bottom)",
        "figure",
        "On U(0,5) two layers of FULL and DIAG behave like GD++ and model one variance in the "
        "middle.",
        ("two-layers-one-variance",),
    ),
    Statement(
        "figure-2-three-layers",
        "Section 6, Figure 2 (bottom)",
        "figure",
        "From three layers on the results improve quickly over the whole range of noise levels.",
        ("three-layers-improve",),
    ),
    Statement(
        "figure-2-gd-depths",
        "Section 6, Figure 2 (bottom)",
        "figure",
        "GD++ quickly converges to a solution that is not optimal.",
        ("gd-stalls",),
        ("gd-floor",),
    ),
)

CATEGORICAL_NOISE = (
    Statement(
        "figure-3-difference",
        "Section 6, Figure 3",
        "figure",
        "On {1,3} there is a notable difference between DIAG and FULL: FULL has the lower loss in "
        "distribution.",
        ("two-levels-full-better",),
    ),
    Statement(
        "figure-3-why",
        "Section 6",
        "remark",
        "The difference may come from a bad local minimum or be fundamental.",
        reason="It names two possibilities and asserts neither.",
    ),
    Statement(
        "figure-3-extrapolation",
        "Section 6, Figure 3",
        "figure",
        "DIAG is better at noise levels that were not trained, where FULL is worse although its "
        "loss on the trained ones is smaller.",
        ("two-levels-diag-untrained",),
        (
            "two-levels-diag-interpolates",
            "two-levels-diag-below",
            "two-levels-diag-extrapolates",
        ),
    ),
    Statement(
        "figure-4",
        "Section 6, Figure 4",
        "figure",
        "The weights of four layers of FULL on {1,3} are diagonal-heavy, possibly with a low-rank "
        "part.",
        ("near-diagonal", "low-rank-part"),
        ("diagonal-in-every-matrix", "near-diagonal-on-average", "later-layers-not-diagonal"),
    ),
    Statement(
        "figure-3-rough",
        "Section 6, Figure 3",
        "figure",
        "On {1,3,5} the profile of FULL is less smooth than that of DIAG.",
        ("three-levels-rough",),
    ),
    Statement(
        "figure-3-not-better",
        "Section 6, Figure 3",
        "sentence",
        "On {1,3,5} the loss of FULL is not better than that of DIAG.",
        ("three-levels-not-better",),
    ),
    Statement(
        "conclusion",
        "Section 7",
        "remark",
        "Limits of the work and directions for further work.",
        reason="Remarks about future work.",
    ),
)

EXPERIMENTS = (*SETTING, *UNIFORM_NOISE, *CATEGORICAL_NOISE)
