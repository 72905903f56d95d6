"""A figure of what Adam finds on U(0,5): the paper's recipe as printed, and FULL from near DIAG."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnlab.drawing.chart_data import chart_data
from attnlab.lab.study import Figure, View
from attnlab.linear.study import full_results, grids, results
from attnlab.linear.study.figures import Rows, finite, log_scale, shown
from attnlab.linear.study.questions_full import MODELS
from attnlab.linear.study.table_1 import COMPARED, PAPER
from attnlab.stats import Estimate

if TYPE_CHECKING:
    from attnlab.lab.study import Drawn

RECIPES = {"printed-gd++": "GD++", "printed-diag": "DIAG", "printed": "FULL", **MODELS}


def recipe_rows(view: View) -> Rows:
    """The loss of every start, the paper's value and the loss of our own training."""
    found: Rows = []
    for recipe, model in RECIPES.items():
        for layers, rows in full_results.starts(view, recipe).items():
            family = "FULL" if recipe == "from-diag" else model
            other = _ours(view, family).get(layers)
            found += [
                {
                    "model": f"{model}, {layers} layers",
                    "start": row.start,
                    "loss": shown(results.loss_of(row).value),
                    "error": finite(results.loss_of(row).standard_error),
                    "steps": row.steps_trained,
                    "diagnosis": row.diagnosis,
                    "paper": PAPER.get((COMPARED[family], layers, grids.U5)),
                    "ours": None if other is None else shown(other.value),
                }
                for row in rows
            ]
    return found


def _ours(view: View, family: str) -> dict[int, Estimate]:
    """Our own training: Levenberg-Marquardt, or for FULL Adam with clipped gradients."""
    if family == "FULL":
        return full_results.trusted(view, grids.U5)
    return results.by_depth(view, family, grids.U5)


def draw_recipes(rows: Rows) -> Drawn:
    import altair as alt

    # The model over its depth, so that no label covers the next one.
    names = alt.Axis(labelAngle=0, labelOverlap=False, labelExpr="split(datum.label, ', ')")
    base = alt.Chart(chart_data(rows)).encode(x=alt.X("model:N", title=None, sort=None, axis=names))
    y = alt.Y("loss:Q", title="adjusted loss", scale=log_scale())
    tips = [alt.Tooltip(f"{name}:Q", format=".3g") for name in ("loss", "error", "steps")]
    return alt.layer(
        base.mark_point(filled=True, opacity=0.6).encode(
            y=y, tooltip=[alt.Tooltip("start:O"), *tips, alt.Tooltip("diagnosis:N")]
        ),
        base.mark_tick(color="black", width=40).encode(y=alt.Y("paper:Q")),
        base.mark_tick(color="orange", width=40).encode(y=alt.Y("ours:Q")),
    ).properties(width=560, height=260)


FIGURES = (
    Figure(
        "recipes",
        "The paper's recipe as printed, and FULL that starts near DIAG, on U(0,5)",
        "Every start of GD++, DIAG and FULL trained by Adam at rate 1e-4 for 200,000 steps, and of "
        "FULL networks that start near a trained DIAG network, which no other figure contains. A "
        "start that diverged has no point; the table has its diagnosis. "
        "Black lines are the paper's values; orange lines are our own training: "
        "Levenberg-Marquardt for GD++ and DIAG, the best of five clipped trainings for FULL.",
        recipe_rows,
        draw_recipes,
    ),
)
