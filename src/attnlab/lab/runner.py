"""The runner: asks the store first, sends the rest to an engine, keeps each result as it comes."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console

from attnlab.errors import AttnlabError, UserError
from attnlab.lab import interruption
from attnlab.lab.cell import AnyCell
from attnlab.lab.engine import Engine
from attnlab.lab.interruption import RunningCells
from attnlab.lab.keeper import Keeper
from attnlab.lab.part import Finished, decode
from attnlab.lab.progress import Meter, meter
from attnlab.lab.provenance import RunLog
from attnlab.lab.slices import Slice
from attnlab.lab.store import Store
from attnlab.lab.study import Plan, View
from attnlab.lab.task import Task
from attnlab.lab.watch import RunLimits


@dataclass
class Summary:
    """What became of the cells of one plan.

    `results` are the rows by the key of their point, `seconds` what the computed cells took,
    `stopped` the cells that were under way when the time was up, and `left_out` the number of
    those that were not asked for.
    """

    plan: Plan
    total: int
    from_store: int
    results: dict[str, list[Any]]
    computed: int = 0
    seconds: float = 0.0
    left_out: int = 0
    failed: list[tuple[AnyCell, AttnlabError]] = field(default_factory=list)
    stopped: list[tuple[AnyCell, AttnlabError]] = field(default_factory=list)

    @property
    def not_begun(self) -> int:
        """Cells that the run did not come to."""
        seen = self.from_store + self.computed + len(self.failed) + len(self.stopped)
        return self.total - seen - self.left_out

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
    plans: Sequence[Plan],
    store: Store,
    engine: Engine,
    console: Console,
    stop_after: float | None = None,
    slices: Collection[Slice] = (),
) -> list[Summary]:
    """Bring every cell of the plans into the store, all studies together.

    Interrupting keeps what is done, and long cells continue at their last checkpoint.

    Parameters
    ----------
    plans
        What is to be computed.
    store
        Where results are kept, and the checkpoints of long cells.
    engine
        Where cells run.
    console
        Where progress is shown.
    stop_after
        Minutes after which the run ends: cells under way save a checkpoint, no other begins.
    slices
        Which of the plans' cells to compute; all of them unless given.
    """
    until = None if stop_after is None else time.time() + 60 * stop_after
    summaries: list[Summary] = []
    tasks: dict[str, Task] = {}
    owners: dict[str, list[Summary]] = {}
    for plan in plans:
        summary = look_up(plan, store)
        summaries.append(summary)
        for key, cell in plan.cells.items():
            if all(point.key in summary.results for point in cell.points):
                continue
            if slices and not any(cell in each for each in slices):
                summary.left_out += 1
                continue
            tasks.setdefault(key, Task(plan.study.name, cell))
            owners.setdefault(key, []).append(summary)
    if not tasks:
        return summaries
    log = RunLog(store.root / "runs", engine.name)
    cost = sum(task.cell.cost for task in tasks.values())
    job = plans[0].study.name if len(plans) == 1 else "cells"
    stored = sum(summary.from_store for summary in summaries)
    running = RunningCells(store.checkpoints, stored)
    interruption.begin(running)
    try:
        with (
            meter(console, job, len(tasks), cost, stored) as progress,
            Keeper(store, log) as keeper,
        ):
            limits = RunLimits(
                store.checkpoints,
                until,
                lambda key, *far: show_inside(progress, tasks[key].cell, *far),
                began=lambda key: running.began(key, tasks[key].cell.kind.name),
            )
            for finished in engine.run(list(tasks.values()), limits):
                cell = tasks[finished.key].cell
                _keep(cell, finished, owners[finished.key], keeper)
                running.ended(finished.key, stored=not finished.error)
                progress.advance(cell.kind.name, cell.cost, cell.key)
        interruption.end()
    finally:
        log.close()
    return summaries


def show_inside(progress: Meter, cell: AnyCell, done: int, total: int, unit: str) -> None:
    """Show how far a cell is."""
    label = f"{cell.kind.name}, {unit} {done} of {total}"
    progress.inside(label, cell.key, cell.cost * done / max(total, 1))


def _keep(cell: AnyCell, finished: Finished, owners: Sequence[Summary], keeper: Keeper) -> None:
    if finished.error:
        for summary in owners:
            into = summary.stopped if finished.stopped else summary.failed
            into.append((cell, failure(finished)))
        return
    keeper.keep(cell, finished)
    rows = decode(cell, finished.part)
    for summary in owners:
        summary.results.update(rows)
        summary.computed += 1
        summary.seconds += finished.seconds


def _joined(held: Mapping[str, Mapping[str, list[Any]]]) -> dict[str, list[Any]]:
    return {point: rows for results in held.values() for point, rows in results.items()}
