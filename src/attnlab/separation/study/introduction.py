"""The words of the study's page in the report: the problem, what was found, and names."""

from attnlab.lab.study import Article, Finding

ARTICLE = Article(
    introduction=r"""
A layer of attention mixes the rows of an input $A \in \mathbb{R}^{n \times d}$. Row $j$ of its
output is $c_j = f_j A$, where $f_j$ are weights that sum to one: softmax attention makes them
from $\exp((A X A^\top)_j)$, linear attention from $(A X A^\top)_j$ itself. Behind it stand $m$
neurons with random signs $y_1, \ldots, y_m$ and a threshold $\tau$; the network fires, $F > 0$,
if some score $\langle c_j, y_l \rangle$ exceeds $\tau$.

Two datasets differ in one row alone: its first entry, the spike, is $a_0$ on $D_0$ and $a_1 >
a_0$ on $D_1$. The paper says that with probability $1 - \delta/\mathrm{poly}(n)$ softmax attention
fires on $D_1$ and on nothing else, while linear attention, which averages the spike over all $n$
rows, fires on neither. It proves this for large $n$ and $d$ and samples it at small ones. Given
the signs everything is deterministic, so the probability of this success can be computed exactly;
here it is, and the theorem and the samples are both compared with it.
""",
    findings=(
        Finding(
            "The theorem does not describe the paper's own experiments: at their parameters "
            "success does not reach the promised probability.",
            ("theorem-6.2-experiment",),
        ),
        Finding(
            "The experiments do not show a robust separation throughout: in six of 14 panels there "
            "are points with a success of one half or less.",
            ("experiments-robust",),
            "fails",
        ),
        Finding(
            "For large sizes the theorem holds for every constant spike, once the labels of its "
            "networks are corrected.",
            ("theorem-6.2",),
            "holds as corrected",
        ),
        Finding(
            "One printed bound is too small by a factor $\\sqrt{n}$; the bound of its own proof "
            "holds.",
            ("lemma-4.2-linear",),
            "holds as corrected",
        ),
        Finding(
            "It is not uniform in the spike: at each length $n$, linear attention fires as well "
            "once $a_1$ passes $\\sqrt{0.1\\,n}$.",
            ("theorem-6.2-spike-limit",),
        ),
        Finding(
            "Some datasets linear attention cannot tell apart whatever its weights are, as the "
            "paper supposes. Those of its theorem are not among them: with another value matrix "
            "and threshold linear attention separates them as well.",
            ("hypothesis", "hypothesis-definition-6.1"),
        ),
        Finding(
            "The dimension that is needed grows like the logarithm of the sizes, $d$ of about "
            "$2 (b/0.1)^2 \\log(mn/\\delta)$.",
            ("theorem-6.2-dimension",),
        ),
        Finding(
            "More neurons help only up to a width; beyond it the wrong networks fire as well.",
            ("figure-4c-trend", "figure-5c-trend"),
        ),
    ),
    glossary=(
        ("$D_0$, $D_1$", "the dataset with the small spike and the one with the large spike."),
        ("spike", "the entry of one row in which the two datasets differ, $a_0$ or $a_1$."),
        ("fires", "some neuron exceeds its threshold, so that $F > 0$."),
        ("success", "softmax fires on $D_1$ and on nothing else; linear attention never fires."),
        ("exact, cap", "success by the exact law, and the most it can be: softmax fires on $D_1$."),
        ("$X = I$, $X = \\mathbf{1}$", "the scores' matrix $Q K^\\top$ of Figures 4 and 5."),
        ("$\\delta$", "the probability with which the theorem may fail; the paper has 0.01."),
    ),
    picture="fig-4c",
    page="separation.md",
)
