"""The functions of one member that are compiled, and the clock of a chunk of steps."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

Loss = Callable[[Any, Any, Any], Any]
Optimiser = optax.GradientTransformation | Callable[[Any], optax.GradientTransformation]


@dataclass(frozen=True)
class MemberFunctions:
    """Loss, optimiser, rate and score of one member; equal functions share a compiled program.

    Without `clips` no gradient is clipped, and its norm is not computed.
    """

    loss: Loss
    optimiser: Optimiser
    rate: Callable[[Any, Any], Any] | None = None
    evaluate: Callable[[Any, Any], Any] | None = None
    averaged: bool = False
    clips: bool = True

    def transformation(self, member: Any) -> optax.GradientTransformation:
        """The optimiser, built from the member's own values where it is a function of them."""
        if isinstance(self.optimiser, optax.GradientTransformation):
            return self.optimiser
        return self.optimiser(member)


class Clock(NamedTuple):
    """The steps of a chunk, the same for all members: data that members share is drawn once.

    `replay` is 0 for a fresh batch at every step, else the number of batches that repeat.
    """

    start: Any
    stop: Any
    replay: Any

    def key(self, key: Any, step: Any) -> Any:
        """fold_in(key, t), or fold_in(key, t mod replay)."""
        again = step % jnp.maximum(self.replay, 1)
        return jax.random.fold_in(key, jnp.where(self.replay > 0, again, step))
