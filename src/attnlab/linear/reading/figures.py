"""The pictures of a reading: omegas, steps, profile, spectral filter, and P and Q of FULL weights.

A picture is a table and a function that draws it with Altair, without a theme; whoever shows it
adds the theme. Altair is imported only when something is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnlab.drawing.chart_data import chart_data
from attnlab.lab.presentation import Picture, Rows
from attnlab.linear.models.weights import FullWeights
from attnlab.linear.reading.algorithm import LinearReading
from attnlab.linear.reading.spectrum import ridge_filter

if TYPE_CHECKING:
    import altair as alt

    from attnlab.lab.presentation import Chart

POINTS = 60  # points of a curve over eigenvalues
CELL = 14  # the largest width of a matrix entry in pixels
MATRIX, MATRICES = 44, 260  # the least width of a matrix and the width of all layers, in pixels


def pictures(reading: LinearReading) -> list[Picture]:
    """The pictures that apply to this network."""
    nearest = "" if reading.diagonal is None else " They are those of the nearest diagonal network."
    found = [
        Picture(
            "omegas",
            "The four omegas by layer",
            "omega_xx preconditions, omega_yx takes the gradient step, omega_xy makes later steps "
            f"depend on the noise, and omega_yy rescales the labels.{nearest}",
            omega_rows(reading),
            draw_omegas,
        ),
        Picture(
            "profile",
            "Distance to ridge and to Bayes by noise level",
            "Half the mean squared distance between the weights w, with standard errors. Ridge "
            "uses the true noise level, Bayes only its law.",
            profile_rows(reading),
            draw_profile,
        ),
    ]
    if all(layer.levels for layer in reading.layers):
        step = Picture(
            "steps",
            "Gradient step of every layer by noise level",
            "The gradient step, on the inputs of the layer, that is nearest in least squares to "
            "the layer's change of w, with standard errors.",
            step_rows(reading),
            draw_steps,
        )
        found.insert(1, step)
    if any(level.filter is not None for level in reading.levels):
        found.append(
            Picture(
                "filter",
                "The network as a spectral filter",
                "The filter f of w = f(Sigma) w* against the eigenvalue s of Sigma (solid), and "
                "that of ridge, s / (s + σ²) (dashed). f is exact for GD++ and the best polynomial "
                "otherwise.",
                filter_rows(reading),
                draw_filter,
            )
        )
    if isinstance(reading.weights, FullWeights):
        found.append(
            Picture(
                "matrices",
                "P and Q of every layer",
                "Every matrix is divided by its largest entry in absolute value. The last row and "
                "column belong to the label.",
                matrix_rows(reading.weights),
                draw_matrices,
            )
        )
    return found


def omega_rows(reading: LinearReading) -> Rows:
    """The omegas of every layer."""
    return [
        {"layer": layer.number, "omega": f"omega_{name}", "value": getattr(layer, name)}
        for layer in reading.layers
        for name in ("xx", "xy", "yx", "yy")
    ]


def step_rows(reading: LinearReading) -> Rows:
    """The gradient step of every layer at every noise level."""
    return [
        {"layer": layer.number, "sigma": at.sigma, **_bar(at.step.value, at.step.standard_error)}
        for layer in reading.layers
        for at in layer.levels
    ]


def profile_rows(reading: LinearReading) -> Rows:
    """The distances to ridge and to Bayes at every noise level."""
    names = {
        "loss": "network to ridge",
        "bayes_loss": "Bayes to ridge",
        "to_bayes": "network to Bayes",
    }
    found = []
    for level in reading.levels:
        for field, name in names.items():
            estimate = getattr(level, field)
            bar = _bar(estimate.value, estimate.standard_error)
            found.append({"sigma": level.sigma, "distance": name, **bar})
    return found


def filter_rows(reading: LinearReading) -> Rows:
    """The spectral filters of the network and of ridge."""
    found = []
    for level in reading.levels:
        if level.filter is None:
            continue
        s = np.linspace(*level.filter.seen, POINTS)
        for kind, values in (
            ("network", level.filter(s)),
            ("ridge", ridge_filter(s, level.sigma)),
        ):
            found += [
                {"s": float(x), "f": float(y), "sigma": level.sigma, "kind": kind}
                for x, y in zip(s, values, strict=True)
            ]
    return found


def matrix_rows(weights: FullWeights) -> Rows:
    """The entries of P and Q of every layer."""
    found = []
    for name, array in (("P", weights.P), ("Q", weights.Q)):
        for (layer, head), _ in np.ndenumerate(np.zeros(array.shape[:2])):
            matrix = np.asarray(array[layer, head], np.float64)
            largest = np.abs(matrix).max() or 1.0
            label = name if weights.heads == 1 else f"{name}, head {head + 1}"
            for (row, column), value in np.ndenumerate(matrix):
                found.append(
                    {
                        "layer": layer + 1,
                        "matrix": label,
                        "row": row + 1,
                        "column": column + 1,
                        "value": float(value),
                        "share": float(value / largest),
                    }
                )
    return found


def draw_omegas(rows: Rows) -> Chart:
    import altair as alt

    base = alt.Chart(chart_data(rows)).encode(
        x=alt.X("layer:O", title="layer"),
        y=alt.Y("value:Q", title=None),
        tooltip=[
            alt.Tooltip("layer:O"),
            alt.Tooltip("omega:N"),
            alt.Tooltip("value:Q", format=".4g"),
        ],
    )
    return (
        alt.layer(base.mark_line(opacity=0.4), base.mark_point())
        .properties(width=170, height=130)
        .facet(alt.Facet("omega:N", title=None), columns=2, align="each")
        .resolve_scale(y="independent")
    )


def draw_steps(rows: Rows) -> Chart:
    import altair as alt

    colour = alt.Color("layer:O", title="layer")
    return _with_bars(rows, colour, "gradient step")


def draw_profile(rows: Rows) -> Chart:
    import altair as alt

    order = ["network to ridge", "Bayes to ridge", "network to Bayes"]
    colour = alt.Color("distance:N", title=None, sort=order)
    return _with_bars(rows, colour, "half squared distance of w")


def draw_filter(rows: Rows) -> Chart:
    import altair as alt

    dash = alt.StrokeDash("kind:N", title=None, scale=alt.Scale(range=[[1, 0], [5, 4]]))
    return (
        alt.Chart(chart_data(rows))
        .mark_line()
        .encode(
            x=alt.X("s:Q", title="eigenvalue s of Sigma"),
            y=alt.Y("f:Q", title="f(s)"),
            color=alt.Color("sigma:O", title="σ"),
            strokeDash=dash,
            tooltip=[
                alt.Tooltip("kind:N"),
                alt.Tooltip("sigma:O"),
                alt.Tooltip("f:Q", format=".3f"),
            ],
        )
    )


def draw_matrices(rows: Rows) -> Chart:
    import altair as alt

    share = max(MATRICES // max(row["layer"] for row in rows), MATRIX)
    size = min(CELL * max(row["row"] for row in rows), share)
    shade = alt.Scale(domain=[-1, 0, 1], range=["#0072b2", "#f2f2f2", "#d55e00"])
    return (
        alt.Chart(chart_data(rows))
        .mark_rect()
        .encode(
            x=alt.X("column:O", title=None),
            y=alt.Y("row:O", title=None),
            color=alt.Color("share:Q", title="entry / largest", scale=shade),
            tooltip=[
                alt.Tooltip("layer:O"),
                alt.Tooltip("row:O"),
                alt.Tooltip("column:O"),
                alt.Tooltip("value:Q", format=".4g"),
            ],
        )
        .properties(width=size, height=size)
        .facet(row=alt.Row("matrix:N", title=None), column=alt.Column("layer:O", title="layer"))
    )


def _with_bars(rows: Rows, colour: alt.Color, title: str) -> Chart:
    import altair as alt

    base = alt.Chart(chart_data(rows)).encode(
        x=alt.X("sigma:Q", title="noise level σ"), color=colour
    )
    tooltip = [
        "sigma:Q",
        alt.Tooltip("value:Q", format=".4g"),
        alt.Tooltip("error:Q", title="standard error", format=".1g"),
    ]
    return alt.layer(
        base.mark_rule().encode(y=alt.Y("low:Q", title=title), y2=alt.Y2("high:Q")),
        base.mark_line().encode(y=alt.Y("value:Q", title=title)),
        base.mark_point().encode(y=alt.Y("value:Q", title=title), tooltip=tooltip),
    )


def _bar(value: float, error: float) -> dict[str, float]:
    return {"value": value, "low": value - error, "high": value + error, "error": error}
