"""Bounds and built heads under one's fingers, and a small encoder that trains while one watches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnlab.drawing.chart_data import chart_data
from attnlab.lab.study import Explorer, Knob
from attnlab.rank.study.cells_heads import HeadsAt, head_training, heads
from attnlab.rank.study.questions_heads import HeadTraining

if TYPE_CHECKING:
    import altair as alt

    from attnlab.lab.study import Drawn

CURVES = {
    "lower_a": "lower bound (A)",
    "lower_b": "lower bound (B)",
    "lower_c": "lower bound (C)",
    "rank_one": "random rank-1 heads, best values",
    "vote": "vote of rank-1 heads, two layers",
    "full_rank": "one head of full rank, softmax",
    "mean": "mean of the points",
}
MOST_FORMS = 8  # heads whose score matrices are drawn


def by_heads(d: int, r: int, N: int, scale: float, most: int, seed: int) -> list[HeadsAt]:
    """One point per odd number of heads up to 2^most; the rank is at most d."""
    return [HeadsAt(d, min(r, d), 2**power + 1, N, scale, seed) for power in range(most + 1)]


def draw(rows: list[dict[str, Any]]) -> Drawn:
    """Every error against the number of heads."""
    import altair as alt

    curves = [
        {"heads": row["heads"], "error": row[name], "of": words}
        for row in rows
        for name, words in CURVES.items()
        if row[name] is not None
    ]
    return (
        alt.Chart(chart_data(curves))
        .mark_line(point=True)
        .encode(
            x=alt.X("heads:Q", title="heads H", scale=alt.Scale(type="log", base=2, nice=False)),
            y=alt.Y("error:Q", title="squared error"),
            color=alt.Color("of:N", title=None, sort=list(CURVES.values())),
            tooltip=[
                alt.Tooltip("of:N"),
                alt.Tooltip("heads:Q"),
                alt.Tooltip("error:Q", format=".4f"),
            ],
        )
    )


def small_encoder(
    d: str, rank: str, groups: int, layers: int, N: int, target: str, steps: int, rate: float,
    seed: int,
) -> list[HeadTraining]:  # fmt: skip
    """One training; the knob of the rank is a share of d."""
    share = {"d": 1, "d/2": 2, "d/4": 4, "1": int(d)}[rank]
    sizes = {"d": int(d), "rank": int(d) // share, "groups": groups, "layers": layers, "N": N}
    return [HeadTraining(target=target, steps=steps, rate=rate, seed=seed, **sizes)]  # type: ignore[arg-type]


def draw_training(rows: list[dict[str, Any]]) -> Drawn | alt.VConcatChart:
    """The loss so far, and at the end K Q^T of the first heads with their angles to I."""
    import altair as alt

    first = rows[0]
    losses = [
        {"step": row["step"], "loss": row["loss"]} for row in rows if row["part"] in (None, "loss")
    ]
    curve = (
        alt.Chart(chart_data(losses))
        .mark_line(point=True)
        .encode(
            x=alt.X("step:Q", title="step", scale=alt.Scale(domain=[0, first["steps"]])),
            y=alt.Y("loss:Q", title="mean loss", scale=alt.Scale(type="log")),
            tooltip=[alt.Tooltip("step:Q"), alt.Tooltip("loss:Q", format=".4f")],
        )
    )
    held = [{"loss": row["loss"]} for row in rows if row["part"] == "held-out"]
    if not held:
        return curve
    rule = (
        alt.Chart(chart_data(held))
        .mark_rule(strokeDash=[4, 3], color="black")
        .encode(y=alt.Y("loss:Q"), tooltip=[alt.Tooltip("loss:Q", title="held out", format=".4f")])
    )
    forms = [
        {
            "head": f"head {row['head']}, {row['angle']:.0f}° to I",
            "i": row["row"],
            "j": row["column"],
            "entry": row["entry"],
        }
        for row in rows
        if row["part"] == "form" and row["head"] <= MOST_FORMS and row["angle"] is not None
    ]
    most = max((abs(each["entry"]) for each in forms), default=1.0)
    maps = (
        alt.Chart(chart_data(forms))
        .mark_rect()
        .encode(
            x=alt.X("j:O", axis=None),
            y=alt.Y("i:O", axis=None),
            color=alt.Color(
                "entry:Q",
                title="entry of K Qᵀ",
                scale=alt.Scale(scheme="redblue", domain=[-most, most]),
            ),
            tooltip=[alt.Tooltip("i:O"), alt.Tooltip("j:O"), alt.Tooltip("entry:Q", format=".3f")],
        )
        .properties(width=120, height=120)
        .facet(alt.Facet("head:N", title=None), columns=4)
    )
    shown = alt.layer(curve, rule).properties(width=420, height=190)
    return alt.vconcat(shown, maps).resolve_scale(color="independent")


EXPLORERS = (
    Explorer(
        id="bounds",
        title="How many heads of low rank make up for rank?",
        about="Three lower bounds on the error of one layer of $H$ heads of rank $r$, whatever its "
        "weights. Beside them what is built: random rank-1 heads with the best values (exact, an "
        "upper bound for $r = 1$), two layers that vote, and one head of rank $d$ with the "
        "softmax of $c X^\\top y$, which is exact for $N = 2$ and the leading order beyond.",
        kind=heads,
        knobs=(
            Knob("d", "dimension $d$", 32, 4, 128, 2),
            Knob("r", "rank $r$, at most $d$", 1, 1, 128, 1),
            Knob("N", "points $N$ of the full-rank head", 2, 2, 64, 1),
            Knob("scale", "its scale $c$", 64.0, 1.0, 256.0, 1.0),
            Knob("most", "heads up to $2^k$, $k$", 13, 3, 16, 1),
            Knob("seed", "draw of the rank-1 heads", 0, 0, 99, 1),
        ),
        configs=by_heads,
        draw=draw,
    ),
    Explorer(
        id="training",
        title="Train a small encoder, and read its heads",
        about="Every point of a sequence asks for its nearest or farthest neighbour among the "
        "others. The loss is drawn while training runs; at the end $K Q^\\top$ of the first "
        "layer's heads is shown with its angle to the identity, which a head of full rank learns "
        "(or its negative) and heads of low rank cannot.",
        kind=head_training,
        knobs=(
            Knob("d", "dimension $d$", "8", choices=("4", "8", "16")),
            Knob("rank", "rank $r$", "d", choices=("d", "d/2", "d/4", "1")),
            Knob("groups", "groups of $d/r$ heads", 1, 1, 4, 1),
            Knob("layers", "layers", 1, 1, 2, 1),
            Knob("N", "points $N$", 8, 2, 16, 1),
            Knob("target", "neighbour", "farthest", choices=("farthest", "nearest")),
            Knob("steps", "steps", 1000, 100, 3000, 100),
            Knob("rate", "learning rate", 0.01, 0.001, 0.05, 0.001),
            Knob("seed", "seed", 0, 0, 99, 1),
        ),
        configs=small_encoder,
        draw=draw_training,
        live=True,
    ),
)
