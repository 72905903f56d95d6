"""What a training run reports: its weights, every intervention of the guard, a status per member.

A member that diverged is a result with a diagnosis. Events are plain numbers, read on the host from
the trace of a chunk and kept in checkpoints; statuses are sentences built from them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import jax
import numpy as np
from jaxtyping import Float, Int, PyTree

from attnlab.training.member import RESTORED, SKIPPED, STOPPED, Report

Action = Literal["skipped", "restored", "stopped"]
ACTIONS: dict[int, Action] = {SKIPPED: "skipped", RESTORED: "restored", STOPPED: "stopped"}


@dataclass(frozen=True)
class Event:
    """One intervention of the guard.

    Parameters
    ----------
    member, step, loss
        Which member, at which step, and its loss there.
    action
        Whether an update was skipped, or the member restored or stopped.
    kept
        The step whose weights it went back to.
    factor
        What multiplies its learning rate from there on.
    count
        The skipped updates of one chunk are one event, with the step and the loss of the first.
    """

    member: int
    step: int
    loss: float
    action: Action
    kept: int
    factor: float
    count: int = 1

    def __str__(self) -> str:
        where = f"member {self.member} at step {self.step}, loss {self.loss:.3g}"
        if self.action == "skipped":
            return f"{where}: {self.count} updates were not finite and were skipped"
        back = f"{where}: back to the weights of step {self.kept}"
        if self.action == "restored":
            return f"{back}, learning rate times {self.factor:.3g} from here on"
        return f"{back}, stopped"

    def record(self) -> list[Any]:
        """As JSON that keeps every bit of the numbers; NaN and infinity are no JSON."""
        floats = self.loss.hex(), self.factor.hex()
        return [self.member, self.step, floats[0], self.action, self.kept, floats[1], self.count]

    @staticmethod
    def read(record: Sequence[Any]) -> Event:
        """The event of a record."""
        member, step, loss, action, kept, factor, count = record
        numbers = float.fromhex(loss), float.fromhex(factor)
        return Event(member, step, numbers[0], action, kept, numbers[1], count)


@dataclass(frozen=True, repr=False)
class Trained:
    """A trained population: every tree and array has the members as an axis, the first in trees.

    Parameters
    ----------
    params
        The last weights.
    best, best_score, best_step
        The weights with the lowest score at the end of a chunk, that score, and its step. Scores
        are those of `evaluate` or, without one, the running loss.
    averaged
        The averaged weights, if there are any; `best` and the scores are then theirs.
    ends, losses, scores
        The last step of every chunk, the mean loss over its steps, and the score at its end.
    events, status
        What the guard did, and one sentence per member.
    """

    params: PyTree
    best: PyTree
    averaged: PyTree | None
    best_score: Float[np.ndarray, " members"]
    best_step: Int[np.ndarray, " members"]
    ends: Int[np.ndarray, " chunks"]
    losses: Float[np.ndarray, "chunks members"]
    scores: Float[np.ndarray, "chunks members"]
    events: tuple[Event, ...]
    status: tuple[str, ...]

    @property
    def stopped(self) -> tuple[int, ...]:
        """The members that diverged too often and were stopped."""
        return tuple(event.member for event in self.events if event.action == "stopped")

    def __repr__(self) -> str:
        last = self.ends[-1] if len(self.ends) else 0
        return f"Trained({len(self.status)} members, {last} steps, {len(self.stopped)} stopped)"

    def member(self, index: int) -> PyTree:
        """The best weights of one member."""
        return jax.tree.map(lambda leaf: leaf[index], self.best)


def events_of(report: Report, start: int) -> list[Event]:
    """The events of the chunk from step `start` on, in the order of their steps."""
    actions = np.asarray(report.trace.action)
    found = []
    for member in np.flatnonzero(actions.any(axis=1)).tolist():
        kept = int(report.kept_step[member])
        skips = int((actions[member] == SKIPPED).sum())
        for entry in np.flatnonzero(actions[member]).tolist():
            action = int(actions[member, entry])
            count = skips if action == SKIPPED else 1
            if action == SKIPPED:
                if not skips:
                    continue
                skips = 0
            loss = float(report.trace.loss[member, entry])
            factor = float(report.trace.factor[member, entry])
            found.append(Event(member, start + entry, loss, ACTIONS[action], kept, factor, count))
    return sorted(found, key=lambda event: (event.step, event.member))


def statuses(members: int, step: int, events: Sequence[Event]) -> tuple[str, ...]:
    """One sentence per member: how far it came and what was done on the way."""
    sentences = []
    for member in range(members):
        own = [event for event in events if event.member == member]
        restored = [event for event in own if event.action == "restored"]
        end = [event for event in own if event.action == "stopped"]
        skipped = math.fsum(event.count for event in own if event.action == "skipped")
        parts = [f"trained for {step} steps"]
        if end:
            parts = [
                f"stopped at step {end[0].step} with loss {end[0].loss:.3g}, at its weights of "
                f"step {end[0].kept}"
            ]
        if restored:
            times = "once" if len(restored) == 1 else f"{len(restored)} times"
            parts.append(f"restored {times}, learning rate times {restored[-1].factor:.3g}")
        if skipped:
            parts.append(f"{skipped:.0f} updates skipped that were not finite")
        sentences.append("; ".join(parts))
    return tuple(sentences)
