"""Evidence with some rows replaced: what the tests feed to the claims of `rank`."""

import functools
import inspect
from dataclasses import replace

from attnlab.lab.ledger import judge
from attnlab.rank.study import grids, study


@functools.cache
def cells(scale, seed):
    """The cells of a scale, whose keys are then computed once."""
    return grids.cells(scale, seed)


def entry(claim_id, view):
    """The line of the ledger of one claim."""
    (claim,) = [claim for claim in study.claims if claim.id == claim_id]
    found = judge(study, claim, view)
    assert not found.broken, found.note
    return found


def changed(view, kind, when=lambda config: True, config=None, **fields):
    """The same results with fields of some rows replaced.

    A field gets a value, or a function of the old value and the row; those in `config` get a
    function of the cell's configuration and the old value.
    """
    results = dict(view.results)
    for cell in cells(view.scale, view.seed):
        if cell.kind.name == f"rank_{kind}" and when(cell.config):
            results[cell.key] = [
                replace(
                    row,
                    **{name: _value(value, row, name) for name, value in fields.items()},
                    **{
                        name: value(cell.config, getattr(row, name))
                        for name, value in (config or {}).items()
                    },
                )
                for row in view.results[cell.key]
            ]
    return replace(view, results=results)


def _value(value, row, name):
    if not callable(value):
        return value
    assert len(inspect.signature(value).parameters) == 2
    return value(getattr(row, name), row)


def low(config):
    return config.rank < config.d


def full(config):
    return config.rank == config.d


def is_built(name):
    return lambda config: config.construction == name
