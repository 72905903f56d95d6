"""The study of `separation` at the quick scale, computed once, and ways to break its results."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import jaxtyping
import pytest

from attnlab.lab.ledger import judge
from attnlab.lab.part import compute, decode
from attnlab.lab.study import View
from attnlab.separation.study import study


@pytest.fixture(scope="session")
def plan(seed):
    return study.plan("quick", seed)


@pytest.fixture(scope="session")
def view(plan):
    """The study as a person runs it, without the tests' type checks."""
    jaxtyping.config.update("jaxtyping_disable", True)
    results = {}
    for cell in plan.cells.values():
        results.update(decode(cell, compute(cell).part))
    jaxtyping.config.update("jaxtyping_disable", False)
    return View("quick", plan.seed, results)


@pytest.fixture(scope="session")
def entry():
    """The line of the ledger of one claim."""
    claims = {claim.id: claim for claim in study.claims}
    return lambda claim_id, view: judge(study, claims[claim_id], view)


@dataclass(frozen=True)
class Altered(Mapping):
    """Results in which fields of some rows are replaced, by a value or a function of it."""

    results: Mapping
    configs: Mapping  # of the points whose rows are replaced, by key
    fields: Mapping

    def __getitem__(self, key):
        rows = self.results[key]
        if key not in self.configs:
            return rows
        return [
            replace(row, **{n: self._new(key, v, getattr(row, n)) for n, v in self.fields.items()})
            for row in rows
        ]

    def _new(self, key, value, old):
        return value(self.configs[key], old) if callable(value) else value

    def __iter__(self):
        return iter(self.results)

    def __len__(self):
        return len(self.results)


@pytest.fixture(scope="session")
def altered(plan):
    """A view whose rows of one kind, where `when` is true of the configuration, are changed."""
    points = [point for cell in plan.cells.values() for point in cell.points]

    def alter(view, kind, when=lambda config: True, **fields):
        configs = {
            point.key: point.config
            for point in points
            if point.kind.name == f"separation_{kind}" and when(point.config)
        }
        assert configs
        return replace(view, results=Altered(view.results, configs, fields))

    return alter
