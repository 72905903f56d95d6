"""Changes of stored rows, so that a claim can be shown evidence that is broken or that fits."""

import functools
import math
from dataclasses import replace

from attnlab.random.study import grids


@functools.cache
def every_cell(scale, seed):
    return grids.cells(scale, seed)


def changed(view, *changes):
    """The same results with fields replaced; a change is (kind, f(config, row) -> new fields)."""
    results = dict(view.results)
    for kind, change in changes:
        for cell in every_cell(view.scale, view.seed):
            if cell.kind.name == f"random_{kind}":
                results[cell.key] = [
                    replace(row, **change(cell.config, row)) for row in results[cell.key]
                ]
    return replace(view, results=results)


def times(factor, kind, when, field="icl"):
    """A change that multiplies one field of the rows where `when(config, row)` is true."""

    def change(config, row):
        value = getattr(row, field)
        return {field: factor * value} if value is not None and when(config, row) else {}

    return kind, change


def to(kind, when=lambda config, row: True, **fields):
    """A change that sets fields, to values or functions of the row."""

    def change(config, row):
        if not when(config, row):
            return {}
        return {name: f(row) if callable(f) else f for name, f in fields.items()}

    return kind, change


def fitted(panel, model, target="relu", where=lambda config, row: True):
    """Rows of some models of some panels."""
    return lambda config, row: (
        config.panel in panel.split("|")
        and config.target == target
        and row.model in model.split("|")
        and where(config, row)
    )


def table(name, model=None):
    """Rows of one of the laws' tables."""
    return lambda config, row: row.table == name and model in (None, row.model)


def shifted(resolution, *whens, field="icl", sign=1):
    """Log errors moved by twice the resolution."""
    factor = math.exp(sign * 2 * resolution.value)
    return [times(factor, "run", when, field) for when in whens]


def crossed(resolution, *whens, field="icl", sign=1):
    """Log errors moved to twice the resolution beyond the line of a statement about a sign.

    The limit of such a resolution is how far the point that decides is from the line.
    """
    factor = math.exp(sign * (resolution.limit + 2 * resolution.value))
    return [times(factor, "run", when, field) for when in whens]
