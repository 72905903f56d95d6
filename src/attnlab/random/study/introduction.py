"""The words of the study's page in the report: the problem, what was found, and names."""

from attnlab.lab.study import Article, Finding

ARTICLE = Article(
    introduction=r"""
A prompt shows $l$ pairs of an input $x_i \sim N(0, I_d/d)$ and a label $y_i = \sigma_*(\xi^\top
x_i) + \epsilon_i$, then a query whose label is asked for. The task $\xi$ changes from prompt to
prompt. The model sees the prompt through a matrix $H$ of $d \times (d + 1)$ numbers, made by one
layer of linear attention, and answers $w^\top \sigma(F^\top \text{vec} H)$: an MLP whose $m$
features $F$ are random and stay fixed. Only $w$ is learned, by ridge regression with penalty
$\lambda$ on $n$ prompts whose tasks come from a pool of $k$.

The paper says that for large $d$ this random transformer has the same error on fresh tasks as a
polynomial model with noise: $\sigma$ is replaced by its first Hermite terms, up to degree $r$,
and the rest by Gaussian noise. It shows the error against $n/d^2$, $l/d$ and $m/n$. Here the
errors are simulated and compared with closed-form laws in the limit and at finite $d$; linear
attention with an intercept and a constant predictor stand beside them as controls.
""",
    findings=(
        Finding(
            "Without a ridge the error rises with the width until $m = n$; the narrowest network "
            "is better than every wider one.",
            ("fig-2b-falls-with-width", "fig-2b-moderate-overparameterisation"),
            "fails",
        ),
        Finding(
            "Longer contexts do not help every model: without a ridge the error of linear "
            "attention rises.",
            ("fig-2a-falls-with-length",),
            "fails",
        ),
        Finding(
            "The gain of the ReLU network over linear attention is that of an intercept, not of "
            "processing features non-linearly: with an intercept linear attention is better at "
            "most $n$.",
            ("fig-1a-nonlinear-benefit",),
            "fails",
        ),
        Finding(
            "By our limit law no trained model of Figure 1 beats the constant predictor, for "
            "either target.",
            ("constant-predictor",),
        ),
        Finding(
            "The error diverges at $m = n$ and descends a second time.",
            ("double-descent",),
        ),
        Finding(
            "Transformer and equivalent model agree closely where all prompts have the same norm.",
            ("theorem-3-rescaled",),
        ),
        Finding(
            "Features are Gaussian in the limit.",
            ("lemma-1",),
        ),
    ),
    glossary=(
        ("ICL", "the mean squared error on fresh tasks, label noise included."),
        ("IDG", "the same on the tasks of the training pool."),
        ("equivalent, r", "the polynomial model of degree $r$ with noise that replaces the MLP."),
        ("linear", "linear attention without the MLP; with an intercept it is the control."),
        ("law, refined", "the closed form in the limit of large $d$, and its value at finite $d$."),
        ("$\\tau$, $\\alpha$, $\\kappa$, $\\psi$", "the ratios $n/d^2$, $l/d$, $k/d$ and $m/n$."),
        ("$\\lambda$", "the penalty of the ridge regression."),
    ),
    picture="fig-2b",
    page="random.md",
)
