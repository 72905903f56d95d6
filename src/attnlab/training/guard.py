"""The guard against divergence: the numbers that decide when a member has diverged.

The rule itself runs inside of the compiled step, in `member`. Here are its numbers as a user gives
them and as the step sees them: one per member and traced, so that other numbers compile nothing.
"""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from attnlab.errors import UserError


@dataclass(frozen=True)
class Guard:
    """When a member has diverged, and what is done about it; each number may be one per member.

    A member has diverged when its loss is not finite, when its running loss exceeds `limit` times
    its own lowest one plus `slack`, or when its score at the end of a chunk exceeds the best score
    in the same way. It is then restored to its last kept state with its learning rate multiplied
    by `shrink`, at most `restores` times; the next time it stays there and trains no further.

    Parameters
    ----------
    limit
        Largest ratio of the running loss (or score) to the lowest one so far.
    good
        The state at the end of a chunk is kept when its score is at most this many times the best
        one, plus `slack`.
    slack
        What is added to both limits.
    shrink
        Factor of the learning rate at every restore.
    restores
        How often a member may be restored.
    memory
        Weight of the past in the running loss, which is an exponential mean.
    """

    limit: Any = 10.0
    good: Any = 1.5
    slack: Any = 0.0
    shrink: Any = 0.5
    restores: Any = 3
    memory: Any = 0.98


class Controls(NamedTuple):
    """The guard's numbers, the clipping norm and the decay of the averages, one per member."""

    clip: Any
    decay: Any
    limit: Any
    good: Any
    slack: Any
    shrink: Any
    restores: Any
    memory: Any


BOUNDS = {
    "limit": (1, math.inf),
    "good": (1, math.inf),
    "slack": (0, math.inf),
    "shrink": (0, 1),
    "restores": (0, math.inf),
    "memory": (0, 1),
    "clip": (0, math.inf),
    "average": (0, 1),
}


def traced(guard: Guard, clip: Any, average: Any, members: int, dtype: Any) -> Controls:
    """All numbers as arrays with one entry per member."""
    given = dataclasses.asdict(guard)
    given |= {"clip": clip, "average": 1.0 if average is None else average}
    columns = {}
    for name, value in given.items():
        numbers = np.asarray(value, np.float64)
        low, high = BOUNDS[name]
        if (
            numbers.shape not in ((), (members,))
            or not ((numbers >= low) & (numbers <= high)).all()
        ):
            raise UserError(
                f"{name} must be one number, or one for each of {members} members, "
                f"from {low} to {high}, got {value!r}."
            )
        columns[name] = jnp.asarray(np.full(members, numbers), dtype)
    columns["decay"] = columns.pop("average")
    return Controls(**columns)
