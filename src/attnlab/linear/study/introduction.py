"""The words of the study's page in the report: the problem, what was found, names, and Table 1."""

from __future__ import annotations

from typing import Any

from attnlab.lab.study import Article, Finding, Grid, GridCell

ROUNDING = 1e-12  # a loss below this is 0


def _number(loss: float, digits: int) -> str:
    return "0" if abs(loss) < ROUNDING else f"{loss:.{digits}g}"


def table_1(rows: list[dict[str, Any]]) -> Grid:
    """Table 1 with our loss, the paper's and that of Bayes in every cell."""
    names = dict.fromkeys(row["row"] for row in rows)
    by_row = {name: [row["noise"] for row in rows if row["row"] == name] for name in names}
    columns = tuple(max(by_row.values(), key=len, default=[]))
    found = {(row["row"], row["noise"]): row for row in rows}

    def cell(row: dict[str, Any] | None) -> GridCell | None:
        if row is None:
            return None
        lines = [("ours", "overflow" if row["ours"] is None else _number(row["ours"], 3))]
        for label, name in (("paper", "paper"), ("floor", "bayes")):
            if row.get(name) is not None and row["row"] != "BAYES":
                lines.append((label, _number(row[name], 2)))
        reached = row.get("reached")
        return GridCell(tuple(lines), None if reached is None else bool(reached))

    return Grid(
        corner="model, layers",
        columns=columns,
        rows=tuple((name, tuple(cell(found.get((name, c))) for c in columns)) for name in names),
        note="In each cell: our loss in bold, the paper's (p) and that of Bayes (b), below which "
        "nothing can be. Green: at most the paper's value or the law, up to the margin; red: "
        "above. A dash: not trained at this scale.",
    )


def full_table(rows: list[dict[str, Any]]) -> Grid:
    """Table 1 of FULL with our loss and the paper's in every cell."""
    columns = tuple(dict.fromkeys(row["noise"] for row in rows))
    found = {(row["layers"], row["noise"]): row for row in rows}
    colours = {"reached": True, "above": False, "diverged": False}

    def cell(row: dict[str, Any] | None) -> GridCell | None:
        if row is None:
            return None
        lines = (("ours", row["text"]), ("paper", _number(row["paper"], 2)))
        return GridCell(lines, colours.get(row["state"]))

    depths = sorted({row["layers"] for row in rows})
    return Grid(
        corner="layers of FULL",
        columns=columns,
        rows=tuple(
            (str(depth), tuple(cell(found.get((depth, name))) for name in columns))
            for depth in depths
        ),
        note="In each cell: our loss in bold and the paper's (p). Green: at most the paper's "
        "value, up to the margin; red: above; without a colour: open, because the standard error "
        "is more than 5% of the mean or the margin is too wide.",
    )


ARTICLE = Article(
    introduction=r"""
Every sequence is a regression problem of its own: weights $w \sim N(0, I_d)$, a noise level
$\sigma$ drawn from a law $p(\sigma)$, and $n$ pairs $y_i = \langle w, x_i \rangle + \sigma
\xi_i$. The network sees the pairs as tokens $e_i = (x_i, y_i)$ and must predict the label of a
query. A layer of linear attention adds $P \left( \sum_j e_j e_j^\top \right) Q e_i$ to each
token; with several layers this becomes an iterative solver whose weights are trained.

The best answer that knows $\sigma$ is ridge regression with penalty $\sigma^2$, the oracle. The
network must guess $\sigma$ from the sequence. The paper shows that the tokens keep the form of a
regression with momentum, in a state $M$, $u$, $w$, $a$; trains three families, GD++, DIAG and
FULL, on ten noise laws; and compares them with ridge regressions that estimate the noise. Losses
are adjusted: the loss of the oracle is subtracted, so that the adjusted loss is $\frac{1}{2}
\mathbb{E} \lVert w - w_\sigma \rVert^2$. Bayes, which averages ridge over the posterior of
$\sigma$, has the smallest loss of all and is added to every comparison.
""",
    findings=(
        Finding(
            "The structure theorem and both recursions of the state hold once an index and two "
            "signs of the text are corrected.",
            ("theorem-4.1", "lemma-4.3", "lemma-4.4"),
            "holds as corrected",
        ),
        Finding(
            "GD++ of any depth is no better than ridge with one constant, a law that some values "
            "of the paper's table are below.",
            ("gd-floor", "gd-is-constrr"),
        ),
        Finding(
            "Seven layers come close to Bayes on a wide noise law, closer than any ridge of the "
            "paper.",
            ("bayes-uniform-5", "tuned-uniform-5"),
        ),
        Finding(
            "From five layers on, networks on the wide laws beat TUNEDRR, the best ridge of the "
            "paper.",
            ("tuned-uniform-5", "tuned-uniform-6", "tuned-uniform-7"),
        ),
        Finding(
            "One layer of any kind is one gradient step, and trained networks have its exact loss.",
            ("one-layer-law",),
        ),
        Finding(
            "The network of Theorem 5.2 tends to the best ridge as $n^{-1/2}$.",
            ("theorem-5.2",),
        ),
    ),
    glossary=(
        ("GD++", "four numbers per layer with two of them 0: gradient steps with preconditioning."),
        (
            "DIAG",
            "diagonal $P$ and $Q$: $\\omega_{xx}$, $\\omega_{xy}$, $\\omega_{yx}$, "
            "$\\omega_{yy}$ per layer.",
        ),
        ("FULL", "any matrices $P$ and $Q$, one head: the paper's largest family."),
        ("AXIS", "ours, between DIAG and FULL: one or two input directions are treated apart."),
        ("CONSTRR", "ridge with the best constant penalty."),
        ("ADARR", "ridge with the noise estimated by least squares."),
        ("TUNEDRR", "ADARR with its estimate cut off and scaled."),
        ("BAYES", "ridge averaged over the posterior of $\\sigma$: no predictor is better."),
        ("adjusted loss", "the loss minus that of ridge with the true $\\sigma$."),
        ("U(0,5), {1,3}", "noise laws: uniform, and equal weights on the levels named."),
    ),
    picture="fig-1",
    tables={"table-1": table_1, "full-table": full_table},
    page="linear.md",
)
