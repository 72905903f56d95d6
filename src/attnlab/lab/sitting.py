"""One sitting at a long cell: how far it is, what it has saved, and the seconds of all sittings.

Beside the checkpoint of a cell lies a note of how far the cell was and how many seconds that took,
those of earlier sittings included. The command that was interrupted reads it to say what is kept,
and the next sitting adds its own seconds to it.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from attnlab.files import write_whole, writer_name

if TYPE_CHECKING:
    from attnlab.training.checkpoint import Snapshot

NOTE = "under-way.json"
SAVE_EVERY = 20.0  # seconds between two checkpoints of a cell
REPORT_EVERY = 0.5  # seconds between two reports of progress

Report = Callable[[int, int, str], None]


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
        Called as `report(done, total, unit)` now and then, as in 300, 5000, "step".
    save_every
        Seconds between two checkpoints, at least.
    losses
        Called as `losses(step, loss)` after every chunk of steps, by those who show the loss.
    stop
        Asked between chunks; where it returns True a long cell stops as at `until`.
    prepare
        Called before a checkpoint is saved, where the store is made with the first one.
    """

    checkpoints: Path | None = None
    until: float | None = None
    report: Report | None = None
    save_every: float = SAVE_EVERY
    losses: Callable[[int, float], None] | None = None
    stop: Callable[[], bool] | None = None
    prepare: Callable[[], object] | None = None

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return passed(self.until)


def passed(until: float | None) -> bool:
    """Whether a time (`time.time()`) is over; None never is."""
    return until is not None and time.time() >= until


@dataclass(frozen=True)
class UnderWay:
    """How far a cell was when it was last saved, and the seconds that it had taken until then."""

    unit: str
    done: int
    total: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.unit} {self.done} of {self.total}"


def under_way(folder: Path) -> UnderWay | None:
    """The note in the folder of a cell's checkpoints; None where there is none to be read."""
    try:
        return UnderWay(**json.loads((folder / NOTE).read_text()))
    except (OSError, ValueError, TypeError):
        return None


class Sitting:
    """A cell while it is computed, from its beginning or from its last checkpoint."""

    def __init__(self, watch: Watch, clock: Callable[[], float] = time.monotonic):
        self.watch, self.clock = watch, clock
        self.began = clock()
        self.earlier = 0.0
        self._at = ("step", 0, 0)
        self._reported = -float("inf")

    @property
    def seconds(self) -> float:
        """The seconds so far, those of earlier sittings included whose work is used."""
        return self.earlier + self.clock() - self.began

    def reached(self, done: int, total: int, unit: str = "step") -> None:
        """Take note of how far the cell is; it is reported now and then."""
        self._at = (unit, done, total)
        report = self.watch.report
        if report is not None and self.clock() - self._reported >= REPORT_EVERY:
            self._reported = self.clock()
            report(done, total, unit)

    def asked_to_stop(self) -> bool:
        """Whether the time is up, or somebody asked."""
        watch = self.watch
        return watch.over or (watch.stop is not None and watch.stop())

    def checkpoint(self, part: str) -> CellCheckpoint | None:
        """Where a part of the cell keeps its snapshots; None where they cannot be kept."""
        folder = self.watch.checkpoints
        return None if folder is None else CellCheckpoint(self, folder / f"{part}.safetensors")

    def saved(self, folder: Path) -> None:
        """Write the note; a disk that is full has been reported where the snapshot was written."""
        note = json.dumps(asdict(UnderWay(*self._at, round(self.seconds, 6))))
        with contextlib.suppress(OSError):
            write_whole(folder / NOTE, note.encode(), folder / writer_name(f".{NOTE}."))


class CellCheckpoint:
    """The snapshots of a cell, for `attnlab.training.population.train` and for `Units`."""

    def __init__(self, sitting: Sitting, path: Path):
        self._sitting, self._path = sitting, path
        self._saved = sitting.clock()

    def __str__(self) -> str:
        return str(self._path)

    def due(self, chunks: int) -> bool:
        """Whether the last snapshot is old enough."""
        del chunks
        return self._sitting.clock() - self._saved >= self._sitting.watch.save_every

    def load(self) -> Snapshot | None:
        """The last snapshot; the seconds that it took count from now on."""
        if not self._path.exists():
            return None
        from attnlab.training.checkpoint import CheckpointFile

        note = under_way(self._path.parent)
        self._sitting.earlier = 0.0 if note is None else note.seconds
        return CheckpointFile(self._path).load()

    def save(self, snapshot: Snapshot) -> None:
        """Keep a snapshot in the place of the one before."""
        from attnlab.training.checkpoint import CheckpointFile

        if self._sitting.watch.prepare is not None:
            self._sitting.watch.prepare()
        CheckpointFile(self._path).save(snapshot)
        self._sitting.saved(self._path.parent)
        self._saved = self._sitting.clock()
