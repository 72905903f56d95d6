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
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attnlab.lab.sitting import SAVE_EVERY, Sitting, Watch, passed


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
        Called as `report(key, done, total, unit)` while the cell of that key runs.
    save_every
        Seconds between two checkpoints of a cell, at least.
    began
        Called with the key of a cell that begins.
    prepare
        Called before a checkpoint is saved, where the store is made with the first one.
    """

    checkpoints: Path | None = None
    until: float | None = None
    report: Callable[[str, int, int, str], None] | None = None
    save_every: float = SAVE_EVERY
    began: Callable[[str], object] | None = None
    prepare: Callable[[], object] | None = None

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return passed(self.until)

    def of(self, key: str) -> Watch:
        """What the cell of this key, which begins now, gets."""
        if self.began is not None:
            self.began(key)
        folder = None if self.checkpoints is None else self.checkpoints / key
        report = None if self.report is None else functools.partial(self.report, key)
        return Watch(folder, self.until, report, self.save_every, prepare=self.prepare)


_current: contextvars.ContextVar[Sitting | None] = contextvars.ContextVar("sitting", default=None)


@contextlib.contextmanager
def watching(watch: Watch | None) -> Generator[Sitting]:
    """Lend `watch` to the cell that runs inside."""
    sitting = Sitting(watch or Watch())
    token = _current.set(None if watch is None else sitting)
    try:
        yield sitting
    finally:
        _current.reset(token)


def current_sitting() -> Sitting | None:
    """The sitting at the cell that runs here; None outside of a run of the lab."""
    return _current.get()


def watched(part: str = "training") -> dict[str, Any]:
    """The arguments of `attnlab.training.population.train` by which a run watches a training.

    Parameters
    ----------
    part
        The name of this training among those of the cell, where it has several.
    """
    sitting = _current.get()
    if sitting is None:
        return {}
    watch = sitting.watch
    found: dict[str, Any] = {"reached": sitting.reached}
    checkpoint = sitting.checkpoint(part)
    if checkpoint is not None:
        found["checkpoint"] = checkpoint
    if watch.until is not None or watch.stop is not None:
        found["stop"] = sitting.asked_to_stop
    if watch.losses is not None:
        shown = watch.losses
        found["progress"] = lambda step, steps, loss: shown(step, loss)
    return found
