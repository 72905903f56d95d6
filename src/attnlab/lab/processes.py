"""Cells on several processes of this machine, which need nothing but Python.

Each worker is `python -m attnlab.lab.worker` and is asked one cell at a time (`frames` says how).
A worker that ends before it has answered is replaced, and its cell is tried again. `seats` says
which worker has a GPU and which cells it takes.
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

from attnlab.errors import AttnlabError, UserError
from attnlab.lab.frames import read_finished, read_frame, write_frame
from attnlab.lab.needs import Device
from attnlab.lab.part import Finished
from attnlab.lab.room import Room, needs_of
from attnlab.lab.seats import Seat, seats
from attnlab.lab.sitting import Report
from attnlab.lab.task import Task
from attnlab.lab.watch import RunLimits

TRIES = 3  # of a cell whose worker ends

Done = queue.SimpleQueue[Finished | AttnlabError | None]  # None: not begun, the time was up


class Waiting:
    """The tasks that no worker has begun, the longest first, so that all workers end together."""

    def __init__(self, tasks: Sequence[Task]):
        self._tasks = sorted(tasks, key=lambda task: -task.cell.cost)
        self._one = threading.Lock()

    def take(self, devices: Sequence[Device]) -> Task | None:
        """The next task for one of these devices, the first device first; None for no more."""
        with self._one:
            for device in devices:
                for index, task in enumerate(self._tasks):
                    if task.cell.kind.device == device:
                        return self._tasks.pop(index)
        return None


class Processes:
    """An engine of worker processes, in so many seats."""

    def __init__(self, places: int | Sequence[Seat], extra: Path | None = None):
        self._seats = seats(places) if isinstance(places, int) else tuple(places)
        self.name = _described(self._seats)
        self._extra = extra
        self._room = Room()
        self._closed = threading.Event()
        self._processes: set[subprocess.Popen[bytes]] = set()

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        """End the workers, whatever they are doing; nothing that was handed over is lost."""
        self._closed.set()
        for process in list(self._processes):
            end_process(process)

    def run(self, tasks: Sequence[Task], limits: RunLimits | None = None) -> Iterator[Finished]:
        """Finished cells in the order they finish."""
        limits = limits or RunLimits()
        waiting, done = Waiting(tasks), Done()
        for seat in self._seats[: len(tasks)] if _alike(self._seats) else self._seats:
            given = (seat, waiting, done, limits)
            threading.Thread(target=self._serve, args=given, daemon=True).start()
        for _ in tasks:
            finished = done.get()
            if isinstance(finished, AttnlabError):
                raise finished
            if finished is not None:
                yield finished

    def _serve(self, seat: Seat, waiting: Waiting, done: Done, limits: RunLimits) -> None:
        """Hand tasks to the worker of a seat until there are no more; it is replaced if it ends."""
        process: subprocess.Popen[bytes] | None = None
        try:
            while (task := waiting.take(seat.takes)) is not None:
                with self._room.taken(0 if seat.has_gpu else needs_of(task.cell).host_bytes):
                    if limits.over:
                        done.put(None)
                        continue
                    watch = limits.of(task.cell.key)
                    finished = Finished(task.cell.key, error="it was never tried")
                    for _ in range(TRIES):
                        process = process or self._start(seat)
                        found = _ask(process, task.request(self._extra, watch), watch.report)
                        if found is not None:
                            finished = _checked(found, task)
                            break
                        if self._closed.is_set():
                            return
                        ended = _how_it_ended(process)
                        finished = Finished(task.cell.key, error=f"its worker process {ended}")
                        self._dismiss(process)
                        process = None
                    done.put(finished)
        except AttnlabError as reason:
            done.put(reason)
        except OSError as reason:
            done.put(AttnlabError(f"A worker process could not be started: {reason.strerror}."))
        finally:
            if process is not None:
                self._dismiss(process)

    def _start(self, seat: Seat) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", "attnlab.lab.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=seat.surroundings(),
        )
        self._processes.add(process)
        if seat.has_gpu and process.stdout is not None:
            refusal = read_frame(process.stdout)
            if refusal:
                self._dismiss(process)
                raise UserError(f"{seat.name} cannot be used: {refusal.decode()}")
        return process

    def _dismiss(self, process: subprocess.Popen[bytes]) -> None:
        self._processes.discard(process)
        end_process(process)


def _alike(places: Sequence[Seat]) -> bool:
    return len({seat.takes for seat in places}) == 1


def _described(places: Sequence[Seat]) -> str:
    """What provenance says of the workers."""
    names = [seat.name for seat in places if seat.has_gpu]
    others = len(places) - len(names)
    if not names:
        return f"{others} processes"
    gpus = len(set(names))
    cards = "1 GPU" if gpus == 1 else f"{gpus} GPUs"
    if len(names) > gpus:
        cards = f"{len(names)} processes on {cards}"
    return f"{cards} and {'1 process' if others == 1 else f'{others} processes'}"


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


_REST = ("part", "weights", "seconds", "error", "mistake", "stopped", "device")


def end_process(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and close what it was talked to through."""
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
