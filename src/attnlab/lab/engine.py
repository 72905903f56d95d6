"""Engines: where cells run. In this process, on workers of this machine, or on a Dask cluster.

All engines call `attnlab.lab.part.compute` and hand back its bytes, one thread a cell, so a result
does not depend on where it was made. Only names and JSON travel to a worker: it imports the study
itself. Whoever runs an engine writes the store, so workers need not see it.
"""

from __future__ import annotations

import contextlib
import json
import logging
import signal
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from attnlab.errors import AttnlabError, UserError
from attnlab.lab.catalog import load_study
from attnlab.lab.cell import Cell, config_values
from attnlab.lab.fault import told
from attnlab.lab.part import Finished, compute


class Engine(Protocol):
    @property
    def name(self) -> str: ...

    def run(self, cells: Sequence[Cell], study: str) -> Iterator[Finished]:
        """Finished cells in the order they finish; a cell that raised comes back with its error."""
        ...


def attempt(cell: Cell) -> Finished:
    try:
        return compute(cell)
    except Exception as reason:  # a cell may raise anything; the others must go on
        return Finished(cell.key, error=told(reason), mistake=isinstance(reason, UserError))


@dataclass(frozen=True)
class InProcess:
    name: str = "in-process"

    def run(self, cells: Sequence[Cell], study: str) -> Iterator[Finished]:
        del study
        return map(attempt, cells)


@dataclass(frozen=True)
class Done:
    """Hands over cells that were computed before there was a store to keep them."""

    finished: tuple[Finished, ...]
    name: str = "in-process"

    def run(self, cells: Sequence[Cell], study: str) -> Iterator[Finished]:
        del cells, study
        return iter(self.finished)


def attempt_by_name(study: str, extra: str | None, kind: str, config: str) -> Finished:
    """What a worker runs: find the cell by name and attempt it."""
    found = load_study(study, Path(extra) if extra else None).kind(kind)
    values: Mapping[str, Any] = json.loads(config)
    return attempt(found(found.config(**values)))


@dataclass(frozen=True)
class OnDask:
    """Cells on a Dask cluster. A lost worker's cells run again elsewhere, which is harmless.

    Few cells are in flight at a time, so memory stays flat however long the list.
    """

    client: Any  # distributed.Client
    extra: Path | None = None
    name: str = "dask"
    in_flight_per_thread: int = 4

    def run(self, cells: Sequence[Cell], study: str) -> Iterator[Finished]:
        from distributed import as_completed

        extra = str(self.extra.resolve()) if self.extra else None
        waiting = iter(cells)
        threads = sum(self.client.nthreads().values()) or 1

        def submit(cell: Cell):
            config = json.dumps(config_values(cell.config))
            arguments = (study, extra, cell.kind.name, config)
            return self.client.submit(attempt_by_name, *arguments, key=cell.key, retries=3)

        first = [submit(cell) for cell in islice(waiting, self.in_flight_per_thread * threads)]
        done = as_completed(first, loop=self.client.loop)
        for future in done:
            yield self._collect(future)
            for cell in waiting:
                done.add(submit(cell))
                break

    def _collect(self, future: Any) -> Finished:
        try:
            finished = future.result()
        except Exception as reason:
            if self.client.status != "running":
                raise AttnlabError(
                    "The connection to the Dask scheduler was lost. Everything stored so far is "
                    "whole; run the same command again to continue."
                ) from reason
            return Finished(future.key, error=f"{type(reason).__name__}: {reason}")
        if finished.key != future.key:
            return Finished(future.key, error="the worker runs another version of this study")
        return finished


@contextlib.contextmanager
def open_engine(
    workers: int = 0, scheduler: str | None = None, extra: Path | None = None
) -> Generator[Engine]:
    """The engine the user asked for; closed at the end, however it ends."""
    if workers and scheduler is not None:
        raise UserError("Give --workers or --scheduler, not both.")
    if workers < 0:
        raise UserError(f"--workers must be 0 (this process) or more, got {workers}.")
    if not workers and scheduler is None:
        yield InProcess()
        return
    distributed = _distributed()
    with contextlib.ExitStack() as stack:
        if workers:
            target, name = (
                stack.enter_context(_local_cluster(distributed, workers)),
                f"{workers} workers",
            )
        else:
            target, name = scheduler, f"dask {scheduler}"
        client = stack.enter_context(_connect(distributed, target, scheduler))
        yield OnDask(client, extra, name)


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as reason:
        raise UserError(
            "--workers and --scheduler need Dask: pip install 'attnlab[cluster]'."
        ) from reason
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    return distributed


def _local_cluster(distributed: Any, workers: int) -> Any:
    """Worker processes of this machine that leave Ctrl-C to this process.

    Dask would have them return freed memory at once, and each array pay for fresh pages again.
    """
    from dask import config

    kept = {"distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None}
    with _ignoring_interrupts(), config.set(kept):
        return distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            dashboard_address=None,
            host="127.0.0.1",
            silence_logs=logging.CRITICAL,
        )


@contextlib.contextmanager
def _ignoring_interrupts() -> Generator[None]:
    """Processes started meanwhile inherit that they ignore SIGINT."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _connect(distributed: Any, target: Any, scheduler: str | None) -> Any:
    from distributed.comm.addressing import parse_address
    from distributed.comm.registry import backends

    try:
        # Checked here because a client that cannot speak the protocol does not close cleanly.
        if scheduler is not None and parse_address(scheduler)[0] not in backends:
            raise ValueError(scheduler)
        return distributed.Client(target, timeout=5, set_as_default=False)
    except (OSError, ValueError, TypeError) as reason:
        raise UserError(
            f"No Dask scheduler answers at {scheduler!r}; give the address of a running one, "
            "such as tcp://127.0.0.1:8786."
        ) from reason
