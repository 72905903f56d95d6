"""Cells on several processes of this machine, which need nothing but Python.

Each worker is `python -m attnlab.lab.worker` and is asked one cell at a time (`frames` says how).
A worker that ends before it has answered is replaced, and its cell is tried again.
"""

from __future__ import annotations

import contextlib
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from attnlab.errors import AttnlabError
from attnlab.lab.frames import read_finished, write_frame
from attnlab.lab.part import Finished
from attnlab.lab.task import Task
from attnlab.lab.watch import Report, RunLimits

TRIES = 3  # of a cell whose worker ends

Waiting = queue.SimpleQueue[Task | None]
Done = queue.SimpleQueue[Finished | AttnlabError | None]  # None: not begun, the time was up


class Processes:
    """An engine of worker processes. Long cells begin first, so that all workers end together."""

    def __init__(self, workers: int, extra: Path | None = None):
        self.name = f"{workers} processes"
        self._count = workers
        self._extra = extra
        self._closed = threading.Event()
        self._processes: set[subprocess.Popen[bytes]] = set()

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        """End the workers, whatever they are doing; nothing that was handed over is lost."""
        self._closed.set()
        for process in list(self._processes):
            _end(process)

    def run(self, tasks: Sequence[Task], limits: RunLimits | None = None) -> Iterator[Finished]:
        """Finished cells in the order they finish."""
        limits = limits or RunLimits()
        waiting, done = Waiting(), Done()
        for task in sorted(tasks, key=lambda task: -task.cell.cost):
            waiting.put(task)
        for _ in range(min(self._count, len(tasks))):
            waiting.put(None)
            threading.Thread(target=self._serve, args=(waiting, done, limits), daemon=True).start()
        for _ in tasks:
            finished = done.get()
            if isinstance(finished, AttnlabError):
                raise finished
            if finished is not None:
                yield finished

    def _serve(self, waiting: Waiting, done: Done, limits: RunLimits) -> None:
        """Hand tasks to one worker until there are no more; it is replaced where it ends."""
        process: subprocess.Popen[bytes] | None = None
        try:
            while (task := waiting.get()) is not None:
                if limits.over:
                    done.put(None)
                    continue
                watch = limits.of(task.cell.key)
                finished = Finished(task.cell.key, error="it was never tried")
                for _ in range(TRIES):
                    process = process or self._start()
                    found = _ask(process, task.request(self._extra, watch), watch.report)
                    if found is not None:
                        finished = _checked(found, task)
                        break
                    if self._closed.is_set():
                        return
                    ended = _how_it_ended(process)
                    finished = Finished(task.cell.key, error=f"its worker process {ended}")
                    self._processes.discard(process)
                    _end(process)
                    process = None
                done.put(finished)
        except OSError as reason:
            done.put(AttnlabError(f"A worker process could not be started: {reason.strerror}."))
        finally:
            if process is not None:
                self._processes.discard(process)
                _end(process)

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", "attnlab.lab.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._processes.add(process)
        return process


def _ask(process: subprocess.Popen[bytes], request: str, report: Report | None) -> Finished | None:
    """A worker's answer; None where it ended before it had one."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        write_frame(process.stdin, request.encode())
        return read_finished(process.stdout, report)
    except (OSError, ValueError):
        return None


def _checked(found: Finished, task: Task) -> Finished:
    if found.key in (task.cell.key, ""):
        return Finished(task.cell.key, *(getattr(found, name) for name in _REST))
    return Finished(task.cell.key, error="the worker runs another version of this study")


_REST = ("part", "weights", "seconds", "error", "mistake", "stopped")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):  # what was still to be flushed has no reader
                stream.close()


def _how_it_ended(process: subprocess.Popen[bytes]) -> str:
    code = process.wait()
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"
