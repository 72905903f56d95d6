"""The exact law of the attention model under one's fingers: success against the width."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnlab.lab.study import Explorer, Knob
from attnlab.separation.study.cells_attention import AttentionPoint, attention

if TYPE_CHECKING:
    from attnlab.lab.study import Drawn

WIDTHS = (*range(1, 20), *range(20, 101, 4))
CURVES = {
    "exact": "success",
    "cap": "softmax fires on D1",
    "zero": "nothing else fires",
}


def by_width(
    d: int, t: int, x: str, model: str, a0: float, a1: float, c: float, offset: float
) -> list[AttentionPoint]:
    """One point per width; n = (d - 2) t, and b + c = 1 as in Definition 6.1."""
    return [
        AttentionPoint(
            n=(d - 2) * t,
            d=d,
            m=m,
            x="ones" if x == "ones" else "identity",
            model="cross" if model == "cross" else "self",
            a0=a0,
            a1=a1,
            b=round(1 - c, 6),
            c=c,
            offset=offset,
            trials=0,
        )
        for m in WIDTHS
    ]


def draw(rows: list[dict[str, Any]]) -> Drawn:
    import altair as alt

    curves = [
        {"m": row["m"], "probability": row[name], "of": words}
        for row in rows
        for name, words in CURVES.items()
    ]
    return (
        alt.Chart(alt.Data(values=curves))
        .mark_line(point=True)
        .encode(
            x=alt.X("m:Q", title="number of neurons m"),
            y=alt.Y("probability:Q", title="probability", scale=alt.Scale(domain=[0, 1])),
            color=alt.Color("of:N", title=None, sort=list(CURVES.values())),
            tooltip=["of:N", "m:Q", alt.Tooltip("probability:Q", format=".4f")],
        )
    )


EXPLORERS = (
    Explorer(
        id="success",
        title="When does softmax separate and linear attention not?",
        about="The exact probability of success against the number of neurons, with its two "
        "factors: softmax fires on $D_1$, and no other network fires. The sequence has "
        "$n = (d - 2) t$ rows.",
        kind=attention,
        knobs=(
            Knob("d", "dimension $d$", 22, 4, 130, 2),
            Knob("t", "rows per class $t$", 10, 1, 60, 1),
            Knob("x", "$X = Q K^\\top$", "identity", choices=("identity", "ones")),
            Knob("model", "attention", "self", choices=("self", "cross")),
            Knob("a0", "spike on $D_0$, $a_0$", 0.01, 0.0, 1.0, 0.01),
            Knob("a1", "spike on $D_1$, $a_1$", 1.2, 0.1, 4.0, 0.05),
            Knob("c", "last column $c$, with $b = 1 - c$", 0.8, 0.1, 0.9, 0.05),
            Knob("offset", "threshold $\\tau$ above $c$", 0.1, 0.02, 0.5, 0.01),
        ),
        configs=by_width,
        draw=draw,
    ),
)
