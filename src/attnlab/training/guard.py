"""The guard against divergence: when a member is lost, and the numbers that decide it.

The rule itself runs inside of the compiled step, in `member`; here are its numbers as a user gives
them and as the step sees them, one a member and traced, so that a sweep over them compiles once.
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
    """When a member has diverged, and what is done about it; each number may be one a member.

    A member has diverged when its loss is not finite, or its running loss exceeds `limit` times its
    own lowest (plus `slack`), or so does its score at the end of a chunk. It is restored to its
    last kept state with its learning rate times `shrink`, at most `restores` times; the next time
    it is stopped there. The end of a chunk is kept when its score is at most `good` times the best
    (plus `slack`). The running loss is an exponential mean with the weight `memory` on the past.
    """

    limit: Any = 10.0
    good: Any = 1.5
    slack: Any = 0.0
    shrink: Any = 0.5
    restores: Any = 3
    memory: Any = 0.98


class Controls(NamedTuple):
    """The guard's numbers with the clipping norm and the averages' decay, one a member."""

    clip: Any
    decay: Any
    limit: Any
    good: Any
    slack: Any
    shrink: Any
    restores: Any
    memory: Any


def traced(guard: Guard, clip: Any, average: Any, members: int, dtype: Any) -> Controls:
    """All of them as arrays of one number a member, so that other numbers compile nothing."""
    given = dataclasses.asdict(guard) | {"clip": clip, "decay": 1.0 if average is None else average}
    bounds = {"limit": (1, math.inf), "good": (1, math.inf), "slack": (0, math.inf)}
    bounds |= {"shrink": (0, 1), "restores": (0, math.inf), "memory": (0, 1)}
    bounds |= {"clip": (0, math.inf), "decay": (0, 1)}
    columns = {}
    for name, value in given.items():
        numbers = np.asarray(value, np.float64)
        low, high = bounds[name]
        if (
            numbers.shape not in ((), (members,))
            or not ((numbers >= low) & (numbers <= high)).all()
        ):
            name = "average" if name == "decay" else name
            raise UserError(
                f"{name} must be one number, or one for each of {members} members, "
                f"from {low} to {high}, got {value!r}."
            )
        columns[name] = jnp.asarray(np.full(members, numbers), dtype)
    return Controls(**columns)
