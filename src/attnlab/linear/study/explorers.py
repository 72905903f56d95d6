"""Trained networks under one's fingers: a context layer by layer, the state, the noise profile."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from attnlab.drawing.chart_data import chart_data
from attnlab.lab.study import Explorer, Knob
from attnlab.linear.study.cells_explorers import one_context, profile
from attnlab.linear.study.questions_explorers import (
    LONGEST,
    SHIPPED_FAMILIES,
    NoiseProfile,
    OneContext,
)
from attnlab.linear.study.table_1 import DEPTHS, LAWS

if TYPE_CHECKING:
    import altair as alt

    from attnlab.lab.study import Drawn

REFERENCES = ("OLS", "ridge", "Bayes", "truth")
LEAST = 1e-5  # a loss below it is drawn there
BEYOND = 30.0  # how far above the other models a network that diverges is drawn


def draw_layers(rows: list[dict[str, Any]]) -> Drawn:
    """The prediction after every layer, and the weights behind it, beside OLS, ridge and Bayes."""
    import altair as alt

    predictions = [row for row in rows if row["part"] == "prediction" and row["value"] is not None]
    models = alt.Color("model:N", title=None, sort=["network", *REFERENCES])
    height = alt.Y("value:Q", title="prediction", scale=alt.Scale(zero=False))
    shown = [alt.Tooltip("model:N"), alt.Tooltip("value:Q", format=".4f")]
    after = alt.Chart(chart_data([r for r in predictions if r["model"] == "network"]))
    beside = alt.Chart(chart_data([r for r in predictions if r["model"] != "network"]))
    left = alt.layer(
        after.mark_line(point=True).encode(
            x=alt.X("layer:O", title="after layer", axis=alt.Axis(labelAngle=0)),
            y=height,
            color=models,
            tooltip=shown,
        ),
        beside.mark_rule(strokeDash=[4, 3]).encode(y=height, color=models, tooltip=shown),
    )
    weights = [
        {
            "at": str(row["layer"]) if row["model"] == "network" else row["model"],
            "model": row["model"],
            "coordinate": row["row"],
            "value": row["value"],
        }
        for row in rows
        if row["part"] == "w" and row["value"] is not None
    ]
    order = list(dict.fromkeys(row["at"] for row in weights))
    base = alt.Chart(chart_data(weights)).encode(
        x=alt.X("at:O", title="weights w after layer, and of the others", sort=order),
        y=alt.Y("value:Q", title="w"),
        color=alt.Color("coordinate:N", legend=None),
        tooltip=[
            alt.Tooltip("at:O"),
            alt.Tooltip("coordinate:N"),
            alt.Tooltip("value:Q", format=".4f"),
        ],
    )
    right = alt.layer(
        base.transform_filter("datum.model == 'network'").mark_line(), base.mark_point(filled=True)
    )
    return alt.concat(
        left.properties(width=300, height=240), right.properties(width=300, height=240), columns=2
    ).resolve_scale(color="independent")


def draw_state(rows: list[dict[str, Any]]) -> alt.VConcatChart:
    """R = [[M, u], [-w^T, a]] after every layer as heat maps, and its parts in numbers."""
    import altair as alt

    network = [row for row in rows if row["model"] == "network" and row["value"] is not None]
    d = max(row["row"] or 0 for row in network)
    place = {
        "M": lambda row: (row["row"], row["column"], 1),
        "u": lambda row: (row["row"], d + 1, 1),
        "w": lambda row: (d + 1, row["row"], -1),
        "a": lambda row: (d + 1, d + 1, 1),
    }
    entries = []
    for row in network:
        if row["part"] in place:
            i, j, sign = place[row["part"]](row)
            entries.append({"layer": row["layer"], "i": i, "j": j, "entry": sign * row["value"]})
    typical = sorted(abs(each["entry"]) for each in entries)
    most = max(1.0, typical[int(0.98 * (len(typical) - 1))])
    maps = (
        alt.Chart(chart_data(entries))
        .mark_rect()
        .encode(
            x=alt.X("j:O", title=None, axis=None),
            y=alt.Y("i:O", title=None, axis=None),
            color=alt.Color(
                "entry:Q",
                title="entry of R",
                scale=alt.Scale(scheme="redblue", domain=[-most, most], clamp=True),
            ),
            tooltip=[alt.Tooltip("i:O"), alt.Tooltip("j:O"), alt.Tooltip("entry:Q", format=".4f")],
        )
        .properties(width=120, height=120)
        .facet(alt.Facet("layer:O", title="after layer"), columns=4)
    )
    numbers = [
        {"layer": layer, "of": name, "size": value}
        for layer in range(max(row["layer"] for row in network) + 1)
        for name, value in _numbers(network, layer, d)
    ]
    lines = (
        alt.Chart(chart_data(numbers))
        .mark_line(point=True)
        .encode(
            x=alt.X("layer:O", title="after layer", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("size:Q", title=None),
            color=alt.Color("of:N", title=None),
            tooltip=[
                alt.Tooltip("of:N"),
                alt.Tooltip("layer:O"),
                alt.Tooltip("size:Q", format=".4f"),
            ],
        )
        .properties(width=420, height=170)
    )
    return alt.vconcat(maps, lines).resolve_scale(color="independent")


def _numbers(network: list[dict[str, Any]], layer: int, d: int) -> list[tuple[str, float]]:
    own = [row for row in network if row["layer"] == layer]

    def norm(part: str) -> float:
        return math.sqrt(sum(row["value"] ** 2 for row in own if row["part"] == part))

    trace = sum(r["value"] for r in own if r["part"] == "M" and r["row"] == r["column"]) / d
    a = sum(row["value"] for row in own if row["part"] == "a")
    return [("a", a), ("‖u‖", norm("u")), ("‖w‖", norm("w")), ("tr M / d", trace)]


def draw_profile(rows: list[dict[str, Any]]) -> Drawn:
    """The loss against the noise level, on a logarithmic scale."""
    import altair as alt

    finite = [row for row in rows if row["loss"] is not None]
    own = rows[0]["family"]
    top = max((row["loss"] for row in finite if row["model"] != own), default=1.0)
    domain = [LEAST, BEYOND * max(top, 10 * LEAST)]
    points = [
        {
            "sigma": row["sigma"],
            "model": row["model"],
            "loss": row["loss"],
            "drawn": min(max(row["loss"], domain[0]), domain[1]),
            "standard_error": row["standard_error"],
        }
        for row in finite
    ]
    return (
        alt.Chart(chart_data(points))
        .mark_line(point=True)
        .encode(
            x=alt.X("sigma:Q", title="noise level σ"),
            y=alt.Y(
                "drawn:Q",
                title="loss above ridge with the true σ",
                scale=alt.Scale(type="log", domain=domain, nice=False),
            ),
            color=alt.Color("model:N", title=None, sort=[own, "Bayes", "CONSTRR", "OLS"]),
            tooltip=[
                alt.Tooltip("model:N"),
                alt.Tooltip("sigma:Q"),
                alt.Tooltip("loss:Q", format=".4g"),
                alt.Tooltip("standard_error:Q", format=".1g"),
            ],
        )
    )


def of_context(
    family: str, noise: str, depth: int, sigma: float, n: int, seed: int
) -> list[OneContext]:
    """One context of the network that the knobs name."""
    names = {"family": family, "noise": noise}
    return [OneContext(depth=depth, sigma=sigma, n=n, seed=seed, **names)]  # type: ignore[arg-type]


def of_profile(
    family: str, noise: str, depth: int, largest: float, n: int, seed: int
) -> list[NoiseProfile]:
    """The profile of the network that the knobs name."""
    names = {"family": family, "noise": noise}
    sizes = {"depth": depth, "n": n, "seed": seed}
    return [NoiseProfile(largest=largest, **sizes, **names)]  # type: ignore[arg-type]


NETWORK = (
    Knob("family", "family", "AXIS", choices=SHIPPED_FAMILIES),
    Knob("noise", "trained on noise", "uniform:5", choices=LAWS),
    Knob("depth", "layers", DEPTHS[-1], DEPTHS[0], DEPTHS[-1], 1),
)
CONTEXT = (
    Knob("sigma", "noise level $\\sigma$", 1.0, 0.0, 10.0, 0.1),
    Knob("n", "tokens $n$ (trained on 20)", 20, 1, LONGEST, 1),
    Knob("seed", "draw", 0, 0, 99, 1),
)

EXPLORERS = (
    Explorer(
        id="layers",
        title="What does every layer of a trained network predict?",
        about="One context, whose tokens stay the same while its noise or its length changes: the "
        "prediction for a query after every layer, and the weights $w^l$ behind it, beside OLS, "
        "ridge with the true $\\sigma$, Bayes and the truth. The networks ship with the package.",
        kind=one_context,
        knobs=(*NETWORK, *CONTEXT),
        configs=of_context,
        draw=draw_layers,
    ),
    Explorer(
        id="state",
        title="The state of a trained network",
        about="Every layer multiplies all tokens by a matrix; together they are $R$ with the parts "
        "$M$, $u$ (last column), $-w^\\top$ (last row) and $a$ (corner) of Lemma 4.3. The "
        "query's prediction is $\\langle w, x_t \\rangle$.",
        kind=one_context,
        knobs=(*NETWORK, *CONTEXT),
        configs=of_context,
        draw=draw_state,
    ),
    Explorer(
        id="profile",
        title="How well does a trained network know the noise level?",
        about="Half the mean squared distance of $w$ to that of ridge with the true $\\sigma$, "
        "over the same 128 sequences at every noise level. CONSTRR is ridge with the penalty "
        "$\\mathbb{E} \\sigma^2$ of the noise law. A network that diverges is drawn at the top.",
        kind=profile,
        knobs=(
            *NETWORK,
            Knob("largest", "up to $\\sigma$", 8.0, 1.0, 20.0, 0.5),
            *CONTEXT[1:],
        ),
        configs=of_profile,
        draw=draw_profile,
    ),
)
