"""The pictures of the study: a panel a sweep, heat maps, and what mends the theorem.

Every panel shows the exact law as a line, the Monte Carlo with its 95% interval, and the cap
1 - (1 - e)^m dashed. Drawing functions see only the table that is published beside the picture.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import altair as alt

from attnlab.lab.study import Figure, View
from attnlab.separation import theory
from attnlab.separation.models import Kind
from attnlab.separation.study import grids

Rows = list[dict[str, Any]]
Drawn = alt.Chart | alt.LayerChart | alt.FacetChart

SUCCESS = alt.Scale(domain=[0, 1])
NAMES = {
    "n": "sequence length n",
    "d": "dimension d",
    "m": "number of neurons m",
    "a1": "spike a1 on D1",
    "a0": "spike a0 on D0",
    "c": "constant entry c",
}
X_TEXT = {"identity": "X = I", "ones": "X = 1"}


def _attention_rows(view: View, panel: str, x: grids.X) -> Rows:
    swept = grids.PANELS[panel]
    shown = []
    for cell in grids.attention_sweep(panel, x, view.seed):
        found = view.row(cell)
        shown.append(
            {
                swept: getattr(cell.config, swept),
                "exact": found.exact,
                "cap": found.cap,
                "sampled": found.sampled,
                "low": found.low,
                "high": found.high,
            }
        )
    if panel == "f":
        summed = grids.attention_sweep(panel, x, view.seed, keep_b=False)
        for row, cell in zip(shown, summed, strict=True):
            row["exact_b_is_1_minus_c"] = view.row(cell).exact
    return shown


def _draw_sweep(swept: str) -> Callable[[Rows], Drawn]:
    def draw(rows: Rows) -> Drawn:
        scale = (
            alt.Scale(type="log", base=2, domain=[3.5, 75])
            if swept == "d"
            else alt.Scale(zero=False)
        )
        base = alt.Chart(alt.Data(values=rows)).encode(
            x=alt.X(f"{swept}:Q", title=NAMES[swept], scale=scale)
        )
        return alt.layer(*_sampled(base, swept), *_lines(base, rows))

    return draw


def _sampled(base: alt.Chart, swept: str, scale: alt.Scale = SUCCESS) -> list[alt.Chart]:
    label = alt.datum("sampled, 95% interval")
    return [
        base.mark_rule(opacity=0.45).encode(y="low:Q", y2="high:Q", color=label),
        base.mark_point(filled=True, size=22).encode(
            y=alt.Y("sampled:Q", title="probability of success", scale=scale),
            color=label,
            tooltip=[f"{swept}:Q", *(alt.Tooltip(f"{name}:Q", format=".3f") for name in SHOWN)],
        ),
    ]


SHOWN = ("sampled", "low", "high")


def _lines(base: alt.Chart, rows: Rows) -> list[alt.Chart]:
    named = [("exact", "exact law", [1, 0]), ("cap", "cap 1 − (1 − e)^m", [5, 4])]
    named += [("exact_b_is_1_minus_c", "b = 1 − c", [2, 2])]
    return [
        base.mark_line(strokeDash=dash).encode(y=f"{field}:Q", color=alt.datum(name))
        for field, name, dash in named
        if field in rows[0]
    ]


def _sweep_figure(panel: str, x: grids.X) -> Figure:
    swept, number = grids.PANELS[panel], grids.FIGURE_OF[x]
    extra = "; the dotted line takes b = 1 − c instead of b = 0.2" if panel == "f" else ""
    return Figure(
        id=f"fig-{number}{panel}",
        title=f"Figure {number}({panel}): {NAMES[swept]}, {X_TEXT[x]}",
        caption=f"Self-attention, {X_TEXT[x]}: the probability that softmax attention separates "
        f"the two datasets and linear attention does not, against the {NAMES[swept]}. Exact law, "
        f"100 trials a point with exact binomial 95% intervals, and the cap{extra}.",
        data=lambda view: _attention_rows(view, panel, x),
        draw=_draw_sweep(swept),
    )


def _regression_rows(view: View, panel: str) -> Rows:
    swept = "n" if panel == "a" else "m"
    shown = []
    for cell in grids.regression_sweep(panel, view.scale, view.seed):
        found = view.row(cell)
        shown.append(
            {
                swept: getattr(cell.config, swept),
                "lower_bound": max(found.lower, 0.0),
                "cap": found.upper,
                "sampled": found.sampled,
                "low": found.low,
                "high": found.high,
            }
        )
    if panel == "a":
        exact = {cell.config.n: view.row(cell).exact for cell in grids.two_level_sweep()}
        for row in shown:
            row["exact_two_level"] = exact.get(row["n"])
    return shown


def _draw_regression(swept: str) -> Callable[[Rows], Drawn]:
    def draw(rows: Rows) -> Drawn:
        base = alt.Chart(alt.Data(values=rows)).encode(
            x=alt.X(f"{swept}:Q", title=NAMES[swept], scale=alt.Scale(zero=False))
        )
        band = base.mark_area(opacity=0.18).encode(
            y=alt.Y("lower_bound:Q", title="probability of success", scale=alt.Scale(zero=False)),
            y2="cap:Q",
            color=alt.datum("between the bounds"),
        )
        cap = base.mark_line(strokeDash=[5, 4]).encode(y="cap:Q", color=alt.datum("cap 1 − 2^−m"))
        exact = [
            base.transform_filter("isValid(datum.exact_two_level)")
            .mark_line()
            .encode(y="exact_two_level:Q", color=alt.datum("exact law, two-level data"))
        ]
        return alt.layer(
            band,
            cap,
            *(exact if "exact_two_level" in rows[0] else []),
            *_sampled(base, swept, alt.Scale(zero=False)),
        )

    return draw


def _regression_figure(panel: str) -> Figure:
    swept = "n" if panel == "a" else "m"
    told = "m = ⌊log n⌋" if panel == "a" else "n = 1000"
    return Figure(
        id=f"fig-3{panel}",
        title=f"Figure 3({panel}): softmax regression, {told}",
        caption=f"Softmax regression with {told} and τ = 1/4, data uniform in its interval, 1000 "
        "trials a point. The band lies between the Chernoff lower bound and the cap 1 − 2^−m.",
        data=lambda view: _regression_rows(view, panel),
        draw=_draw_regression(swept),
    )


def _map_figure(plane: str, x: grids.X) -> Figure:
    across, up = ("d", "m") if plane == "d-m" else ("a0", "a1")

    def data(view: View) -> Rows:
        rows = view.rows(grids.map_cell(plane, x))  # pyright: ignore[reportArgumentType]
        return [{across: row.across, up: row.up, "exact": row.probability} for row in rows]

    def draw(rows: Rows) -> Drawn:
        if plane == "d-m":
            x, y = alt.X("d:O"), alt.Y("m:Q", bin=alt.Bin(step=2))
        else:
            x, y = alt.X("a0:Q", bin=alt.Bin(step=0.03)), alt.Y("a1:Q", bin=alt.Bin(step=0.06))
        return (
            alt.Chart(alt.Data(values=rows))
            .mark_rect()
            .encode(
                x=x.title(NAMES[across]),
                y=y.title(NAMES[up]),
                color=alt.Color(
                    "exact:Q", title="success", scale=alt.Scale(scheme="viridis", domain=[0, 1])
                ),
                tooltip=[f"{across}:Q", f"{up}:Q", alt.Tooltip("exact:Q", format=".3f")],
            )
        )

    told = "m = 15 and d = 22" if plane == "a0-a1" else "the default spikes"
    return Figure(
        id=f"map-{plane}-{x}",
        title=f"Success over ({across}, {up}), {X_TEXT[x]}",
        caption=f"Exact probability of success at n = 240 with {told}, {X_TEXT[x]}.",
        data=data,
        draw=draw,
    )


def _offset_figure(x: grids.X) -> Figure:
    def data(view: View) -> Rows:
        return [
            {"offset": cell.config.offset, "d": cell.config.d, "exact": view.row(cell).exact}
            for d in (4, 6, 10, 18, 34, 66)
            for cell in grids.offset_sweep(d, x, view.seed)
        ]

    def draw(rows: Rows) -> Drawn:
        base = alt.Chart(alt.Data(values=rows))
        lines = base.mark_line(point=True).encode(
            x=alt.X("offset:Q", title="offset o of the threshold (c + o) √log n"),
            y=alt.Y("exact:Q", title="probability of success", scale=SUCCESS),
            color=alt.Color("d:O", title="d", scale=alt.Scale(scheme="viridis")),
            tooltip=["d:O", "offset:Q", alt.Tooltip("exact:Q", format=".4f")],
        )
        marks = alt.Data(values=[{"at": 0.1}, {"at": 0.2}, {"at": 0.9}])
        return alt.layer(lines, alt.Chart(marks).mark_rule(strokeDash=[4, 4]).encode(x="at:Q"))

    return Figure(
        id=f"offset-{x}",
        title=f"The threshold that mends the theorem, {X_TEXT[x]}",
        caption="Exact probability of success at n = 256, m = 30 against the offset o, one line a "
        "dimension. Dashed: the paper's 0.1, then b = 0.2 and 0.9, between which every d succeeds.",
        data=data,
        draw=draw,
    )


def _dimension_rows(view: View) -> Rows:
    return [
        {
            "b": b,
            "X": X_TEXT[x],
            "d": cell.config.d,
            "spoiled": 1 - view.row(cell).zero,
            "predicted_d": theory.zero_dimension(b, 0.1, 15, grids.DELTA),
        }
        for x in grids.XS
        for b in grids.DIMENSION_BS
        for cell in grids.dimension_sweep(b, x)
    ]


def _draw_dimension(rows: Rows) -> Drawn:
    ones = [row for row in rows if row["X"] == X_TEXT["ones"] and row["spoiled"] > 1e-6]
    colour = alt.Color("b:O", title="b", scale=alt.Scale(scheme="viridis"))
    lines = (
        alt.Chart(alt.Data(values=ones))
        .mark_line(point=True)
        .encode(
            x=alt.X("d:Q", title="dimension d", scale=alt.Scale(type="log")),
            y=alt.Y(
                "spoiled:Q",
                title="probability that a zero claim breaks",
                scale=alt.Scale(type="log", domain=[1e-6, 1]),
            ),
            color=colour,
        )
    )
    predicted = [{"b": b, "d": theory.zero_dimension(b, 0.1, 15, 0.01)} for b in grids.DIMENSION_BS]
    rules = (
        alt.Chart(alt.Data(values=predicted))
        .mark_rule(strokeDash=[4, 4])
        .encode(x="d:Q", color=colour)
    )
    level = alt.Chart(alt.Data(values=[{"at": grids.DELTA}])).mark_rule().encode(y="at:Q")
    return alt.layer(lines, rules, level)


NAMED_KINDS: tuple[tuple[Kind, str], ...] = (("linear", "f_lin"), ("softmax", "f_exp"))


def _sum_rows(view: View) -> Rows:
    return [
        {
            "n": cell.config.n,
            "sum": f"{name} on D{label}",
            "rms": view.row(cell).mean_square ** 0.5,
            "bound": view.row(cell).bound if kind == "linear" else None,
        }
        for kind, name in NAMED_KINDS
        for label in (0, 1)
        for cell in grids.sign_sum_cells(kind, label, view.seed)
    ]


def _draw_sums(rows: Rows) -> Drawn:
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("n:Q", title="n", scale=alt.Scale(type="log", domain=[90, 1800])),
        color=alt.Color("sum:N", title=None),
    )
    return alt.layer(
        base.mark_line(point=True).encode(
            y=alt.Y("rms:Q", title="size of ⟨f, σ⟩", scale=alt.Scale(type="log"))
        ),
        base.transform_filter("isValid(datum.bound)")
        .mark_line(strokeDash=[4, 4])
        .encode(y="bound:Q"),
    )


FIGURES = (
    *(_regression_figure(panel) for panel in "ab"),
    *(_sweep_figure(panel, x) for x in grids.XS for panel in grids.PANELS),
    *(_map_figure(plane, x) for plane in ("d-m", "a0-a1") for x in grids.XS),
    *(_offset_figure(x) for x in grids.XS),
    Figure(
        id="dimension",
        title="The dimension that the zero claims need, X = 1",
        caption="Exact probability that F_lin(D1), F_exp(D0) or F_lin(D0) is not zero, at n = 5040 "
        "and m = 15. Dashed: 2 (b/0.1)² log(m/δ); solid level: δ = 0.01.",
        data=_dimension_rows,
        draw=_draw_dimension,
    ),
    Figure(
        id="sign-sums",
        title="Random sums of attention weights (Lemmas 4.1 and 4.2)",
        caption="Root mean square of ⟨f, σ⟩ over random signs σ against n. Dashed: the lemmas' "
        "bounds for f_lin with Hoeffding's constant and δ = 0.01.",
        data=_sum_rows,
        draw=_draw_sums,
    ),
)
