"""What a run has recorded between chunks: losses, scores and the guard's interventions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from attnlab.training.member import Report
from attnlab.training.outcome import Event, events_of


@dataclass
class History:
    """Losses and scores of the chunks so far; it grows while the run goes on.

    The arrays have room for every chunk from the start, so that a checkpoint has one shape.
    """

    arrays: dict[str, np.ndarray]
    events: list[Event] = field(default_factory=list)

    @classmethod
    def empty(cls, chunks: int, members: int, dtype: Any) -> History:
        """A history with room for so many chunks."""
        return cls(
            {
                "ends": np.zeros(chunks, np.int64),
                "losses": np.full((chunks, members), np.nan, dtype),
                "scores": np.full((chunks, members), np.nan, dtype),
                "active": np.ones(members, np.bool_),
                "done": np.zeros((), np.int64),
            }
        )

    @property
    def chunks(self) -> int:
        """How many chunks have been recorded."""
        return int(self.arrays["done"])

    @property
    def step(self) -> int:
        """The step that training has reached."""
        return int(self.arrays["ends"][self.chunks - 1]) if self.chunks else 0

    @property
    def active(self) -> bool:
        """Whether any member still trains."""
        return bool(self.arrays["active"].any())

    @property
    def diverged(self) -> bool:
        """Whether any member has been restored or stopped."""
        return any(event.action != "skipped" for event in self.events)

    def record(self, report: Report, stop: int) -> None:
        """Add the report of the chunk that ended at the step `stop`."""
        done = self.chunks
        self.events += events_of(report, self.step)
        self.arrays["ends"][done] = stop
        self.arrays["losses"][done] = report.loss
        self.arrays["scores"][done] = report.score
        self.arrays["active"] = np.asarray(report.active)
        self.arrays["done"] = np.asarray(done + 1)

    def column(self, name: str) -> np.ndarray:
        """One of "ends", "losses" and "scores", for the chunks that have been recorded."""
        return self.arrays[name][: self.chunks]
