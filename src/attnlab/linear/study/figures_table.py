"""Table 1 as a coloured table, what heads and single omegas gain, and ADARR without inverses.

Source: Vladymyrov et al. (arXiv 2402.14180). Every cell of Table 1 has our loss and the paper's,
and a colour for their ratio. Standard errors and the loss of Bayes are in the data of the figure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnlab.drawing.chart_data import chart_data
from attnlab.lab.study import Figure, View
from attnlab.linear.study import grids, results
from attnlab.linear.study.claims_table_cells import table_cells
from attnlab.linear.study.figures import (
    Rows,
    finite,
    laws_on_top,
    log_scale,
    short,
    shown,
    two_numbers,
)
from attnlab.linear.study.table_1 import LAWS, PAPER, RIDGES, SHOWN, law_name

if TYPE_CHECKING:
    import altair as alt

    from attnlab.lab.study import Drawn


def table_rows(view: View) -> Rows:
    """Every cell of Table 1: our loss, the paper's, and that of Bayes."""
    found: Rows = []
    for model in SHOWN:
        for cell in table_cells(view, model):
            floor = results.ridge(view, "BAYES", cell.law).value
            largest, share = results.tails(view, model, cell.law).get(cell.depth, (None, None))
            found.append(
                {
                    "model": model,
                    "row": f"{model} {cell.depth}",
                    "noise": law_name(cell.law),
                    "ours": finite(cell.ours.value),
                    "error": finite(cell.ours.standard_error),
                    "paper": cell.paper,
                    "bayes": floor,
                    "ratio": shown(cell.ours.value / cell.paper),
                    "state": cell.state,
                    "largest": shown(largest),
                    "worst_share": share,
                }
            )
    for name in (*RIDGES, "BAYES"):
        for law in LAWS:
            ours, paper = results.ridge(view, name, law), PAPER.get((name, 0, law))
            found.append(
                {
                    "model": name,
                    "row": name,
                    "noise": law_name(law),
                    "ours": ours.value,
                    "error": ours.standard_error,
                    "paper": paper,
                    "bayes": results.ridge(view, "BAYES", law).value,
                    "ratio": ours.value / paper if paper else None,
                    "state": None,
                    "largest": None,
                    "worst_share": None,
                }
            )
    for row in found:
        row["text"] = "overflow" if row["ours"] is None else short(row["ours"])
        row["printed"] = short(row["paper"])
    return found


def draw_table(rows: Rows) -> Drawn:
    import altair as alt

    order = list(dict.fromkeys(row["row"] for row in rows))
    base = alt.Chart(chart_data(rows)).encode(
        x=laws_on_top(),
        y=alt.Y("row:N", title=None, sort=order),
    )
    ratio = alt.Color(
        "ratio:Q",
        title="ours / paper's",
        scale=alt.Scale(type="log", domain=[0.5, 2.0], clamp=True, scheme="blueorange"),
    )
    return alt.layer(
        base.mark_rect(opacity=0.65).encode(
            color=ratio,
            tooltip=[
                alt.Tooltip("row:N"),
                alt.Tooltip("noise:N"),
                alt.Tooltip("ours:Q", format=".4g"),
                alt.Tooltip("error:Q", format=".1g"),
                alt.Tooltip("paper:Q", format=".4g"),
                alt.Tooltip("bayes:Q", format=".4g"),
                alt.Tooltip("state:N"),
                alt.Tooltip("largest:Q", format=".3g"),
                alt.Tooltip("worst_share:Q", format=".1%"),
            ],
        ),
        *two_numbers(base, "text", "printed"),
    ).properties(width=900, height=20 * len(order))


def heads_rows(view: View) -> Rows:
    """The losses of one head, of free omegas, and of these without one omega, by depth."""
    names = {
        "DIAG": "one head",
        "DIAG, free omegas": "free omegas (two heads or more)",
        "DIAG without momentum": "free omegas without ω_xy",
        "DIAG without rescaling": "free omegas without ω_yy",
    }
    return [
        {"noise": law_name(law), "heads": name, "layers": layers, "loss": shown(loss.value)}
        for law in results.laws_with(view, "DIAG, free omegas")
        for model, name in names.items()
        for layers, loss in results.held(view, model, law).items()
    ]


def draw_heads(rows: Rows) -> Drawn:
    import altair as alt

    def one(noise: str) -> alt.Chart:
        kept = [row for row in rows if row["noise"] == noise]
        return (
            alt.Chart(chart_data(kept))
            .mark_line(point=True)
            .encode(
                x=alt.X("layers:Q", title="layers", axis=alt.Axis(tickMinStep=1, format="d")),
                y=alt.Y("loss:Q", title="adjusted loss", scale=log_scale()),
                color=alt.Color(
                    "heads:N", title=None, legend=alt.Legend(labelLimit=240, orient="bottom")
                ),
                tooltip=[
                    alt.Tooltip("heads:N"),
                    alt.Tooltip("layers:Q"),
                    alt.Tooltip("loss:Q", format=".4f"),
                ],
            )
            .properties(title=noise, width=300, height=230)
        )

    return alt.concat(*(one(name) for name in dict.fromkeys(row["noise"] for row in rows)))


def iteration_rows(view: View) -> Rows:
    """The loss of iterative ADARR by the number of steps."""
    rows = view.rows(grids.iterative(view.scale, view.seed))
    exact = next(row.loss for row in rows if row.steps == 0)
    return [
        {"steps": row.steps, "loss": row.loss, "error": row.error, "adarr": exact}
        for row in rows
        if row.steps
    ]


def draw_iterations(rows: Rows) -> Drawn:
    import altair as alt

    base = alt.Chart(chart_data(rows)).encode(
        x=alt.X("steps:Q", title="gradient steps K", scale=log_scale())
    )
    y = alt.Y("loss:Q", title="adjusted loss", scale=log_scale())
    return alt.layer(
        base.mark_line(point=True).encode(y=y, color=alt.datum("iterative ADARR")),
        base.mark_line(strokeDash=[5, 4]).encode(y=alt.Y("adarr:Q"), color=alt.datum("ADARR")),
    )


FIGURES = (
    Figure(
        "table-1",
        "Table 1: adjusted loss",
        "In every cell our loss is on the left and the paper's in italics on the right; the colour "
        "is their ratio (blue is lower). Standard errors and the loss of Bayes are in the tooltip "
        "and in the CSV file, and so are the largest loss of a sequence and the share of the mean "
        "in the worst 0.1% for AXIS and FULL; the training of GD++ and DIAG does not record them. "
        "AXIS is a family of ours, compared with the paper's FULL.",
        table_rows,
        draw_table,
    ),
    Figure(
        "heads",
        "One head, free omegas, and free omegas without one of them",
        "DIAG with one head obeys ω_xx ω_yy = ω_xy ω_yx; free omegas need two heads or more. "
        "Networks without ω_xy have no momentum, those without ω_yy no rescaling of y.",
        heads_rows,
        draw_heads,
    ),
    Figure(
        "iterations",
        "ADARR without inverses, U(0,5)",
        "K gradient steps of size 1/100 on least squares estimate the noise, and K steps on ridge "
        "follow.",
        iteration_rows,
        draw_iterations,
    ),
)
