"""The paper's sweeps as pairs of a problem and its network, for tests of the library."""

import functools
from dataclasses import replace

from attnlab.separation import theory
from attnlab.separation.study import grids


@functools.cache
def attention_sweeps(X="identity", *, keep_b=True):
    """Figure 4 or 5: swept parameter -> its points."""
    return {
        swept: _points(grids.attention_sweep(panel, X, 0, keep_b=keep_b))
        for panel, swept in grids.PANELS.items()
    }


@functools.cache
def attention_laws(X):
    """Every point of Figure 4 or 5: swept parameter, problem, network and law of one neuron."""
    return [
        (swept, pair, network, theory.neuron_law(pair, network))
        for swept, points in attention_sweeps(X).items()
        for pair, network in points
    ]


def regression_sweeps(data="uniform"):
    """Figure 3: swept parameter -> its points."""
    sweeps = {
        "n": grids.regression_sweep("a", "paper", 0),
        "m": grids.regression_sweep("b", "paper", 0),
    }
    return {
        swept: _points([grids.regression(replace(cell.config, data=data)) for cell in cells])
        for swept, cells in sweeps.items()
    }


def _points(cells):
    return [(cell.config.problem(), cell.config.network()) for cell in cells]
