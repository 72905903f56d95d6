"""A reading as tables of short texts, for a terminal or a page.

There are four: the weights of every layer, the effects of every layer at the lowest and the highest
noise level, its momentum form beside heavy-ball momentum, and the network at every noise level.
"""

import numpy as np

from attnlab.lab.presentation import TextTable
from attnlab.linear.reading.algorithm import LinearReading
from attnlab.linear.reading.layers import LayerAt, Term
from attnlab.linear.reading.spectrum import ridge_filter
from attnlab.linear.reading.words import number


def tables(reading: LinearReading) -> list[TextTable]:
    """The tables that apply to this network."""
    found = [weights_table(reading)]
    if all(layer.levels for layer in reading.layers):
        found.append(action_table(reading))
        if reading.size_xy:
            found.append(momentum_table(reading))
    return [*found, level_table(reading)]


def weights_table(reading: LinearReading) -> TextTable:
    """The omegas of every layer, and for FULL weights the distance to the diagonal form."""
    columns = ["layer", "omega_xx", "omega_xy", "omega_yx", "omega_yy"]
    rows = [
        [str(layer.number), *(_short(v) for v in (layer.xx, layer.xy, layer.yx, layer.yy))]
        for layer in reading.layers
    ]
    note = ""
    if reading.diagonal is not None:
        columns += ["P off", "Q off", "layer off"]
        for row, *off in zip(
            rows, reading.diagonal.P, reading.diagonal.Q, reading.diagonal.layer, strict=True
        ):
            row.extend(_short(float(value)) for value in off)
        note = (
            "The omegas are those of the nearest diagonal network; off: relative Frobenius "
            "distance of P, Q and the whole layer to it."
        )
    return TextTable("Weights", tuple(columns), [tuple(row) for row in rows], note)


def action_table(reading: LinearReading) -> TextTable:
    """The effects of every layer at the lowest and the highest noise level."""
    ends = (reading.layers[0].levels[0], reading.layers[0].levels[-1])
    at = [f"σ={level.sigma:g}" for level in (ends if ends[0] != ends[1] else ends[:1])]
    columns = (
        "layer",
        *(f"step {level}" for level in at),
        "explained",
        *(f"rescale {level}" for level in at),
        "κ before",
        "κ after",
    )
    rows = []
    for layer in reading.layers:
        chosen = [layer.levels[0], layer.levels[-1]][: len(at)]
        rows.append(
            (
                str(layer.number),
                *(number(level.step) for level in chosen),
                f"{min(level.explained for level in layer.levels):.3f}",
                *(number(level.rescaling) for level in chosen),
                *(_short(value) for value in chosen[0].condition),
            )
        )
    note = (
        "step: the gradient step, on the inputs of the layer, that is nearest to its change of w; "
        "explained: the least share of the change that this step explains; rescale: the factor on "
        "y and w; κ: the condition number of Sigma at the lowest noise level."
    )
    return TextTable("What the layers do", columns, rows, note)


def momentum_table(reading: LinearReading) -> TextTable:
    """The momentum form at the middle noise level, beside heavy-ball momentum."""
    middle = len(reading.layers[0].levels) // 2
    columns = ("layer", "Lambda", "Gamma", "s", "Pi", "Phi", "from u")
    rows = [(str(layer.number), *_momentum(layer.levels[middle])) for layer in reading.layers]
    rows.append(("heavy ball", "beta", "-1", "0", "0", "eta", "100%"))
    sigma = reading.layers[0].levels[middle].sigma
    note = (
        "u' = (I - Lambda) u + Gamma g, w' = (1 + s) w - Pi g - Phi u with the gradient g; each "
        "matrix is given as the nearest multiple of I, with the share of its norm outside of it in "
        "brackets; from u: the share of the change of w that comes from u."
    )
    return TextTable(f"Momentum form at σ={sigma:g}", columns, rows, note)


def level_table(reading: LinearReading) -> TextTable:
    """The network, Bayes and ridge at every noise level."""
    n = reading.problem.n
    columns = ("σ", "to ridge", "Bayes to ridge", "to Bayes", f"f({n})", "ridge's", "explained")
    rows = []
    for level in reading.levels:
        s = np.array([float(n)])
        fitted = level.filter
        rows.append(
            (
                f"{level.sigma:g}",
                *(number(each) for each in (level.loss, level.bayes_loss, level.to_bayes)),
                "" if fitted is None else f"{float(fitted(s)[0]):.3f}",
                f"{float(ridge_filter(s, level.sigma)[0]):.3f}",
                "" if fitted is None else f"{fitted.explained:.3f}",
            )
        )
    note = (
        "to ridge: half the mean squared distance of w to that of ridge with the true σ; "
        f"f({n}): the filter of w = f(Sigma) w* at the eigenvalue {n}; explained: the share of w "
        "that the filter explains."
    )
    return TextTable("By noise level", columns, rows, note)


def _momentum(at: LayerAt) -> tuple[str, ...]:
    terms = at.momentum
    return (
        _term(terms.Lambda),
        _term(terms.Gamma),
        _short(terms.s.value),
        _term(terms.Pi),
        _term(terms.Phi),
        f"{100 * terms.share:.2g}%",
    )


def _term(term: Term) -> str:
    return f"{_short(term.c.value)} ({term.rest:.2f})" if term.c.value else "0"


def _short(value: float) -> str:
    return f"{value:.3g}" if value else "0"
