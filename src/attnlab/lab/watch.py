"""What surrounds a long cell while it runs: a place for its checkpoints, a time limit, progress.

A cell is a pure function of its configuration, and none of this changes what it returns. A cell
that trains passes `watched()` on to the trainer:

    train(..., **watched())

Outside of a run of the lab that is an empty dictionary, and training goes on as it would.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SAVE_EVERY = 20.0  # seconds between two checkpoints of a cell
REPORT_EVERY = 0.5  # seconds between two reports of progress

Report = Callable[[int, int], None]


@dataclass(frozen=True)
class Watch:
    """What a run lends to a cell.

    Parameters
    ----------
    checkpoints
        The folder of this cell's checkpoints; None where they cannot be kept.
    until
        The time (`time.time()`) at which a long cell saves a checkpoint and stops; None for never.
    report
        Called as `report(step, steps)` now and then.
    save_every
        Seconds between two checkpoints, at least.
    losses
        Called as `losses(step, loss)` after every chunk of steps, by those who show the loss.
    stop
        Asked between chunks; where it returns True a long cell stops as at `until`.
    """

    checkpoints: Path | None = None
    until: float | None = None
    report: Report | None = None
    save_every: float = SAVE_EVERY
    losses: Callable[[int, float], None] | None = None
    stop: Callable[[], bool] | None = None


@dataclass(frozen=True)
class RunLimits:
    """What a run lends to all of its cells.

    Parameters
    ----------
    checkpoints
        The folder of all checkpoints, with one folder per cell; None where none are kept.
    until
        The time (`time.time()`) at which the run ends: no cell begins, and long cells stop.
    report
        Called as `report(key, step, steps)` while the cell of that key runs.
    save_every
        Seconds between two checkpoints of a cell, at least.
    """

    checkpoints: Path | None = None
    until: float | None = None
    report: Callable[[str, int, int], None] | None = None
    save_every: float = SAVE_EVERY

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return _passed(self.until)

    def of(self, key: str) -> Watch:
        """What the cell of this key gets."""
        folder = None if self.checkpoints is None else self.checkpoints / key
        report = None if self.report is None else functools.partial(self.report, key)
        return Watch(folder, self.until, report, self.save_every)


def _passed(until: float | None) -> bool:
    return until is not None and time.time() >= until


_current: contextvars.ContextVar[Watch | None] = contextvars.ContextVar("watch", default=None)


@contextlib.contextmanager
def watching(watch: Watch | None) -> Generator[None]:
    """Lend `watch` to the cell that runs inside."""
    token = _current.set(watch)
    try:
        yield
    finally:
        _current.reset(token)


def watched(part: str = "training") -> dict[str, Any]:
    """The arguments progress, checkpoint and stop of `attnlab.training.population.train`.

    Parameters
    ----------
    part
        The name of this training among those of the cell, where it has several.
    """
    watch = _current.get()
    if watch is None:
        return {}
    found: dict[str, Any] = {}
    if watch.checkpoints is not None:
        from attnlab.training.checkpoint import CheckpointFile

        path = watch.checkpoints / f"{part}.safetensors"
        found["checkpoint"] = CheckpointFile(path, seconds=watch.save_every)
    if watch.until is not None or watch.stop is not None:
        asked = watch.stop or (lambda: False)
        found["stop"] = lambda: _passed(watch.until) or asked()
    if watch.losses is not None:
        shown = watch.losses
        found["progress"] = lambda step, steps, loss: shown(step, loss)
    elif watch.report is not None:
        found["progress"] = _seldom(watch.report)
    return found


def _seldom(report: Report) -> Callable[[int, int, float], None]:
    last = -REPORT_EVERY

    def progress(step: int, steps: int, loss: float) -> None:
        nonlocal last
        del loss
        if time.monotonic() - last >= REPORT_EVERY:
            last = time.monotonic()
            report(step, steps)

    return progress
