"""What an interrupt leaves of a run, as one sentence that is true whenever the run is ended.

The handler of a signal has nothing at hand but what is global, so the run that is under way is kept
here. It knows which cells have begun; how far each of them is kept is read from its checkpoints.
"""

from __future__ import annotations

import threading
from pathlib import Path

from attnlab.lab.sitting import under_way

NAMED = 3  # cells under way that are named; the others are counted
NO_RUN = "interrupted; everything that was stored is whole."


class RunningCells:
    """The cells of a run: how many are finished, and which are under way."""

    def __init__(self, checkpoints: Path, stored: int = 0):
        self._checkpoints, self._finished = checkpoints, stored
        self._begun: dict[str, str] = {}
        self._one = threading.Lock()

    def began(self, key: str, kind: str) -> None:
        """A cell is under way."""
        with self._one:
            self._begun[key] = kind

    def ended(self, key: str, *, stored: bool) -> None:
        """A cell is no longer under way."""
        with self._one:
            self._begun.pop(key, None)
            self._finished += stored

    def sentence(self) -> str:
        """What is stored, what is kept and what begins again. It waits for nothing."""
        said = ["finished cells are in the store"] if self._finished else []
        kept, again = [], []
        for key, kind in list(self._begun.items()):
            note = under_way(self._checkpoints / key)
            (again if note is None else kept).append((kind, note))
        said += [f"{kind}: kept at {note}" for kind, note in kept[:NAMED]]
        if len(kept) > NAMED:
            said.append(f"{len(kept) - NAMED} more kept at their checkpoints")
        said += [f"{kind}: nothing is kept yet, it begins again" for kind, _ in again[:NAMED]]
        if len(again) > NAMED:
            said.append(f"{len(again) - NAMED} more begin again")
        if self._finished or kept:
            said.append("the same command continues")
        return f"interrupted; {'; '.join(said)}." if said else NO_RUN


_running: RunningCells | None = None


def begin(running: RunningCells) -> None:
    """From now on an interrupt ends this run."""
    global _running
    _running = running


def end() -> None:
    """The run has ended by itself."""
    global _running
    _running = None


def sentence() -> str:
    """What an interrupt leaves."""
    return NO_RUN if _running is None else _running.sentence()
