"""Engines: where cells run. In this process, on processes and GPUs of this machine, or on Dask.

All engines call `attnlab.lab.part.compute` and hand back its bytes, so a result does not depend on
where it was computed. Only names and JSON travel to a worker, which imports the study itself.
Whoever runs an engine writes the store, so workers need not see it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from attnlab.errors import UserError
from attnlab.lab.part import Finished
from attnlab.lab.task import Task, attempt
from attnlab.lab.watch import RunLimits


class Engine(Protocol):
    """Where cells run."""

    @property
    def name(self) -> str:
        """What provenance calls this engine."""
        ...

    def run(self, tasks: Sequence[Task], limits: RunLimits | None = None) -> Iterator[Finished]:
        """Finished cells in the order they finish; a cell that raised comes back with its error.

        Where the time of `limits` is up, what is under way stops and the rest does not come back.
        """
        ...


@dataclass(frozen=True)
class InProcess:
    """Cells one after the other, in this process."""

    name: str = "in-process"

    def run(self, tasks: Sequence[Task], limits: RunLimits | None = None) -> Iterator[Finished]:
        """Finished cells in the order given."""
        limits = limits or RunLimits()
        for task in tasks:
            if limits.over:
                return
            yield attempt(task.cell, limits.of(task.cell.key))


@dataclass(frozen=True)
class Begun:
    """Cells in this process, some of which were computed before there was a store to keep them."""

    finished: tuple[Finished, ...]
    name: str = "in-process"

    def run(self, tasks: Sequence[Task], limits: RunLimits | None = None) -> Iterator[Finished]:
        """The cells that are finished, and the others computed now, in the order given."""
        limits, known = limits or RunLimits(), {each.key: each for each in self.finished}
        for task in tasks:
            key = task.cell.key
            yield known[key] if key in known else attempt(task.cell, limits.of(key))


@contextlib.contextmanager
def open_engine(
    workers: int | None = None,
    scheduler: str | None = None,
    extra: Path | None = None,
    gpus: str | None = None,
) -> Generator[Engine]:
    """The engine that the user asked for; closed at the end, however it ends.

    Parameters
    ----------
    workers
        Processes of this machine; 0 runs cells in this process. With `gpus`, those for the cells
        that belong on a processor; 1 unless given.
    scheduler
        Address of a running Dask scheduler.
    extra
        Folder with studies of the user's own.
    gpus
        "all", or the numbers of the GPUs of this machine that get a worker each, as in "0,1".
    """
    if workers and scheduler is not None:
        raise UserError("Give --workers or --scheduler, not both.")
    if gpus is not None and scheduler is not None:
        raise UserError(
            "Give --gpus or --scheduler, not both; the cluster's workers have the GPUs."
        )
    if workers is not None and workers < 0:
        raise UserError(f"--workers must be 0 (this process) or more, got {workers}.")
    if gpus is not None and workers == 0:
        raise UserError(
            "--workers must be 1 or more beside --gpus, got 0: some cells belong on a processor."
        )
    if scheduler is not None:
        from attnlab.lab.dask_engine import connect

        with connect(scheduler, extra) as engine:
            yield engine
    elif workers or gpus is not None:
        from attnlab.lab.gpus import chosen_gpus, visible_gpus
        from attnlab.lab.processes import Processes
        from attnlab.lab.seats import seats

        chosen = () if gpus is None else chosen_gpus(gpus, visible_gpus())
        with Processes(seats(workers or 1, chosen), extra) as engine:
            yield engine
    else:
        yield InProcess()
