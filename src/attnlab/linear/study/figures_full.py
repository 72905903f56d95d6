"""Figures about FULL: Figure 4, its rows of Table 1, all of its starts, and its weights.

Source: Vladymyrov et al. (arXiv 2402.14180). In Figures 1 to 3 and 5 to 7 FULL is drawn with the
other models (`figures`, `figures_profiles`, `figures_other`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from attnlab.drawing.chart_data import chart_data
from attnlab.lab.study import Figure, View
from attnlab.linear.study import full_results, grids_full, results
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
from attnlab.linear.study.figures_other import draw_matrices, entries
from attnlab.linear.study.questions_full import FullLossRow, TrainedNetworkRow
from attnlab.linear.study.table_1 import LAWS, PAPER, law_name

if TYPE_CHECKING:
    import altair as alt

    from attnlab.lab.study import Drawn


def matrix_rows(view: View) -> Rows:
    """The entries of P and Q of the network of Figure 4."""
    return entries(view, grids_full.heat_map())


def table_rows(view: View) -> Rows:
    """Every cell of Table 1: FULL of ours and of the paper, and AXIS."""
    axis = {law: results.by_depth(view, "AXIS", law) for law in LAWS}
    best = {law: full_results.best_rows(view, law) for law in LAWS}
    found: Rows = []
    for cell in table_cells(view, "FULL"):
        ours, row = axis[cell.law].get(cell.depth), best[cell.law][cell.depth]
        lost = not math.isfinite(cell.ours.value)
        found.append(
            {
                "noise": law_name(cell.law),
                "layers": cell.depth,
                "loss": finite(cell.ours.value),
                "error": finite(cell.ours.standard_error),
                "largest": row.largest,
                "worst_share": row.worst_share,
                "paper": cell.paper,
                "axis": None if ours is None else finite(ours.value),
                "ratio": shown(cell.ours.value / cell.target),
                "state": "diverged" if lost else cell.state,
                "steady_starts": row.steady_starts,
                "starts": row.trained_starts,
                "steps": row.steps_trained,
                "text": "overflow" if lost else short(cell.ours.value),
                "printed": short(cell.paper),
            }
        )
    return found


def draw_table(rows: Rows) -> Drawn:
    import altair as alt

    base = alt.Chart(chart_data(rows)).encode(
        x=laws_on_top(),
        y=alt.Y("layers:O", title="layers of FULL"),
    )
    tips = [alt.Tooltip(f"{name}:Q", format=".3g") for name in ("loss", "error", "paper", "axis")]
    more = [alt.Tooltip(f"{name}:Q", format=".3g") for name in ("largest", "worst_share", "steps")]
    counts = ["state:N", "steady_starts:Q", "starts:Q"]
    ratio = alt.Color(
        "ratio:Q",
        title="ours / paper's",
        scale=alt.Scale(type="log", domain=[0.5, 2.0], clamp=True, scheme="blueorange"),
    )
    return alt.layer(
        base.mark_rect(opacity=0.65).encode(color=ratio, tooltip=[*tips, *more, *counts]),
        *two_numbers(base, "text", "printed", dy=-6),
        base.mark_text(fontSize=9, dy=8, opacity=0.8).encode(text=alt.Text("state:N")),
    ).properties(width=900, height=230)


def start_rows(view: View) -> Rows:
    """The loss of every start that this scale evaluates or trains, and the paper's value."""
    planned = [cell for law in LAWS for cell in results.candidates("FULL", law, view)]
    evaluated = [
        _start(cell.config.noise, _training(cell.config.recipe, row), row.layers, row)
        for cell in planned
        for row in view.rows(cell)
        if row.sigma is None and row.read == row.layers
    ]
    here = grids_full.trained(view.scale, view.seed) if view.scale == "standard" else []
    return evaluated + [
        _start(row.noise, "on this machine", cell.config.depth, row)
        for cell in here
        for row in view.rows(cell)
    ]


def _training(recipe: str, row: FullLossRow) -> str:
    """How a shipped network was trained, as the legend has it."""
    if recipe == "printed":
        return "as printed"
    return "grown" if results.is_grown(row) else "clipped"


def _start(
    law: str, recipe: str, layers: int, row: FullLossRow | TrainedNetworkRow
) -> dict[str, Any]:
    loss = results.loss_of(row)
    return {
        "noise": law_name(law),
        "layers": layers,
        "start": row.start,
        "recipe": recipe,
        "loss": shown(loss.value),
        "error": finite(loss.standard_error),
        "diagnosis": row.diagnosis if isinstance(row, FullLossRow) else row.status,
        "paper": PAPER.get(("FULL", layers, law)),
    }


def draw_starts(rows: Rows) -> Drawn:
    import altair as alt

    def one(noise: str) -> Any:
        kept = [row for row in rows if row["noise"] == noise]
        base = alt.Chart(chart_data(kept)).encode(
            x=alt.X("layers:Q", title="layers", axis=alt.Axis(tickMinStep=1, format="d"))
        )
        y = alt.Y("loss:Q", title="adjusted loss", scale=log_scale())
        return alt.layer(
            base.mark_point(filled=True, opacity=0.6).encode(
                y=y,
                color=alt.Color("recipe:N", title="training"),
                tooltip=[
                    alt.Tooltip("start:O"),
                    alt.Tooltip("loss:Q", format=".3g"),
                    alt.Tooltip("diagnosis:N"),
                ],
            ),
            base.transform_filter("datum.paper > 0")
            .mark_point(shape="cross", color="black", size=40)
            .encode(y=alt.Y("paper:Q")),
        ).properties(title=noise, width=190, height=170)

    names = dict.fromkeys(row["noise"] for row in rows)
    return alt.concat(*(one(name) for name in names), columns=3).resolve_scale(y="independent")


def structure_rows(view: View) -> Rows:
    """Shares of the diagonal and of two directions, by law, depth, start and matrix."""
    found: Rows = []
    for cell in grids_full.structures():
        for row in view.rows(cell):
            if not row.steady:
                continue
            found.append(
                {
                    "noise": law_name(cell.config.noise),
                    "layers": row.layers,
                    "start": row.start,
                    "matrix": row.matrix,
                    "layer": row.layer,
                    "diagonal": row.diagonal,
                    "in the block of the inputs": row.x_diagonal,
                    "two directions, off the diagonal": row.rank_two,
                }
            )
    return found


def draw_structure(rows: Rows) -> Drawn:
    import altair as alt

    def one(column: str) -> alt.Chart:
        return (
            alt.Chart(chart_data(rows))
            .mark_boxplot(size=12)
            .encode(
                x=alt.X("layers:O", title="layers"),
                y=alt.Y(
                    f"{column}:Q",
                    title="share of squares",
                    scale=alt.Scale(domain=[0, 1]),
                ),
                color=alt.Color("matrix:N", title=None),
                xOffset=alt.XOffset("matrix:N"),
            )
            .properties(title=column, width=300, height=220)
        )

    columns = ("diagonal", "in the block of the inputs", "two directions, off the diagonal")
    return alt.concat(*(one(column) for column in columns))


FIGURES = (
    Figure(
        "fig-4",
        "Figure 4: P and Q of a FULL network on {1,3}",
        "The best of five networks of four layers, trained by Adam from random weights with all "
        "entries free. Every matrix has a colour scale of its own, with white at 0; the last row "
        "and column belong to y.",
        matrix_rows,
        draw_matrices,
    ),
    Figure(
        "full-table",
        "Table 1, FULL: ours and the paper's",
        "The best of ten starts, five from random weights of all layers and five grown layer by "
        "layer, chosen on other sequences than it is evaluated on. A cell "
        "is open where its standard error is more than 5% of its mean: a few sequences then carry "
        "the mean. In every cell our loss is on the left and the paper's in italics on the right; "
        "blue is below the paper's value. The data have AXIS and the tail as well.",
        table_rows,
        draw_table,
    ),
    Figure(
        "full-starts",
        "FULL: every start",
        "The losses of the starts that this scale evaluates (at quick only the best one); crosses "
        "are the paper's values. Networks that overflow on a sequence have no point; the CSV file "
        "names them. 'As printed' is the paper's recipe without clipping; 'on "
        "this machine' is a short training at standard.",
        start_rows,
        draw_starts,
    ),
    Figure(
        "full-structure",
        "FULL: how much of its weights is on the diagonal",
        "All laws, starts and layers of the shipped networks without a heavy tail. A matrix "
        "without structure has 1/11 of its squared entries on the diagonal.",
        structure_rows,
        draw_structure,
    ),
)
