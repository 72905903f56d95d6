"""The runner: asks the store first, sends the rest to an engine, keeps each result as it comes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console

from attnlab.errors import AttnlabError, UserError
from attnlab.lab.cell import AnyCell
from attnlab.lab.engine import Engine
from attnlab.lab.part import Finished, decode
from attnlab.lab.progress import meter
from attnlab.lab.provenance import RunLog
from attnlab.lab.store import Store
from attnlab.lab.study import Plan, View
from attnlab.lab.task import Task


@dataclass
class Summary:
    """What became of the cells of one plan.

    `results` are the rows by the key of their point, `seconds` what the computed cells took.
    """

    plan: Plan
    total: int
    from_store: int
    results: dict[str, list[Any]]
    computed: int = 0
    seconds: float = 0.0
    failed: list[tuple[AnyCell, AttnlabError]] = field(default_factory=list)

    @property
    def view(self) -> View:
        """The results as claims and figures see them."""
        return View(self.plan.scale, self.plan.seed, self.results)


def failure(finished: Finished) -> AttnlabError:
    """Why a cell gave no result: the user's mistake, or its own."""
    return (UserError if finished.mistake else AttnlabError)(finished.error)


def look_up(plan: Plan, store: Store) -> Summary:
    """What the store holds of a plan; nothing is computed."""
    held = store.holding(plan.cells.values())
    return Summary(plan, len(plan.cells), len(held), _joined(held))


def run_plans(
    plans: Sequence[Plan], store: Store, engine: Engine, console: Console
) -> list[Summary]:
    """Bring every cell of the plans into the store, all studies together.

    Interrupting keeps what is done.
    """
    summaries: list[Summary] = []
    tasks: dict[str, Task] = {}
    owners: dict[str, list[Summary]] = {}
    for plan in plans:
        summary = look_up(plan, store)
        summaries.append(summary)
        for key, cell in plan.cells.items():
            if not all(point.key in summary.results for point in cell.points):
                tasks.setdefault(key, Task(plan.study.name, cell))
                owners.setdefault(key, []).append(summary)
    if not tasks:
        return summaries
    log = RunLog(store.root / "runs", engine.name)
    cost = sum(task.cell.cost for task in tasks.values())
    job = plans[0].study.name if len(plans) == 1 else "cells"
    stored = sum(summary.from_store for summary in summaries)
    try:
        with meter(console, job, len(tasks), cost, stored) as progress:
            for finished in engine.run(list(tasks.values())):
                cell = tasks[finished.key].cell
                _keep(cell, finished, owners[finished.key], store, log)
                progress.advance(cell.kind.name, cell.cost)
    finally:
        log.close()
    return summaries


def _keep(
    cell: AnyCell, finished: Finished, owners: Sequence[Summary], store: Store, log: RunLog
) -> None:
    if finished.error:
        for summary in owners:
            summary.failed.append((cell, failure(finished)))
        return
    store.add(cell, finished)
    log.finished(cell.key, cell.kind.name, finished.seconds)
    rows = decode(cell, finished.part)
    for summary in owners:
        summary.results.update(rows)
        summary.computed += 1
        summary.seconds += finished.seconds


def _joined(held: Mapping[str, Mapping[str, list[Any]]]) -> dict[str, list[Any]]:
    return {point: rows for results in held.values() for point, rows in results.items()}
