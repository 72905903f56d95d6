"""Pairs of logit vectors for the softmax-regression model (Definition 3.8).

Source: Deng, Song, Zhou, "Superiority of Softmax" (arXiv 2310.11685). The network sees only
u = A x: on D0 every u_i lies in [log n, 1.4 log n]; D1 is the same vector with one coordinate set
to 4 log n. The definition does not say how the u_i are spread over the interval, so it is a choice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.separation.double_precision import double_precision

if TYPE_CHECKING:
    from jaxtyping import PRNGKeyArray
else:
    PRNGKeyArray = Any  # JAX is imported when a prompt is drawn

LOW, HIGH, SPIKE = 1.0, 1.4, 4.0  # in units of log n


class RegressionPrompt(NamedTuple):
    """The logits u = A x of one dataset, and which dataset it is: 0 for D0, 1 for D1.

    Batches have leading axes.
    """

    logits: Float[Any, "*batch n"]
    label: Int[Any, "*batch"]


@dataclass(frozen=True)
class RegressionPair:
    """D0 and D1 of Definition 3.8.

    Parameters
    ----------
    n
        Number of logits.
    data
        "uniform" (independent uniform logits, drawn anew every time) or "two-level" (not random:
        n - h logits at log n, then h = round(high * n) at 1.4 log n).
    high
        Share of logits at 1.4 log n in two-level data.
    spike
        The coordinate that D1 sets to 4 log n; the first one is low in two-level data.
    """

    n: int
    data: Literal["uniform", "two-level"] = "uniform"
    high: float = 0.5
    spike: int = 0

    def __post_init__(self) -> None:
        arguments.integer("n", self.n, 2)
        arguments.one_of("data", self.data, ("uniform", "two-level"))
        object.__setattr__(self, "high", arguments.fraction("high", self.high))
        at = self.spike
        if isinstance(at, bool) or not isinstance(at, int | np.integer) or not 0 <= at < self.n:
            raise UserError(f"spike must be an integer from 0 to n - 1 = {self.n - 1}, got {at!r}.")

    @property
    def unit(self) -> float:
        """log n, natural logarithm."""
        return math.log(self.n)

    @property
    def high_count(self) -> int:
        """h, the number of logits at 1.4 log n on D0 of two-level data."""
        return round(self.high * self.n)

    @property
    def spike_level(self) -> float:
        """The D0 level, in units of log n, of the coordinate that D1 spikes in two-level data."""
        return HIGH if self.spike >= self.n - self.high_count else LOW

    def sample(self, key: PRNGKeyArray) -> RegressionPrompt:
        """Draw one prompt: logits of D0 or of D1, with probability 1/2 each."""
        import jax

        label_key, data_key = jax.random.split(key)
        drawn: Any = self._levels()
        if self.data == "uniform":
            drawn = jax.random.uniform(data_key, (self.n,), "float32", LOW, HIGH)
        with double_precision(jax.random.bits(label_key) & 1, drawn) as (xp, label, levels):
            spiked = (label == 1) & (np.arange(self.n) == self.spike)
            u = self.unit * xp.where(spiked, SPIKE, levels.astype("float64"))
            return RegressionPrompt(u, label.astype("int32"))

    def draw(self, rng: np.random.Generator, draws: int = 1) -> Float[np.ndarray, "draws n"]:
        """Logits of D0 in NumPy, `draws` vectors at once; `spiked` makes those of D1.

        Drawing i vectors and then j gives the same numbers as drawing i + j.
        """
        u = self.draw_levels(rng, draws).astype(np.float64)
        u *= self.unit
        return u

    def draw_levels(
        self, rng: np.random.Generator, draws: int = 1, start: int = 0, stop: int | None = None
    ) -> Float[np.ndarray, "draws n"]:
        """The same in units of log n, all coordinates or those from `start` until before `stop`.

        Uniform levels are float32 numbers, since random numbers need no more than 24 bits. Two
        levels are float64 numbers, because 1.4 must be exact to rounding there: such data has
        scores equal to a threshold.

        Parameters
        ----------
        rng, draws
            Where the levels come from, and how many vectors of them.
        start, stop
            Which coordinates.
        """
        stop = self.n if stop is None else stop
        shape = (arguments.integer("draws", draws, 1), stop - start)
        if self.data == "two-level":
            return np.broadcast_to(self._levels()[start:stop], shape)
        drawn = rng.random(shape, np.float32)
        drawn *= np.float32(HIGH - LOW)
        drawn += np.float32(LOW)
        return np.minimum(drawn, np.float32(HIGH), out=drawn)

    def spiked(self, u: Float[np.ndarray, "*draws n"]) -> Float[np.ndarray, "*draws n"]:
        """The logits of D1 that belong to those of D0."""
        changed = u.copy()
        changed[..., self.spike] = SPIKE * self.unit
        return changed

    def _levels(self) -> Float[np.ndarray, " n"]:
        levels = np.full(self.n, LOW)
        levels[self.n - self.high_count :] = HIGH
        return levels
