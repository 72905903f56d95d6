"""The diagnostics: Gaussianity against d, Theorem 3 and the laws against 1/d, the best ridge."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from attnlab.drawing.chart_data import chart_data
from attnlab.lab.study import Figure, View
from attnlab.random.study import grids, results
from attnlab.random.study.panels import PSIS, RIDGES, SMALL

if TYPE_CHECKING:
    from attnlab.lab.study import Drawn

Rows = list[dict[str, Any]]


def _distance_rows(view: View) -> Rows:
    return [
        {
            "d": cell.config.d,
            "of": f"{row.statement}, {name}",
            "distance": value,
            "floor": row.floor,
        }
        for cell in grids.distances(view.scale, view.seed)
        for row in view.rows(cell)
        for name, value in (("Kolmogorov", row.kolmogorov), ("excess kurtosis", row.kurtosis))
        if row.statement != "rescaled" or name == "Kolmogorov"
    ]


def _draw_distances(rows: Rows) -> Drawn:
    import altair as alt

    log = alt.Scale(type="log", nice=False)
    base = alt.Chart(chart_data(rows)).encode(x=alt.X("d:Q", title="dimension d", scale=log))
    lines = base.mark_line(point=True).encode(
        y=alt.Y("distance:Q", title="distance from N(0, 1)", scale=log),
        color=alt.Color("of:N", title=None),
    )
    floor = alt.Chart(chart_data(rows[:1])).mark_rule(strokeDash=[4, 4])
    return alt.layer(lines, floor.encode(y=alt.Y("floor:Q")))


def _ratio_rows(view: View) -> Rows:
    rows: Rows = []
    middle = grids.size(view.scale).dimensions[1]
    for d, rescale in [*((d, False) for d in grids.size(view.scale).dimensions), (middle, True)]:
        cells = grids.size_runs(view.scale, view.seed, d, rescale=rescale)
        if d == middle:
            cells = [*cells, *grids.sign_runs(view.scale, view.seed, rescale=rescale)]
        found = results.by_place(view, cells)
        for activation in ("relu", "tanh", "sign"):
            for place, first, second in results.pairs(found, activation, f"{activation} r=1"):
                if place.ridge != SMALL or place.width is None or place.width < place.n:
                    continue
                ratio = results.log_ratio(first, second)
                rows.append(
                    {
                        "inverse_d": 1 / d,
                        "d": d,
                        "pair": f"{activation} / r=1",
                        "prompts": "equal norms" if rescale else "as drawn",
                        "ratio": math.exp(ratio.value),
                        "low": math.exp(ratio.value - ratio.standard_error),
                        "high": math.exp(ratio.value + ratio.standard_error),
                    }
                )
    return rows


def _draw_ratio(rows: Rows) -> Drawn:
    import altair as alt

    base = alt.Chart(chart_data(rows)).encode(
        x=alt.X("inverse_d:Q", title="1/d", scale=alt.Scale(domainMin=0)),
        color=alt.Color("pair:N", title=None),
    )
    y = alt.Y(
        "ratio:Q", title="error of the transformer / of its equivalent", scale=alt.Scale(zero=False)
    )
    one = alt.Chart(chart_data([{"one": 1}])).mark_rule(strokeDash=[4, 4])
    return alt.layer(
        base.mark_rule(opacity=0.45).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        base.mark_point(filled=True).encode(
            y=y,
            shape=alt.Shape("prompts:N", title="prompts"),
            tooltip=[alt.Tooltip("d:Q"), alt.Tooltip("pair:N"), alt.Tooltip("ratio:Q")],
        ),
        base.transform_filter("datum.prompts == 'as drawn'").mark_line().encode(y=y),
        one.encode(y=alt.Y("one:Q")),
    )


def _degree_rows(view: View) -> Rows:
    at = (view.scale, view.seed)
    found = results.by_place(view, grids.panel_runs("width", *at))
    refined = results.laws(view, grids.degree_laws(*at), "refined")
    return [
        {
            "width": round((place.width or 0) / place.n, 3),
            "model": place.model,
            "degree": f"r = {other.model[-1]}",
            "gap": ratio.value,
            "low": ratio.value - ratio.standard_error,
            "high": ratio.value + ratio.standard_error,
            "predicted": math.log(refined[place].icl / refined[other].icl),
        }
        for other in refined
        for place in refined
        if other.model.startswith(f"{place.model} r=") and other.width == place.width
        for ratio in [results.log_ratio(found[place], found[other])]
    ]


def _draw_degrees(rows: Rows) -> Drawn:
    import altair as alt

    base = alt.Chart().encode(
        x=alt.X("width:Q", title="m/n", scale=alt.Scale(type="log", nice=False)),
        color=alt.Color("degree:N", title="equivalent of degree"),
    )
    gap = alt.Y("gap:Q", title="log(transformer / equivalent)")
    layers = alt.layer(
        base.mark_rule(opacity=0.45).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        base.mark_point(filled=True).encode(
            y=gap,
            tooltip=[
                alt.Tooltip("model:N"),
                alt.Tooltip("degree:N"),
                alt.Tooltip("width:Q"),
                alt.Tooltip("gap:Q"),
                alt.Tooltip("predicted:Q"),
            ],
        ),
        base.mark_line().encode(y=alt.Y("predicted:Q")),
        data=chart_data(rows),
    )
    return layers.facet(column=alt.Column("model:N", title=None))


def _extrapolation_rows(view: View) -> Rows:
    rows: Rows = []
    for d in grids.size(view.scale).dimensions:
        at = (view.scale, view.seed, d)
        for runs, law, name in (
            (grids.linear_runs(*at), grids.linear_laws(*at), "linear target"),
            (grids.size_runs(*at), grids.size_laws(*at), "ReLU target"),
        ):
            limit = results.laws(view, law, "limit")
            for place, several in results.by_place(view, runs).items():
                if "=" in place.model or (place.width is not None and place.width < place.n):
                    continue
                mean, exact = results.mean(several), limit[place].icl
                rows.append(
                    {
                        "inverse_d": 1 / d,
                        "model": f"{place.model}, {name}",
                        "ridge": place.ridge,
                        "ratio": mean.value / exact,
                        "low": (mean.value - mean.standard_error) / exact,
                        "high": (mean.value + mean.standard_error) / exact,
                    }
                )
    return rows


def _draw_extrapolation(rows: Rows) -> Drawn:
    import altair as alt

    base = alt.Chart(chart_data(rows)).encode(
        x=alt.X("inverse_d:Q", title="1/d", scale=alt.Scale(domainMin=0)),
        color=alt.Color("model:N", title=None),
    )
    y = alt.Y("ratio:Q", title="simulation / limit law", scale=alt.Scale(zero=False))
    one = alt.Chart(chart_data([{"one": 1}])).mark_rule(strokeDash=[4, 4])
    return alt.layer(
        base.mark_rule(opacity=0.45).encode(
            y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), detail=alt.Detail("ridge:N")
        ),
        base.mark_line(point=True).encode(
            y=y,
            strokeDash=alt.StrokeDash("ridge:N", title="λ", legend=alt.Legend(symbolType="stroke")),
        ),
        one.encode(y=alt.Y("one:Q")),
    )


def _ridge_rows(view: View) -> Rows:
    d = grids.size(view.scale).d
    found = results.by_place(view, grids.panel_runs("ridge", view.scale, view.seed))
    kept = {place: rows for place, rows in found.items() if place.model == "relu"}
    ratios = dict(zip(sorted({place.width or 0 for place in kept}), PSIS, strict=True))
    rows: Rows = [
        {
            "ratio": place.ridge / d,
            "width": ratios[place.width or 0],
            "error": results.shown(several)[0],
            "best": False,
        }
        for place, several in kept.items()
        if place.ridge > RIDGES[0]
    ]
    cell = grids.law_numbers()
    deltas = results.table(view, cell, "best delta", "relu")
    errors = results.table(view, cell, "best error", "relu")
    for delta, error in zip(deltas, errors, strict=True):
        rows.append({"ratio": delta.value, "width": delta.at, "error": error.value, "best": True})
    return rows


def _draw_ridge(rows: Rows) -> Drawn:
    import altair as alt

    log = alt.Scale(type="log", nice=False)
    base = alt.Chart(chart_data(rows)).encode(
        x=alt.X("ratio:Q", title="λ/d", scale=log),
        y=alt.Y("error:Q", title="in-context error", scale=log),
        color=alt.Color("width:O", title="m/n", scale=alt.Scale(scheme="viridis")),
    )
    return alt.layer(
        base.transform_filter("!datum.best").mark_line(point=True),
        base.transform_filter("datum.best").mark_point(shape="diamond", size=60, filled=True),
    )


FIGURES = (
    Figure(
        "gaussianity",
        "How Gaussian the pre-activations are (Lemma 1, Corollary 2)",
        "Kolmogorov distance and excess kurtosis of the pre-activations against d; ReLU target, "
        "l = d. The dashed line is the Kolmogorov distance of as many Gaussian samples.",
        _distance_rows,
        _draw_distances,
    ),
    Figure(
        "ratio",
        "Theorem 3: transformer over equivalent model",
        "Ratio of in-context errors against 1/d at n = 1.5 d (d + 1), m = 1.5 n, λ = 1e-8, ReLU "
        "target; at equal norms every prompt is scaled to the same |vec H|. Theorem 3 does not "
        "cover sign.",
        _ratio_rows,
        _draw_ratio,
    ),
    Figure(
        "degrees",
        "Theorem 3 for degrees 1, 2 and 4",
        "Logarithm of the ratio of in-context errors against m/n at n = 1.5 d (d + 1), l = d, "
        "λ = 1e-8, ReLU target. Points are simulations with their standard errors, lines are what "
        "the refinement predicts at this d; in the limit all are 0.",
        _degree_rows,
        _draw_degrees,
    ),
    Figure(
        "extrapolation",
        "Simulation over limit law, against 1/d",
        "In-context error divided by its limit at n = 1.5 d (d + 1), l = d, and m = 1.5 n for the "
        "transformers.",
        _extrapolation_rows,
        _draw_extrapolation,
    ),
    Figure(
        "best-ridge",
        "The best ridge",
        "In-context error of the ReLU transformer against λ/d, one line for each width. Diamonds "
        "are the best λ/d in the limit and the error there.",
        _ridge_rows,
        _draw_ridge,
    ),
)
