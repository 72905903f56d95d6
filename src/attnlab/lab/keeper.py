"""Finished cells on their way into the store, several at a time.

A result is flushed to the disk before it has its name, and a flush takes longer than a small cell.
Disks flush several files in the time of one, so a few threads write while the next cells are
computed. A result counts as kept, and stands in the log of the run, when it is in the store.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from attnlab.lab.cell import AnyCell
from attnlab.lab.part import Finished
from attnlab.lab.provenance import RunLog
from attnlab.lab.store import CHEAP, Store

AT_ONCE = 8  # files that are written at the same time
WAITING = 8  # results that wait for a thread; more would only take memory


class Keeper:
    """Writes results into a store; leaving its `with` waits until every one of them is there."""

    def __init__(self, store: Store, log: RunLog):
        self._store, self._log = store, log
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="keeper")
        self._room = threading.Semaphore(AT_ONCE + WAITING)
        self._one_line = threading.Lock()
        self._refused: Exception | None = None

    def __enter__(self) -> Keeper:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._threads.shutdown()
        if self._refused is not None and kind is None:
            raise self._refused

    def keep(self, cell: AnyCell, finished: Finished) -> None:
        """Write a result, now or soon; one that could not be written raises later or at the end."""
        self._room.acquire()
        if self._refused is not None:
            raise self._refused
        if finished.seconds < CHEAP:  # it is not flushed, and another thread would cost more
            self._write(cell, finished)
        else:
            self._threads.submit(self._write, cell, finished)

    def _write(self, cell: AnyCell, finished: Finished) -> None:
        try:
            self._store.add(cell, finished)
            self._store.forget_checkpoints(cell)
            with self._one_line:
                self._log.finished(cell.key, cell.kind.name, finished.seconds, finished.device)
        except Exception as reason:
            self._refused = self._refused or reason
        finally:
            self._room.release()
