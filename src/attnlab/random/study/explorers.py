"""The limit laws under one's fingers: the errors of all models along one ratio."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnlab.drawing.chart_data import chart_data
from attnlab.lab.study import Explorer, Knob
from attnlab.maths.hermite import ACTIVATIONS
from attnlab.random.study.cells_curves import ALONGS, RANGES, LawCurve, curve
from attnlab.random.study.panels import TARGETS

if TYPE_CHECKING:
    from attnlab.lab.study import Drawn

AXES = {
    "prompts": "prompts n/d²",
    "length": "context l/d",
    "width": "width m/n",
    "ridge": "ridge λ/d",
}
ERRORS = {"in-context": "icl", "in-distribution": "idg", "training": "train"}
MARKS = ["curve", "peak", "best ridge"]


def of_ratios(
    along: str,
    prompts: float,
    length: float,
    width: float,
    ridge: float,
    activation: str,
    target: str,
    tasks: float,
    noise: float,
) -> list[LawCurve]:
    """One curve; the knob of the ridge is its logarithm."""
    names = {"along": along, "activation": activation, "target": target}
    ratios = {"prompts": prompts, "length": length, "width": width, "tasks": tasks}
    return [LawCurve(ridge=10.0**ridge, noise=noise, **ratios, **names)]  # type: ignore[arg-type]


def draw(rows: list[dict[str, Any]]) -> Drawn:
    """The three errors of all models against the ratio; rings at peaks, crosses at best ridges."""
    import altair as alt

    along = rows[0]["along"]
    points = [
        {
            "x": row["at"],
            "error": row[name],
            "of": words,
            "model": row["model"],
            "mark": row["mark"],
            "ridge": row["used_ridge"],
        }
        for row in rows
        for words, name in ERRORS.items()
        if row[name] and row[name] > 0
    ]
    curves = [point for point in points if not point["mark"]]
    single = [point for point in points if point["mark"] and point["of"] == "in-context"]
    scale = alt.Scale(type="log", nice=False, domain=list(RANGES[along]))
    x = alt.X("x:Q", title=AXES[along], scale=scale)
    y = alt.Y("error:Q", title="error", scale=alt.Scale(type="log"))
    color = alt.Color("model:N", title=None)
    shown = [
        alt.Tooltip("model:N"),
        alt.Tooltip("x:Q"),
        alt.Tooltip("error:Q", format=".4f"),
        alt.Tooltip("ridge:Q"),
    ]
    lines = (
        alt.Chart(chart_data(curves))
        .mark_line(clip=True)
        .encode(
            x=x,
            y=y,
            color=color,
            strokeDash=alt.StrokeDash("of:N", title=None, sort=list(ERRORS)),
            tooltip=[alt.Tooltip("of:N"), *shown],
        )
    )
    marks = (
        alt.Chart(chart_data(single))
        .mark_point(size=90, clip=True)
        .encode(
            x=x,
            y=y,
            color=color,
            shape=alt.Shape(
                "mark:N", title=None, scale=alt.Scale(domain=MARKS[1:], range=["circle", "cross"])
            ),
            tooltip=[alt.Tooltip("mark:N"), *shown],
        )
    )
    return alt.layer(lines, marks)


EXPLORERS = (
    Explorer(
        id="laws",
        title="The errors of random transformers in the limit",
        about="The limit laws of linear attention, with and without intercept, and of a random "
        "transformer: in-context, in-distribution and training error. Rings: the peak of the "
        "in-context error. Crosses: its value at the knobs with the best ridge instead.",
        kind=curve,
        knobs=(
            Knob("along", "against", "prompts", choices=ALONGS),
            Knob("prompts", "prompts $n/d^2$", 1.5, 0.1, 4.0, 0.05),
            Knob("length", "context $l/d$", 1.0, 0.25, 8.0, 0.05),
            Knob("width", "width $m/n$", 0.7, 0.05, 4.0, 0.05),
            Knob("ridge", "ridge $\\log_{10} \\lambda/d$", -4.0, -8.0, 1.0, 0.1),
            Knob("activation", "activation", "relu", choices=tuple(ACTIVATIONS)),
            Knob("target", "target $\\sigma_*$", "relu", choices=TARGETS),
            Knob("tasks", "tasks $k/d$", 0.5, 0.1, 4.0, 0.05),
            Knob("noise", "label noise $\\rho$", 0.01, 0.0, 1.0, 0.01),
        ),
        configs=of_ratios,
        draw=draw,
    ),
)
