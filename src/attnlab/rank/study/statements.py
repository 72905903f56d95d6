"""The paper's statements in its own order, in our words: Sections 1 to 6; Section 7 is beside it.

Source: Amsel, Yehudai, Bruna, "On the Benefits of Rank in Attention Layers" (arXiv 2407.16153).
"""

from __future__ import annotations

from attnlab.lab.study import Statement
from attnlab.rank.study.statements_experiments import EXPERIMENTS

BOUNDS = ("bound-one-layer", "bound-full-rank", "rank-one-exact", "rank-one-plateau")

INTRODUCTION = (
    Statement(
        "exponential-in-dimension",
        "Abstract and Section 1",
        "sentence",
        "One full-rank head represents the target for any context length, and low-rank attention "
        "does not approximate it unless the number of heads is exponential in d (Section 1: "
        "super-polynomial), even for short contexts.",
        ("fact-1", "exponentially-many-heads"),
    ),
    Statement(
        "habit",
        "Section 1 and Appendix A",
        "sentence",
        "Nearly all transformers take H = d/r heads, and all known exceptions differ from that by "
        "at most a factor of 2.",
        ("heads-times-rank", "heads-times-rank-exceptions"),
    ),
    Statement(
        "habit-motive",
        "Section 1",
        "remark",
        "The original motivation of H = d/r was to match the parameters of one full-rank head.",
        reason="A report on what others intended; that r d H = d² for H = d/r is algebra.",
    ),
    Statement(
        "library-defaults",
        "Section 1",
        "sentence",
        "PyTorch and xFormers fix H = d/r in their code.",
        ("library-defaults",),
    ),
    Statement(
        "habitual-ranks",
        "Section 1",
        "sentence",
        "Most transformers have a rank between 64 and 128, though d goes from 512 to 8192.",
        ("small-ranks",),
    ),
    Statement(
        "contribution-unbiased",
        "Sections 1 and 1.1",
        "sentence",
        "For every ε one full-rank head reaches the error ε for every N, with d² parameters; of "
        "rank r the order of (d/r)^(1/ε) heads are needed in high dimension, and "
        "exp(d − r log(d/r)) as ε tends to 0 at fixed d.",
        ("fact-1", "theorem-2-informal", "theorem-2-i"),
    ),
    Statement(
        "contribution-biased",
        "Section 1.1",
        "sentence",
        "For the biased neighbour one full-rank head with a bias reaches every accuracy, and of "
        "the order of exp(d − r) rank-r heads are needed for a small relative error.",
        ("fact-3", "remark-5"),
    ),
    Statement(
        "contribution-depth",
        "Section 1.1",
        "sentence",
        "A further layer, or an MLP, makes polynomially many heads of low rank enough; such "
        "constructions may not extend to long sequences.",
        ("theorem-7", "theorem-34"),
    ),
    Statement(
        "contribution-experiments",
        "Section 1.1",
        "sentence",
        "Trained transformers of full rank learn the target and find the construction of Fact 1; "
        "low rank does not; H = 2 can be much worse than H = 1.",
        ("figure-1-necessary", "figure-1-sufficient", "figure-2-identity", "figure-1-one-head"),
    ),
    Statement(
        "related-work",
        "Section 2",
        "remark",
        "Other papers on the expressive power, the rank and the compression of transformers.",
        reason="A survey of other papers, which are not studied here.",
    ),
)

SETTING = (
    Statement(
        "attention-layer",
        "Section 3, equation (1)",
        "definition",
        "A layer of H heads of rank r is the sum of O_h V_hᵀ X softmax(Xᵀ K_h Q_hᵀ Y).",
        reason="A definition.",
    ),
    Statement(
        "hardmax-heads",
        "Section 3",
        "sentence",
        "Hardmax heads are the limit of softmax heads with scores times c, pointwise, as c grows.",
        ("hardmax-limit",),
    ),
    Statement(
        "layer-symmetries",
        "Section 3",
        "sentence",
        "For all N and M attention is invariant under permutations of the targets and equivariant "
        "under those of the sources.",
        ("attention-symmetries",),
    ),
    Statement(
        "generalised-attention",
        "Section 3, equation (2)",
        "definition",
        "A generalised head is V_h X φ_h(K_hᵀ X, y) with any V_h and any φ_h into the simplex.",
        reason="A definition.",
    ),
    Statement(
        "generalised-scope",
        "Section 3",
        "sentence",
        "Generalised heads include heads with biases, additive encodings, RoPE and ALiBi, and "
        "early attention, whose scores are a feed-forward network.",
        ("generalised-heads", "feed-forward-scores"),
    ),
    Statement(
        "nearest-neighbour",
        "Section 3, equation (3)",
        "definition",
        "The target is the one of x₁, …, x_N that is nearest to y.",
        reason="A definition.",
    ),
    Statement(
        "target-invariance",
        "Sections 3 and 5",
        "sentence",
        "The nearest neighbour is invariant under permutations of the points and follows "
        "orthogonal maps; the biased one follows orthogonal maps and no permutations.",
        ("target-symmetries",),
    ),
    Statement(
        "data-law",
        "Section 3",
        "definition",
        "Points are uniform on the sphere, and orthonormal for the lower bounds (D_N).",
        reason="A definition.",
    ),
    Statement(
        "data-law-invariance",
        "Section 3",
        "sentence",
        "The law D_N is that of the first N columns of a random orthonormal matrix, and invariant "
        "under orthogonal maps.",
        ("data-law-symmetries",),
    ),
)

UNBIASED = (
    Statement(
        "fact-1",
        "Fact 1 and Appendix B.1",
        "fact",
        "For all ε > 0, N and d there are K, Q, V such that one softmax head has an error of at "
        "most ε on independent uniform points; the hardmax is exact.",
        ("fact-1",),
    ),
    Statement(
        "distance-identity",
        "Section 4, after Fact 1",
        "sentence",
        "With V = K Qᵀ = I, ‖x_i − y‖² = 2 − x_iᵀ K Qᵀ y.",
        ("distance-identity",),
    ),
    Statement(
        "fact-1-learned",
        "Section 4, after Fact 1",
        "sentence",
        "Gradient descent easily learns this construction.",
        ("figure-2-identity",),
    ),
    Statement(
        "theorem-2-i",
        "Theorem 2 (i), equation (5)",
        "theorem",
        "There are universal c, C such that for all r ≤ d − 3, ε ≤ c/(d+1) and "
        "H ≤ C 2^(d − (r+1) log₂(2d/r)) any H generalised heads of rank r have an error of at "
        "least ε on two orthonormal points.",
        ("theorem-2-i",),
        beside=BOUNDS,
    ),
    Statement(
        "theorem-2-ii",
        "Theorem 2 (ii), equation (6)",
        "theorem",
        "There are universal c', C' such that the same holds for d ≥ 5, ε ≥ c'/(d − 2e² r) and "
        "H ≤ ½ (d / (2e (r + C'/ε)))^(C'/ε).",
        ("theorem-2-ii",),
        beside=("expressivity",),
    ),
    Statement(
        "theorem-2-regimes",
        "Section 4, after Theorem 2",
        "sentence",
        "The number of heads that is needed grows exponentially with d − r in the first regime and "
        "polynomially with d/r in the second.",
        ("theorem-2-i", "theorem-2-ii"),
    ),
    Statement(
        "theorem-2-informal",
        "Section 4, after Theorem 2",
        "sentence",
        "In both regimes, informally, the error is at least ε whenever H is below (d/r)^(1/ε).",
        ("theorem-2-informal",),
    ),
    Statement(
        "pair-distance",
        "Section 4, after Theorem 2",
        "sentence",
        "The law of orthonormal pairs is within 1/√d of the uniform product law in Wasserstein's "
        "distance.",
        ("pair-distance",),
    ),
    Statement(
        "theorem-2-harmonics",
        "Section 4, idea of the proof",
        "sentence",
        "The target is a step function sgn(xᵀy), whose spectrum decays slowly and is spread evenly "
        "within each degree of the harmonics; the kernel of random heads is diagonal in the same "
        "basis.",
        ("theorem-2-harmonics",),
    ),
    Statement(
        "more-points",
        "Sections 4 and 8",
        "remark",
        "The proof should extend to independent points and to 2 < N ≤ d.",
        reason="An expectation about future work.",
    ),
    Statement(
        "theorem-2-rank-one",
        "Section 4, on tightness",
        "sentence",
        "For r = 1, fixed ε and large d the error is at least ε whenever H = O(d^(1/(4ε))).",
        ("theorem-2-rank-one",),
    ),
    Statement(
        "appendix-b.8",
        "Section 4 and Appendix B.8",
        "sentence",
        "Random heads sgn((x₁ − x₂)ᵀ k qᵀ y) have an error of at most ε with H = exp(Ω(d²/ε²)) of "
        "them.",
        ("appendix-b.8",),
    ),
    Statement(
        "theorem-2-tightness",
        "Section 4, on tightness",
        "sentence",
        "For r = 1 and fixed ε the lower bound has the right qualitative behaviour in d, though "
        "its exact dependence may not be tight.",
        ("theorem-2-tightness",),
    ),
)

BIASED = (
    Statement(
        "biased-neighbour",
        "Section 5, equation (8)",
        "definition",
        "The biased neighbour of y minimises ‖x_i − y‖² + b_i.",
        reason="A definition.",
    ),
    Statement(
        "fact-3",
        "Fact 3 and Appendix C",
        "fact",
        "For all d, N and b one biased hardmax head of full rank, X hardmax(Xᵀy + b), is the "
        "biased neighbour, also with concatenated scalar encodings; with a softmax in the limit.",
        ("fact-3",),
    ),
    Statement(
        "theorem-4",
        "Theorem 4, equation (9)",
        "theorem",
        "There are universal c₁, c₂ and for every d and r a b ∈ ℝ² such that any rank-r heads with "
        "H max‖V_h‖ ≤ exp(c₁(d − r))/(c₂ d²) have an error above 1/20, for orthogonal points of "
        "norm √d and y normal.",
        ("theorem-4",),
    ),
    Statement(
        "theorem-4-near-full-rank",
        "Section 5, after Theorem 4",
        "sentence",
        "Even for r = 99 d/100 the separation from full rank is exponential for d large enough.",
        ("theorem-4-near-full-rank",),
    ),
    Statement(
        "remark-5",
        "Remark 5",
        "remark",
        "The bound on the weights in Theorem 4 can be removed (conjectured).",
        ("remark-5",),
    ),
    Statement(
        "equation-10",
        "Section 5, equation (10)",
        "sentence",
        "For N = 2 the biased neighbour is x₁ where ⟨x₁ − x₂, y⟩ + b* > 0 and x₂ elsewhere, "
        "b* = b₁ − b₂.",
        ("equation-10",),
    ),
    Statement(
        "equation-11",
        "Section 5, equation (11)",
        "sentence",
        "A periodic sum of order d² thresholds has a correlation of at most ‖g‖ exp(−Ω(d − r)) "
        "with every g(Kx, y), K of rank r.",
        ("theorem-4-decay",),
    ),
    Statement(
        "theorem-4-rescaled",
        "Section 5, last paragraph",
        "sentence",
        "Rescaling the inputs, as Theorem 4 does by √d, is like lowering the accuracy that is "
        "asked for by the same factor, so that the theorem resembles Theorem 2 (i).",
        ("theorem-4-layer",),
    ),
)

DEPTH = (
    Statement(
        "definition-6",
        "Definition 6",
        "definition",
        "A self-masked layer adds to x_i the answers of heads over the other points; two of them "
        "with concatenated encodings and an output matrix are a transformer.",
        reason="A definition.",
    ),
    Statement(
        "single-head",
        "Section 6",
        "sentence",
        "A random rank-1 hardmax head finds the nearer of two points with probability "
        "1/2 + Ω(1/√d).",
        ("theorem-7-single-head",),
    ),
    Statement(
        "theorem-7",
        "Theorem 7",
        "theorem",
        "There are universal c₁, c₂ such that for all d > c₁, ε in (0, 1/2) and H ≥ c₂ d³/ε² a "
        "two-layer rank-1 transformer with H heads and d_e = 2 has an error of at most ε on two "
        "independent points.",
        ("theorem-7",),
        beside=("theorem-7-rate", "bound-two-layers"),
    ),
    Statement(
        "theorem-34",
        "Section 6, Theorem 34",
        "theorem",
        "A permutation-invariant variant votes with an MLP on the concatenated head outputs.",
        ("theorem-34",),
    ),
    Statement(
        "larger-n",
        "Section 6",
        "sentence",
        "The constructions seem to generalise to larger N, at a size that grows with N: even the "
        "majority among N terms seems impossible without an at least linear dependence on N.",
        ("majority-linear-in-n",),
    ),
    Statement(
        "conjecture-8",
        "Conjecture 8",
        "claim",
        "No transformer of fixed size and weights with rank r < d approximates the nearest "
        "neighbour for all N.",
        ("conjecture-8",),
        beside=("conjecture-8-trained", "figure-4-largest-n"),
    ),
    Statement(
        "conjecture-8-consequence",
        "Section 6, after Conjecture 8",
        "sentence",
        "A counterexample would mean that depth makes up for low rank, so that rank plays no "
        "decisive part in the expressive power of several layers.",
        ("conjecture-8-consequence",),
    ),
)

STATEMENTS = (*INTRODUCTION, *SETTING, *UNBIASED, *BIASED, *DEPTH, *EXPERIMENTS)
