"""How a population is trained, beside its loss, its members and the number of steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from attnlab import arguments
from attnlab.training.guard import Guard


@dataclass(frozen=True)
class TrainingOptions:
    """What `population.train` computes beyond plain descent. All of it decides the result.

    Parameters
    ----------
    chunk
        Steps that run inside of one call of the compiled program. Progress, checkpoints, scores
        and requests to stop happen between chunks.
    rate
        `rate(member, step)` multiplies the optimiser's update; None for 1.
    evaluate
        `evaluate(params, member)` is the held-out score at the end of every chunk, with its
        randomness fixed by itself; None scores by the running loss.
    clip
        Largest global norm of the gradient; one number, or one per member.
    average
        Decay of the averaged weights, 1 for the mean over all steps; one number, one per member,
        or None for no averages.
    guard
        When a member has diverged and what is done about it.
    replay
        Number of batches that are used again and again; 0 for a fresh batch at every step.
    fast_compile
        Whether to save compile time on a CPU (`attnlab.compiling`); it suits short runs.
    """

    chunk: int = 100
    rate: Callable[[Any, Any], Any] | None = None
    evaluate: Callable[[Any, Any], Any] | None = None
    clip: Any = math.inf
    average: Any | None = None
    guard: Guard = field(default_factory=Guard)
    replay: int = 0
    fast_compile: bool = False

    def __post_init__(self) -> None:
        arguments.integer("chunk", self.chunk, 1)
        arguments.integer("replay", self.replay, 0)
