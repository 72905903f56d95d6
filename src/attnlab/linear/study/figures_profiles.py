"""Figures 2, 3 and 7: losses against the noise level.

Source: Vladymyrov et al. (arXiv 2402.14180). The trained range of sigma is shaded, and all levels
have the same X, w and xi. AXIS is a family of ours. Figures 4 and 6 are in
`figures_other`.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median_high
from typing import TYPE_CHECKING, Any

from attnlab.drawing.chart_data import chart_data
from attnlab.lab.study import Figure, View
from attnlab.linear.study import grids, results
from attnlab.linear.study.figures import (
    REFERENCES,
    Rows,
    every_run,
    finite,
    log_scale,
    model_colour,
    shown,
)
from attnlab.linear.study.table_1 import CATEGORICAL, SHOWN, UNIFORM, law_name, trained_range

if TYPE_CHECKING:
    import altair as alt

    from attnlab.lab.study import Drawn
    from attnlab.stats import Estimate

SHADE = "#8a94a3"
CUT = {"domain": [1e-4, 1e2], "clamp": True}


def named(law: str) -> dict[str, Any]:
    """The columns that describe a noise law."""
    low, high = trained_range(law)
    return {"noise": law_name(law), "trained_from": low, "trained_to": high}


def deepest_rows(view: View, laws: Iterable[str]) -> Rows:
    """The deepest networks and the predictors without layers, by noise level."""
    found: Rows = []
    for law in laws:
        end = trained_range(law)[1] + (1 if law in UNIFORM else 3)
        profiles: dict[str, tuple[int, dict[float, Estimate]]] = {}
        for model in SHOWN:
            depths = results.by_depth(view, model, law)
            if depths:
                depth = max(d for d in depths if d <= grids.DEEPEST)
                deep = results.profile(view, model, law, depth)
                if deep:
                    profiles[model] = depth, deep
        for name in REFERENCES:
            profiles[name] = 0, results.ridge_profile(view, name, law)
        found += [
            {
                **named(law),
                "model": name,
                "layers": depth,
                "sigma": sigma,
                "loss": shown(loss.value),
                "error": finite(loss.standard_error),
            }
            for name, (depth, profile) in profiles.items()
            for sigma, loss in profile.items()
            if sigma <= end
        ]
    return found


def shaded(rows: Rows) -> alt.Chart:
    """The shaded range of the trained noise levels."""
    import altair as alt

    span = {"from": rows[0]["trained_from"], "to": rows[0]["trained_to"]}
    return (
        alt.Chart(chart_data([span]))
        .mark_rect(color=SHADE, opacity=0.13)
        .encode(x=alt.X("from:Q"), x2=alt.X2("to:Q"))
    )


def draw_deepest(rows: Rows) -> Drawn:
    import altair as alt

    def one(noise: str) -> Any:
        kept = [row for row in rows if row["noise"] == noise]
        lines = (
            alt.Chart(chart_data(kept))
            .mark_line(point=alt.OverlayMarkDef(size=14), clip=True)
            .encode(
                x=alt.X("sigma:Q", title="noise level σ"),
                y=alt.Y("loss:Q", title="adjusted loss", scale=log_scale(**CUT)),
                color=model_colour(),
                tooltip=[
                    alt.Tooltip("model:N"),
                    alt.Tooltip("layers:Q"),
                    alt.Tooltip("sigma:Q"),
                    alt.Tooltip("loss:Q", format=".3g"),
                    alt.Tooltip("error:Q", format=".1g"),
                ],
            )
        )
        return alt.layer(shaded(kept), lines).properties(title=noise, width=190, height=170)

    names = dict.fromkeys(row["noise"] for row in rows)
    return alt.concat(*(one(name) for name in names), columns=3)


def depth_rows(view: View, laws: Iterable[str], end: float) -> Rows:
    """Profiles of every depth from 2 on."""
    return [
        {
            **named(law),
            "model": model,
            "layers": layers,
            "sigma": sigma,
            "loss": shown(loss.value),
        }
        for law in laws
        for model in SHOWN
        for layers in results.by_depth(view, model, law)
        if 2 <= layers <= grids.DEEPEST
        for sigma, loss in results.profile(view, model, law, layers).items()
        if sigma <= end
    ]


def draw_depths(rows: Rows) -> Drawn:
    import altair as alt

    def one(noise: str, model: str) -> Any:
        kept = [row for row in rows if (row["noise"], row["model"]) == (noise, model)]
        lines = (
            alt.Chart(chart_data(kept))
            .mark_line(clip=True)
            .encode(
                x=alt.X("sigma:Q", title="noise level σ"),
                y=alt.Y("loss:Q", title="adjusted loss", scale=log_scale(**CUT)),
                color=alt.Color("layers:O", title="layers", scale=alt.Scale(scheme="viridis")),
                tooltip=[
                    alt.Tooltip("layers:O"),
                    alt.Tooltip("sigma:Q"),
                    alt.Tooltip("loss:Q", format=".3g"),
                ],
            )
        )
        title = f"{model}, {noise}"
        return alt.layer(shaded(kept), lines).properties(title=title, width=210, height=190)

    pairs = dict.fromkeys((row["noise"], row["model"]) for row in rows)
    return alt.concat(*(one(*pair) for pair in pairs), columns=3)


def layer_rows(view: View) -> Rows:
    """Figure 7: one curve for each layer that is read, by depth, with the range of the runs."""
    gathered: dict[tuple[str, int, int, float], list[float]] = {}
    for model in SHOWN:
        for rows in every_run(view, model, grids.U5):
            for row in rows:
                if row.sigma is not None and row.layers > 1 and row.read and row.loss is not None:
                    place = (model, row.layers, row.read, row.sigma)
                    gathered.setdefault(place, []).append(row.loss)
    return [
        {
            **named(grids.U5),
            "model": model,
            "layers": layers,
            "read": read,
            "sigma": sigma,
            "loss": shown(median_high(values)),
            "low": shown(min(values)),
            "high": shown(max(values)),
        }
        for (model, layers, read, sigma), values in gathered.items()
    ]


def draw_layers_read(rows: Rows) -> Drawn:
    import altair as alt

    def one(layers: int, model: str) -> Any:
        kept = [row for row in rows if (row["layers"], row["model"]) == (layers, model)]
        base = alt.Chart(chart_data(kept)).encode(
            x=alt.X("sigma:Q", title="noise level σ"),
            color=alt.Color("read:O", title="layer read", scale=alt.Scale(scheme="viridis")),
        )
        y = alt.Y("loss:Q", title="adjusted loss", scale=log_scale(**CUT))
        return alt.layer(
            shaded(kept),
            base.mark_area(opacity=0.2, clip=True).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
            base.mark_line(clip=True).encode(
                y=y,
                tooltip=[
                    alt.Tooltip("read:O"),
                    alt.Tooltip("sigma:Q"),
                    alt.Tooltip("loss:Q", format=".3g"),
                ],
            ),
        ).properties(title=f"{model}, {layers} layers", width=210, height=150)

    models = list(dict.fromkeys(row["model"] for row in rows))
    pairs = sorted({(row["layers"], models.index(row["model"])) for row in rows})
    return alt.concat(*(one(layers, models[i]) for layers, i in pairs), columns=len(models))


NOTE = (
    "The trained range is shaded. Losses outside of [1e-4, 100] are drawn at its ends. AXIS is a "
    "family of ours."
)

FIGURES = (
    Figure(
        "fig-2-deepest",
        "Figure 2, top: the deepest networks against the noise level, uniform noise",
        f"Networks of up to 7 layers; the tooltip gives the number. {NOTE}",
        lambda view: deepest_rows(view, UNIFORM),
        draw_deepest,
    ),
    Figure(
        "fig-2-depths",
        "Figure 2, bottom: 2 to 7 layers against the noise level, U(0,5)",
        NOTE,
        lambda view: depth_rows(view, [grids.U5], 6.0),
        draw_depths,
    ),
    Figure(
        "fig-3-deepest",
        "Figure 3, middle: the deepest networks, two and three noise levels",
        NOTE,
        lambda view: deepest_rows(view, CATEGORICAL),
        draw_deepest,
    ),
    Figure(
        "fig-3-depths",
        "Figure 3, right: 2 to 7 layers, two and three noise levels",
        NOTE,
        lambda view: depth_rows(view, CATEGORICAL, 8.0),
        draw_depths,
    ),
    Figure(
        "fig-7",
        "Figure 7: layer by layer against the noise level, U(0,5)",
        f"One row per depth and one curve for each layer that is read, with the range of all runs "
        f"as a band. {NOTE}",
        layer_rows,
        draw_layers_read,
    ),
)
