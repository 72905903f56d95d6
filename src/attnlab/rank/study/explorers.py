"""The lower bounds under one's fingers: the error that any layer of H heads of rank r keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnlab.lab.study import Explorer, Knob
from attnlab.rank.study.cells_bounds import Bounds, bounds

if TYPE_CHECKING:
    from attnlab.lab.study import Drawn

CURVES = {
    "lower_a": "bound (A)",
    "lower_b": "bound (B)",
    "lower_c": "bound (C)",
    "vote": "vote of rank-1 heads, two layers",
}


def by_heads(d: int, r: int, most: int) -> list[Bounds]:
    """One point per odd number of heads up to 2^most; the rank is at most d."""
    return [Bounds(d=d, rank=min(r, d), heads=2**power + 1) for power in range(most + 1)]


def draw(rows: list[dict[str, Any]]) -> Drawn:
    import altair as alt

    curves = [
        {"heads": row["heads"], "error": row[name], "of": words}
        for row in rows
        for name, words in CURVES.items()
        if row[name] is not None
    ]
    return (
        alt.Chart(alt.Data(values=curves))
        .mark_line(point=True)
        .encode(
            x=alt.X("heads:Q", title="heads H", scale=alt.Scale(type="log", base=2, nice=False)),
            y=alt.Y("error:Q", title="squared error"),
            color=alt.Color("of:N", title=None, sort=list(CURVES.values())),
            tooltip=["of:N", "heads:Q", alt.Tooltip("error:Q", format=".4f")],
        )
    )


EXPLORERS = (
    Explorer(
        id="bounds",
        title="How many heads of low rank make up for rank?",
        about="Three lower bounds on the error of one layer of $H$ heads of rank $r$, whatever its "
        "weights, and the exact error of two layers that vote, for $r = 1$.",
        kind=bounds,
        knobs=(
            Knob("d", "dimension $d$", 32, 4, 128, 2),
            Knob("r", "rank $r$, at most $d$", 1, 1, 128, 1),
            Knob("most", "heads up to $2^k$, $k$", 13, 3, 16, 1),
        ),
        configs=by_heads,
        draw=draw,
    ),
)
