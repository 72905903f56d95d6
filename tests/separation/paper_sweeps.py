"""The paper's sweeps as pairs of a problem and its network, for tests of the library."""

from dataclasses import replace

from attnlab.separation.study import grids


def attention_sweeps(X="identity", *, keep_b=True):
    """Figure 4 or 5: swept parameter -> its points."""
    return {
        swept: _points(grids.attention_sweep(panel, X, 0, keep_b=keep_b))
        for panel, swept in grids.PANELS.items()
    }


def regression_sweeps(data="uniform"):
    """Figure 3: swept parameter -> its points."""
    sweeps = {
        "n": grids.regression_sweep("a", "paper", 0),
        "m": grids.regression_sweep("b", "paper", 0),
    }
    return {
        swept: [
            (point.problem(), point.network())
            for point in (replace(cell.config, data=data) for cell in cells)
        ]
        for swept, cells in sweeps.items()
    }


def _points(cells):
    return [(cell.config.problem(), cell.config.network()) for cell in cells]
