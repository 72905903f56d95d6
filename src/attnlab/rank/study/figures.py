"""The pictures of trained encoders: Figures 1 to 4 of the paper, and the ablations.

Every configuration shows the mean over seeds of the held-out error with the range of its seeds; the
numbers read off the paper's pictures stand beside it, though they are least training losses.
Drawing functions see only the table that is published beside the picture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnlab.drawing.chart_data import chart_data
from attnlab.lab.cell import Cell
from attnlab.lab.study import Figure, View
from attnlab.rank.study import (
    figures_bounds,
    figures_conjecture_8,
    figures_hardened,
    figures_printed,
    figures_theory,
    grids,
    published,
)
from attnlab.rank.study.results import held_out

if TYPE_CHECKING:
    from attnlab.lab.study import Drawn

Rows = list[dict[str, Any]]
READ_OFF = "published, d = 64 (training)"


def _entry(view: View, cell: Cell, **names: Any) -> dict[str, Any]:
    found, rows = held_out(view, cell), view.rows(cell)
    least = [row.least_training for row in rows if row.least_training is not None]
    return {
        **names,
        "rank": cell.config.rank,
        "heads": rows[0].head_count,
        "weights": rows[0].weights,
        "mean": found.mean if found.errors else None,
        "deviation": found.deviation,
        "best": found.best if found.errors else None,
        "worst": max(found.errors, default=None),
        "least_training": min(least, default=None),
        "lost": found.diverged,
    }


def _read_off(ranks: tuple[int, ...], values: tuple[float, ...], **names: Any) -> Rows:
    return [
        {**names, "rank": rank, "mean": value} for rank, value in zip(ranks, values, strict=True)
    ]


def _figure_1(view: View) -> Rows:
    rows: Rows = []
    for (layers, width), values in published.FIGURE_1.items():
        panel = {"layers": f"L = {layers}", "width": width}
        ours = f"ours, d = {grids.PANELS[view.scale].base.d} (held out)"
        rows += [
            _entry(view, cell, **panel, source=ours)
            for cell in grids.figure_1(view.scale, layers, width, view.seed)
        ]
        rows += _read_off(published.RANKS_1, values, **panel, source=READ_OFF)
    return rows


def _lines(colour: str, title: str | None, dashed: str | None = None) -> Any:
    """Layers without data of their own: only those of a facet are divided among its panels.

    `colour` and `dashed` name the columns that colours and dashes stand for.
    """
    import altair as alt

    rank = alt.X("rank:Q", title="rank r", scale=alt.Scale(type="log", base=2))
    error = alt.Y("mean:Q", title="squared error", scale=alt.Scale(type="log"))
    shade = alt.Color(f"{colour}:N", title=title, legend=alt.Legend(columns=2))
    base = alt.Chart().encode(x=rank, color=shade)
    lines = base.mark_line().encode(y=error)
    if dashed:
        key = alt.Legend(columns=1, symbolType="stroke", symbolSize=300)
        # Points with dashes would take the lines out of the legend.
        lines = lines.encode(strokeDash=alt.StrokeDash(f"{dashed}:N", title=None, legend=key))
    numbers = (alt.Tooltip(f"{name}:Q", format=".4f") for name in ("mean", "best"))
    ranges = base.transform_filter("isValid(datum.best)").mark_rule(strokeWidth=3, opacity=0.5)
    return alt.layer(
        lines,
        base.mark_circle(size=40, opacity=1).encode(
            y=error, tooltip=[alt.Tooltip("rank:Q"), alt.Tooltip("heads:Q"), *numbers]
        ),
        ranges.encode(y=alt.Y("best:Q"), y2=alt.Y2("worst:Q")),
    )


def _draw_1(rows: Rows) -> Drawn:
    """One panel per depth with one line per width, as in the paper; published ones are dashed."""
    import altair as alt

    return _lines("width", "weights per layer", "source").properties(width=170, height=200).facet(
        column=alt.Column("layers:N", title=None), data=chart_data(rows)
    )  # fmt: skip


def _figure_2(view: View) -> Rows:
    d = grids.PANELS[view.scale].base.d
    found: Rows = []
    for layers in (1, 3):
        for width in grids.widths(d):
            for cell in grids.figure_1(view.scale, layers, width, view.seed):
                found += [
                    {
                        "rank": cell.config.rank,
                        "heads": row.head_count,
                        "layers": layers,
                        "seed": row.member,
                        "angle": row.median_angle,
                        "norm": row.median_norm,
                        "numerical_rank": row.form_rank,
                        "source": f"ours, rank {'d' if cell.config.rank == d else 'below d'}, "
                        f"L = {layers}",
                    }
                    for row in view.rows(cell)
                ]
    return found + [
        {"rank": 64, "heads": heads, "layers": 1, "angle": angle, "source": "published, rank d"}
        for heads, angle in published.FIGURE_2.items()
    ]


def _draw_2(rows: Rows) -> Drawn:
    import altair as alt

    base = (
        alt.Chart(chart_data(rows))
        .mark_point(filled=True, size=60)
        .encode(
            x=alt.X("heads:Q", title="heads H", scale=alt.Scale(type="log", base=2)),
            color=alt.Color("source:N", title=None),
            tooltip=[
                alt.Tooltip("rank:Q"),
                alt.Tooltip("heads:Q"),
                alt.Tooltip("layers:Q"),
                alt.Tooltip("angle:Q"),
                alt.Tooltip("norm:Q"),
            ],
        )
        .properties(width=220)
    )
    whole = alt.Scale(zero=False)
    angle = alt.Y("angle:Q", title="median angle of K Qᵀ to I, degrees", scale=whole)
    norm = alt.Y("norm:Q", title="median norm of K Qᵀ", scale=alt.Scale(type="log"))
    return alt.concat(
        base.encode(y=angle), base.transform_filter("isValid(datum.norm)").encode(y=norm)
    )


def _figure_3(view: View) -> Rows:
    rows: Rows = []
    for layers in (1, 3):
        for encoding in grids.ENCODINGS:
            rows += [
                _entry(view, cell, layers=f"L = {layers}", encoding=encoding)
                for cell in grids.figure_3(view.scale, layers, encoding, view.seed)
            ]
    for encoding, values in published.FIGURE_3.items():
        names = {"layers": "L = 3", "encoding": f"{encoding} (published)"}
        rows += _read_off(published.RANKS_3, values, **names)
    return rows


def _draw_3(rows: Rows) -> Drawn:
    import altair as alt

    return _lines("encoding", "encoding").properties(width=180).facet(
        column=alt.Column("layers:N", title=None), data=chart_data(rows)
    )  # fmt: skip


def _figure_4(view: View) -> Rows:
    rows: Rows = []
    for N in grids.PANELS[view.scale].lengths:
        cells = grids.figure_4(view.scale, N, view.seed)
        ours = f"ours, d = {grids.PANELS[view.scale].base.d} (held out)"
        rows += [_entry(view, cell, N=f"N = {N:>3}", source=ours) for cell in cells]
    for N, values in sorted(published.FIGURE_4.items()):
        rows += _read_off(published.RANKS_4, values, N=f"N = {N:>3}", source=READ_OFF)
    return rows


def _draw_4(rows: Rows) -> Drawn:
    """One line per number of points, ours and the published ones in one panel."""
    return _lines("N", "points", "source").properties(
        width=320, height=240, data=chart_data(rows)
    )  # fmt: skip


def _rates(view: View) -> Rows:
    rows: Rows = []
    for layers in (1, 3, 5):
        panel = {"layers": f"L = {layers}"}
        others = grids.other_rates(view.scale, layers, view.seed) if layers > 1 else []
        own = grids.figure_1(view.scale, layers, "d²", view.seed)
        rows += [
            _entry(view, cell, **panel, rate=f"{cell.config.rate:g}") for cell in [*own, *others]
        ]
        values = published.FIGURE_1[layers, "d²"]
        rows += _read_off(published.RANKS_1, values, **panel, rate=f"0.01, {READ_OFF}")
    return rows


def _draw_rates(rows: Rows) -> Drawn:
    import altair as alt

    return _lines("rate", "learning rate").properties(width=170).facet(
        column=alt.Column("layers:N", title=None), data=chart_data(rows)
    )  # fmt: skip


STREAMS = {  # the field of a row, and what it is called, by stream
    "replayed": {"least_training": "replayed, least training", "test": "replayed, held out"},
    "fresh": {"test": "fresh stream, held out"},
}


def _replay(view: View) -> Rows:
    rows: Rows = []
    for layers in (1, 3, 5):
        for cell in grids.figure_1_replayed(view.scale, layers, view.seed):
            rank = cell.config.rank
            fresh = grids.encoder_cell(view.scale, view.seed, layers=layers, rank=rank)
            rows += [
                {"layers": f"L = {layers}", "rank": rank, "what": what, "seed": row.member,
                 "error": getattr(row, field)}
                for stream, one in (("replayed", cell), ("fresh", fresh))
                for field, what in STREAMS[stream].items()
                for row in view.rows(one)
            ]  # fmt: skip
        rows += [
            {"layers": f"L = {layers}", "rank": rank, "what": READ_OFF, "error": value}
            for rank, value in zip(published.RANKS_1, published.FIGURE_1[layers, "d²"], strict=True)
        ]
    return rows


def _draw_replay(rows: Rows) -> Drawn:
    import altair as alt

    return (
        alt.Chart(chart_data(rows))
        .mark_point(filled=True, size=45)
        .encode(
            x=alt.X("rank:Q", title="rank r", scale=alt.Scale(type="log", base=2)),
            y=alt.Y("error:Q", title="squared error", scale=alt.Scale(type="log")),
            color=alt.Color("what:N", title=None, legend=alt.Legend(columns=1)),
            tooltip=[
                alt.Tooltip("what:N"),
                alt.Tooltip("rank:Q"),
                alt.Tooltip("seed:Q"),
                alt.Tooltip("error:Q", format=".4f"),
            ],
        )
        .properties(width=150, height=180)
        .facet(column=alt.Column("layers:N", title=None))
    )


def _ablations(view: View) -> Rows:
    d = grids.PANELS[view.scale].base.d
    shown = [
        ("as in Figure 1", [grids.fresh(view.scale, view.seed)]),
        ("as in Figure 1", [grids.encoder_cell(view.scale, view.seed, rank=d)]),
        ("no perceptron", grids.without_mlp(view.scale, view.seed)),
        ("no biases", [bare for _, bare in grids.without_biases(view.scale, view.seed)]),
    ]
    return [
        {
            "what": f"{name}, r = {cell.config.rank}",
            "seed": row.member,
            "measure": measure,
            "value": value,
        }
        for name, cells in shown
        for cell in cells
        for row in view.rows(cell)
        for measure, value in (("held out", row.test), ("least training", row.least_training))
    ]


def _draw_ablations(rows: Rows) -> Drawn:
    import altair as alt

    return (
        alt.Chart(chart_data(rows))
        .mark_point(filled=True, size=60)
        .encode(
            x=alt.X("value:Q", title="squared error"),
            y=alt.Y("what:N", title=None),
            color=alt.Color("measure:N", title=None),
            tooltip=[
                alt.Tooltip("what:N"),
                alt.Tooltip("seed:Q"),
                alt.Tooltip("measure:N"),
                alt.Tooltip("value:Q", format=".4f"),
            ],
        )
    )


FIGURES = (
    Figure(
        "fig-1",
        "Figure 1: error against the rank",
        "Encoders of L layers and three widths look for the farthest of N points. One panel per "
        "depth with a line per width; published ones are told apart by their dashes. Points show "
        "the mean over seeds of the held-out error, bars the range over seeds; published is the "
        "least training loss of replayed batches, best of five.",
        _figure_1,
        _draw_1,
    ),
    Figure(
        "fig-2",
        "Figure 2: what the heads of the first layer learn",
        "Angle of K Qᵀ to the identity and its Frobenius norm, medians over the heads of the first "
        "layer, one point per seed. 180° is −c I; a negative multiple of a projection to r "
        "dimensions has arccos(−√(r/d)). We have no published numbers for the norm.",
        _figure_2,
        _draw_2,
    ),
    *figures_hardened.FIGURES,
    Figure(
        "fig-3",
        "Figure 3: positional encodings",
        "Encoders of width d^2.5 without encodings, with additive and with concatenated ones, and "
        "padded with zeros to the same width. The scale `quick` shows only the published numbers.",
        _figure_3,
        _draw_3,
    ),
    Figure(
        "fig-4",
        "Figure 4: error against the rank for several N",
        "Encoders have two layers of width d³, with a line per number of points; published ones "
        "are told apart by their dashes. Ours are held-out errors with the range over seeds, "
        "published ones least training losses. The scale `quick` shows only the published numbers.",
        _figure_4,
        _draw_4,
    ),
    Figure(
        "replay",
        "Figure 1, standard width: training loss and held-out error",
        "The least training loss and the held-out error of encoders trained on 100 replayed "
        "batches, the held-out error of those trained on a fresh stream, and the published "
        "numbers. One point per seed.",
        _replay,
        _draw_replay,
    ),
    Figure(
        "rates",
        "Figure 1, standard width: other learning rates",
        "Encoders of width d². The paper has the rate .01 at all depths; the scale `paper` also "
        "trains three and five layers at .003 and .001. Points show the mean over seeds of the "
        "held-out error, bars the range over seeds.",
        _rates,
        _draw_rates,
    ),
    Figure(
        "ablations",
        "Without the perceptron, and without biases",
        "Encoders have one layer of width d². Points show the held-out error and the least "
        "training loss of every seed.",
        _ablations,
        _draw_ablations,
    ),
    *figures_bounds.FIGURES,
    *figures_printed.FIGURES,
    *figures_theory.FIGURES,
    *figures_conjecture_8.FIGURES,
)
