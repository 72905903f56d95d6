"""The limit laws under one's fingers: the in-context error of all models of a panel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnlab.lab.study import Explorer, Knob
from attnlab.random.study.cells import Laws, laws

if TYPE_CHECKING:
    from attnlab.lab.study import Drawn

AXES = {"n": ("n", "prompts n"), "width": ("width", "width m"), "ridge": ("ridge", "ridge λ")}
D = 24  # the limit depends on ratios alone; n and m are those of this dimension


def of_panel(panel: str, target: str, length: float, tasks: float, noise: float) -> list[Laws]:
    """The panel at l/d and k/d, by the limit law alone."""
    names = {"target": target, "panel": panel}
    sizes = {"length": max(1, round(length * D)), "tasks": max(1, round(tasks * D))}
    return [Laws(d=D, noise=noise, prompts=0, **sizes, **names)]  # type: ignore[arg-type]


def draw(rows: list[dict[str, Any]]) -> Drawn:
    import altair as alt

    name, title = AXES[rows[0]["panel"]]
    points = [
        {"x": row[name], "error": row["icl"], "model": row["model"], "ridge": f"{row['ridge']:g}"}
        for row in rows
        if row[name] is not None and row["icl"] is not None and " r=" not in row["model"]
    ]  # equivalent models have the limit of their transformer
    return (
        alt.Chart(alt.Data(values=points))
        .mark_line(point=True, clip=True)
        .encode(
            x=alt.X("x:Q", title=title, scale=alt.Scale(type="log", nice=False)),
            y=alt.Y("error:Q", title="in-context error", scale=alt.Scale(type="log")),
            color=alt.Color("model:N", title=None),
            strokeDash=alt.StrokeDash("ridge:N", title="λ") if name != "ridge" else alt.Undefined,
            tooltip=["model:N", "x:Q", "ridge:N", alt.Tooltip("error:Q", format=".4f")],
        )
    )


EXPLORERS = (
    Explorer(
        id="laws",
        title="The error of random transformers in the limit",
        about="The limit law of every model of a panel: against the number of prompts, the width "
        f"or the ridge. $n$ and $m$ are those of $d = {D}$.",
        kind=laws,
        knobs=(
            Knob("panel", "against", "n", choices=tuple(AXES)),
            Knob("target", "target $\\sigma_*$", "relu", choices=("relu", "tanh", "linear")),
            Knob("length", "context $l/d$", 1.0, 0.25, 8.0, 0.05),
            Knob("tasks", "tasks $k/d$", 0.5, 0.1, 4.0, 0.05),
            Knob("noise", "label noise $\\rho$", 0.01, 0.0, 1.0, 0.01),
        ),
        configs=of_panel,
        draw=draw,
    ),
)
