"""Cells on a running Dask cluster. A lost worker's cells run again elsewhere, which is harmless.

Workers may declare what they have: cells that belong on a GPU go to workers with the resource `GPU`
where there are any, and those that belong on a processor to workers with the resource `CPU`. Dask
is the extra `cluster`; nothing else of the lab needs it.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import uuid
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from attnlab.errors import AttnlabError, UserError
from attnlab.lab.part import Finished
from attnlab.lab.task import NOT_BEGUN, Task, answer
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
        that have begun are waited for and no other begins, wherever it waits for its turn.
        """
        limits = limits or RunLimits()
        done = queue.SimpleQueue[Any]()
        threads = sum(self.client.nthreads().values()) or 1
        declared = set[str]().union(*self._resources())
        waiting: dict[str, Iterator[Task]] = {}
        for resource, own in groupby(sorted(tasks, key=_resource), _resource):
            waiting[resource] = iter(list(own))
        running: dict[str, tuple[str, Any]] = {}

        def submit(resource: str, count: int) -> None:
            needed = {resource: 1} if resource in declared else None
            for task in islice(waiting[resource], count):
                request = task.request(self.extra, begin_by=limits.until)
                key = task.cell.key
                if limits.began is not None:
                    limits.began(key)
                given: dict[str, Any] = {"key": key, "retries": 3, "resources": needed}
                future = self.client.submit(answer_with_progress, request, key, topic, **given)
                running[key] = resource, future
                future.add_done_callback(done.put)

        with self._followed(limits) as topic:
            for resource in waiting:
                submit(resource, self.submitted_per_thread * threads)
            while running:
                needed = {resource for resource, _ in running.values()} & declared
                future = self._next(done, needed)
                resource, _ = running.pop(future.key)
                finished = self._collect(future, {resource} & declared)
                if finished != NOT_BEGUN:
                    yield finished
                submit(resource, 0 if limits.over else 1)

    @contextlib.contextmanager
    def _followed(self, limits: RunLimits) -> Generator[str | None]:
        """The topic under which workers say how far their cells are; None where nobody asks."""
        report = limits.report
        if report is None:
            yield None
            return
        topic = f"attnlab-{uuid.uuid4().hex}"
        self.client.subscribe_topic(topic, lambda event: report(*event[1]))
        try:
            yield topic
        finally:
            with contextlib.suppress(Exception):  # a scheduler that is gone tells nobody anything
                self.client.unsubscribe_topic(topic)

    def _next(self, done: queue.SimpleQueue[Any], needed: set[str]) -> Any:
        """The next future that is done; those that run need workers with these resources."""
        alone = 0.0
        while True:
            try:
                return done.get(timeout=PATIENCE / 4)
            except queue.Empty:
                alone = self._waited(alone, needed)

    def _waited(self, alone: float, needed: set[str]) -> float:
        """The seconds so far without a worker; after a while of that the run is given up."""
        there = self._resources()
        missing = sorted(needed - set[str]().union(*there))
        alone = 0.0 if there and not missing else alone + PATIENCE / 4
        if alone >= PATIENCE:
            kind = f" with the resource {missing[0]}" if there else ""
            option = f" --resources {missing[0]}=1" if there else ""
            raise AttnlabError(
                f"The Dask cluster has no workers{kind} left. Everything stored so far is whole; "
                f"start a worker ('dask worker ADDRESS{option}') and run the same command again."
            )
        return alone

    def _resources(self) -> list[set[str]]:
        """The resources that each worker declares; a lost scheduler ends the run."""
        try:
            workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
            return [set(worker.get("resources") or ()) for worker in workers]
        except Exception as reason:
            raise _connection_lost() from reason

    def _collect(self, future: Any, needed: set[str]) -> Finished:
        try:
            finished = self._result(future, needed)
        except AttnlabError:
            raise
        except Exception as reason:
            if self.client.status != "running":
                raise _connection_lost() from reason
            return Finished(future.key, error=f"{type(reason).__name__}: {reason}")
        if finished.key != future.key and finished != NOT_BEGUN:
            return Finished(future.key, error="the worker runs another version of this study")
        return finished

    def _result(self, future: Any, needed: set[str]) -> Finished:
        """What a future holds; a worker that is lost before it hands it over computes it again."""
        alone = 0.0
        while True:
            try:
                return future.result(timeout=PATIENCE / 4)
            except TimeoutError:
                alone = self._waited(alone, needed)


def answer_with_progress(request: str, key: str, topic: str | None) -> Finished:
    """`answer` on a worker of Dask, which tells the client how far it is."""
    if topic is None:
        return answer(request)
    from distributed import get_worker

    worker = get_worker()

    def report(*far: Any) -> None:
        worker.log_event(topic, [key, *far])

    return answer(request, report)


def _resource(task: Task) -> str:
    """What a worker of the cell declares; "ANY" is declared by none."""
    return task.cell.kind.device.upper()


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
