"""Cells on a running Dask cluster. A lost worker's cells run again elsewhere, which is harmless.

Dask is the extra `cluster`; nothing else of the lab needs it.
"""

from __future__ import annotations

import contextlib
import logging
import queue
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from attnlab.errors import AttnlabError, UserError
from attnlab.lab.part import Finished
from attnlab.lab.task import Task, answer
from attnlab.lab.watch import RunLimits

PATIENCE = 8.0  # seconds without any worker before the run is given up


@dataclass(frozen=True)
class OnDask:
    """Cells on a Dask cluster, few of them submitted at a time so that memory stays flat."""

    client: Any  # distributed.Client
    extra: Path | None = None
    name: str = "dask"
    submitted_per_thread: int = 4

    def run(self, tasks: Sequence[Task], limits: RunLimits | None = None) -> Iterator[Finished]:
        """Finished cells in the order they finish.

        Workers need not see the store, so nothing is checkpointed: where the time is up, cells
        that have begun are waited for and no other begins.
        """
        limits = limits or RunLimits()
        waiting, done = iter(tasks), queue.SimpleQueue[Any]()
        threads = sum(self.client.nthreads().values()) or 1
        running: dict[str, Any] = {}

        def submit(task: Task) -> None:
            request, key = task.request(self.extra), task.cell.key
            running[key] = self.client.submit(answer, request, key=key, retries=3)
            running[key].add_done_callback(done.put)

        for task in islice(waiting, self.submitted_per_thread * threads):
            submit(task)
        while running:
            future = self._next(done)
            del running[future.key]
            yield self._collect(future)
            for task in islice(waiting, 0 if limits.over else 1):
                submit(task)

    def _next(self, done: queue.SimpleQueue[Any]) -> Any:
        """The next future that is done."""
        alone = 0.0
        while True:
            try:
                return done.get(timeout=PATIENCE / 4)
            except queue.Empty:
                alone = self._waited(alone)

    def _waited(self, alone: float) -> float:
        """The seconds so far without any worker; after a while of that the run is given up."""
        alone = 0.0 if self._workers() else alone + PATIENCE / 4
        if alone >= PATIENCE:
            raise AttnlabError(
                "The Dask cluster has no workers left. Everything stored so far is whole; "
                "start a worker ('dask worker ADDRESS') and run the same command again."
            )
        return alone

    def _workers(self) -> int:
        """How many workers the scheduler knows; a lost scheduler ends the run."""
        try:
            return len(self.client.scheduler_info(n_workers=-1)["workers"])
        except Exception as reason:
            raise _connection_lost() from reason

    def _collect(self, future: Any) -> Finished:
        try:
            finished = self._result(future)
        except AttnlabError:
            raise
        except Exception as reason:
            if self.client.status != "running":
                raise _connection_lost() from reason
            return Finished(future.key, error=f"{type(reason).__name__}: {reason}")
        if finished.key != future.key:
            return Finished(future.key, error="the worker runs another version of this study")
        return finished

    def _result(self, future: Any) -> Finished:
        """What a future holds; a worker that is lost before it hands it over computes it again."""
        alone = 0.0
        while True:
            try:
                return future.result(timeout=PATIENCE / 4)
            except TimeoutError:
                alone = self._waited(alone)


def _connection_lost() -> AttnlabError:
    return AttnlabError(
        "The connection to the Dask scheduler was lost. Everything stored so far is whole; run the "
        "same command again to continue."
    )


@contextlib.contextmanager
def connect(scheduler: str, extra: Path | None) -> Generator[OnDask]:
    """An engine on the cluster of this scheduler."""
    distributed = _distributed()
    from distributed.comm.addressing import parse_address
    from distributed.comm.registry import backends

    refusal = UserError(
        f"No Dask scheduler answers at {scheduler!r}; give the address of a running one, such as "
        "tcp://127.0.0.1:8786."
    )
    # Checked here because a client that cannot speak the protocol does not close cleanly, and one
    # that looks up a host that does not exist prints a traceback of its own.
    try:
        protocol, address = parse_address(scheduler)
        if protocol not in backends or not _resolves(address):
            raise refusal
        client = distributed.Client(scheduler, timeout=5, set_as_default=False)
    except (OSError, ValueError, TypeError) as reason:
        raise refusal from reason
    with client:
        yield OnDask(client, extra, f"dask {scheduler}")


def _resolves(address: str) -> bool:
    """Whether the host of an address exists; addresses without a host and port are Dask's own."""
    import socket

    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        return False
    try:
        socket.getaddrinfo(host.strip("[]"), int(port))
    except (OSError, OverflowError):
        return False
    return True


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as reason:
        raise UserError("--scheduler needs Dask: pip install 'attnlab[cluster]'.") from reason
    # Our sentence says it, without a traceback. Dask gives levels of their own to its loggers.
    own = [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]
    for name in ("tornado", "asyncio", *own):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return distributed
