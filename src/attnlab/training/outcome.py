"""What a training run says about itself: every intervention of the guard, and a status a member.

A member that diverged is a result with a diagnosis. Events are plain numbers, read on the host from
the trace of a chunk and kept in checkpoints; statuses are sentences made from them.
"""

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
    """One intervention: `loss` is what the member had at `step`, `kept` the step it went back to.

    `factor` multiplies its learning rate from there on. The skipped updates of one chunk are one
    event with their `count`, and the step and the loss of the first.
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
    def read(record: Sequence[Any]) -> "Event":
        member, step, loss, action, kept, factor, count = record
        numbers = float.fromhex(loss), float.fromhex(factor)
        return Event(member, step, numbers[0], action, kept, numbers[1], count)


@dataclass(frozen=True)
class Trained:
    """A trained population: every tree and array has the members as an axis, the first in trees.

    `params` are the last weights and `best` those of the best score at the end of a chunk, the
    lowest `evaluate` or, without one, the lowest running loss. `averaged` are the averaged weights
    where they were asked for, and `best` and the scores are then theirs. `losses` is the mean loss
    over the steps of a chunk and `scores` the score at its end, at the steps `ends`.
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
        """The members that did not reach the last step."""
        return tuple(event.member for event in self.events if event.action == "stopped")

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
    """One sentence a member: how far it came and what was done on the way."""
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
