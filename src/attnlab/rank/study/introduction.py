"""The words of the study's page in the report: the problem, what was found, and names."""

from attnlab.lab.study import Article, Finding

ARTICLE = Article(
    introduction=r"""
Given points $x_1, \ldots, x_N$ and a query $y$ on the unit sphere of $\mathbb{R}^d$, find the
point that is nearest to $y$. An attention head of rank $r$ has $Q, K, V, O \in \mathbb{R}^{d
\times r}$, and a layer of $H$ heads answers $\sum_{h=1}^{H} O_h V_h^\top X \,
\operatorname{softmax}(X^\top K_h Q_h^\top y)$. One head of full rank, $r = d$, solves the
problem for any $N$: with $K Q^\top = c I$ and $V O^\top = I$ it compares $y$ with every point.
Practice takes $H = d/r$ heads of low rank instead, which costs as much.

The paper proves that low rank is not made up for by number: unless $H$ is exponential in $d -
r$, one layer of rank $r$ keeps an error of the order of $1/d$, even with two points; at a fixed
error a power of $d$ is needed, and enough for $r = 1$. Two layers can vote. It trains
encoders that look for the farthest of $N$ points, and finds the gap there as well. The theorems
leave constants open. Here a bound without unknown constants stands beside exact constructions
and trained layers, and encoders are trained on prompts that never repeat and evaluated on
held-out ones.
""",
    findings=(
        Finding(
            "Full rank is needed: many heads of half the rank stay well above one head of full "
            "rank, with more parameters.",
            ("figure-1-half-rank", "figure-1-parameters"),
        ),
        Finding(
            "Full rank is needed: heads of half the rank stay well above one head of full rank.",
            ("figure-1-necessary",),
        ),
        Finding(
            "No layer, trained or built, is below the bound that needs no unknown constant; two "
            "layers are.",
            ("bound-one-layer", "bound-two-layers"),
        ),
        Finding(
            "One trained head of full rank has learned the construction of the proof, a negative "
            "multiple of the identity.",
            ("figure-2-identity",),
        ),
        Finding(
            "A network of rank 1 and of fixed size serves every number of points, against "
            "Conjecture 8 as printed; its size is exponential in $d$.",
            ("conjecture-8",),
            "fails",
        ),
        Finding(
            "Two formulas are misprinted, the bias of Fact 3 and an absolute value in Theorem 4; "
            "as corrected they hold.",
            ("fact-3", "theorem-4-decay"),
            "holds as corrected",
        ),
        Finding(
            "The vote of rank-1 heads in two layers has the error of its law.",
            ("theorem-7", "theorem-7-rate"),
        ),
    ),
    glossary=(
        ("H, r", "the number of heads and the rank of each."),
        ("full rank", "$r = d$: one head can compare every direction."),
        ("generalised head", "any $d \\times d$ matrix $V$ and any weights that sum to one."),
        (
            "bounds (A), (B), (C)",
            "three lower bounds on the error of one layer: (A) and (B) for any heads, (C) where "
            "every $V_h$ is a multiple of the identity.",
        ),
        (
            "majority vote",
            "two layers: rank-1 heads each guess, the second layer takes the majority.",
        ),
        ("encoder", "the paper's trained network: attention and a perceptron in every layer."),
        ("replayed", "100 batches used again and again, as the published code does."),
    ),
    picture="fig-1",
    page="rank.md",
)
