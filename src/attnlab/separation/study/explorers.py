"""The exact law of the attention model under one's fingers: against the width, and as a map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnlab.drawing.chart_data import chart_data
from attnlab.lab.study import Explorer, Knob
from attnlab.separation.study.cells_widths import Widths, widths

if TYPE_CHECKING:
    from attnlab.lab.study import Drawn

CURVES = {
    "success": "success",
    "fires": "softmax fires on D1",
    "quiet": "nothing else fires",
}
DIMENSIONS = range(4, 131, 6)
STEP = 5  # of the widths of the map


def by_width(
    n: int, d: int, x: str, model: str, a0: float, a1: float, c: float, offset: float, delta: float
) -> list[Widths]:
    """All widths at one dimension."""
    names = {"x": x, "model": model}
    numbers = {"a0": a0, "a1": a1, "c": c, "offset": offset, "delta": delta}
    return [Widths(n=n, d=d, **numbers, **names)]  # type: ignore[arg-type]


def by_dimension(
    n: int, x: str, model: str, a0: float, a1: float, c: float, offset: float, delta: float
) -> list[Widths]:
    """Every dimension of the map, with widths in steps."""
    names = {"x": x, "model": model}
    numbers = {"a0": a0, "a1": a1, "c": c, "offset": offset, "delta": delta}
    return [
        Widths(n=n, d=d, step=STEP, **numbers, **names)  # type: ignore[arg-type]
        for d in DIMENSIONS
    ]


def draw(rows: list[dict[str, Any]]) -> Drawn:
    """Success with its two factors; a bar below the axis where the theorem's promise is kept."""
    import altair as alt

    curves = [
        {"m": row["m"], "probability": row[name], "of": words}
        for row in rows
        for name, words in CURVES.items()
    ]
    lines = (
        alt.Chart(chart_data(curves))
        .mark_line()
        .encode(
            x=alt.X("m:Q", title="number of neurons m", scale=alt.Scale(nice=False)),
            y=alt.Y("probability:Q", title="probability", scale=alt.Scale(domain=[0, 1])),
            color=alt.Color("of:N", title=None, sort=list(CURVES.values())),
            tooltip=[
                alt.Tooltip("of:N"),
                alt.Tooltip("m:Q"),
                alt.Tooltip("probability:Q", format=".4f"),
            ],
        )
    )
    best = max(rows, key=lambda row: row["success"])
    peak = (
        alt.Chart(chart_data([{"m": best["m"], "success": best["success"]}]))
        .mark_point(size=90, filled=False, color="black")
        .encode(
            x=alt.X("m:Q"),
            y=alt.Y("success:Q"),
            tooltip=[alt.Tooltip("m:Q"), alt.Tooltip("success:Q", format=".4f")],
        )
    )
    kept = [{"m": row["m"], "zero": 0, "kept": "Theorem 6.2 holds"} for row in rows if row["holds"]]
    promise = (
        alt.Chart(chart_data(kept))
        .mark_square(size=40, opacity=1)
        .encode(x=alt.X("m:Q"), y=alt.Y("zero:Q"), shape=alt.Shape("kept:N", title=None))
    )
    return alt.layer(lines, peak, promise) if kept else alt.layer(lines, peak)


def draw_map(rows: list[dict[str, Any]]) -> Drawn:
    """Success over dimension and width; dots where the theorem's promise is kept."""
    import altair as alt

    points = [
        {"d": row["d"], "m": row["m"], "n": row["tokens"], "success": row["success"]}
        for row in rows
    ]
    shown = alt.Tooltip("success:Q", format=".4f")
    cells = (
        alt.Chart(chart_data(points))
        .mark_rect()
        .encode(
            x=alt.X("d:O", title="dimension d", axis=alt.Axis(labelAngle=0, labelOverlap=True)),
            y=alt.Y("m:O", title="number of neurons m", sort="descending"),
            color=alt.Color(
                "success:Q", title="probability of success", scale=alt.Scale(domain=[0, 1])
            ),
            tooltip=[alt.Tooltip("d:O"), alt.Tooltip("m:O"), alt.Tooltip("n:Q"), shown],
        )
    )
    kept = [
        {"d": row["d"], "m": row["m"], "kept": "Theorem 6.2 holds"} for row in rows if row["holds"]
    ]
    dots = (
        alt.Chart(chart_data(kept))
        .mark_point(filled=True, size=14, color="#c2185b", opacity=1)
        .encode(
            x=alt.X("d:O"),
            y=alt.Y("m:O", sort="descending"),
            shape=alt.Shape("kept:N", title=None),
        )
    )
    return (alt.layer(cells, dots) if kept else alt.layer(cells)).properties(height=320)


LENGTH = Knob("n", "length $n$, to the next multiple of $d - 2$", 200, 10, 5000, 10)
PARAMETERS = (
    Knob("x", "$X = Q K^\\top$", "identity", choices=("identity", "ones")),
    Knob("model", "attention", "self", choices=("self", "cross")),
    Knob("a0", "spike on $D_0$, $a_0$", 0.01, 0.0, 1.0, 0.01),
    Knob("a1", "spike on $D_1$, $a_1$", 1.2, 0.1, 4.0, 0.05),
    Knob("c", "last column $c$, with $b = 1 - c$", 0.8, 0.1, 0.9, 0.05),
    Knob("offset", "threshold $\\tau$ above $c$", 0.1, 0.02, 0.5, 0.01),
    Knob("delta", "$\\delta$ of Theorem 6.2", 0.01, 0.01, 0.99, 0.01),
)
PROMISE = (
    "Theorem 6.2 holds where the exact probability of failure is at most $\\delta / n$; it takes "
    "$X$ of ones and $\\tau = c + 0.1$, both in units of $\\sqrt{\\log n}$."
)

EXPLORERS = (
    Explorer(
        id="success",
        title="When does softmax separate and linear attention not?",
        about="The exact probability of success against the number of neurons, with its two "
        "factors: softmax fires on $D_1$, and no other network fires. The ring is the best width. "
        + PROMISE,
        kind=widths,
        knobs=(LENGTH, Knob("d", "dimension $d$", 22, 4, 130, 1), *PARAMETERS),
        configs=by_width,
        draw=draw,
    ),
    Explorer(
        id="map",
        title="Success over dimension and width",
        about="The same law for every dimension $d$ and number of neurons $m$. Dots: " + PROMISE,
        kind=widths,
        knobs=(LENGTH, *PARAMETERS),
        configs=by_dimension,
        draw=draw_map,
    ),
)
