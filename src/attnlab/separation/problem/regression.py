"""Pairs of logit vectors for the softmax-regression model (Definition 3.8).

Source: Deng, Song, Zhou, "Superiority of Softmax" (arXiv 2310.11685). The network sees only
u = A x: on D0 every u_i lies in [log n, 1.4 log n]; D1 is the same vector with one coordinate set
to 4 log n. The definition does not say how the u_i are spread over the interval, so it is a choice.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from attnlab import arguments
from attnlab.errors import UserError

LOW, HIGH, SPIKE = 1.0, 1.4, 4.0  # in units of log n


@dataclass(frozen=True)
class RegressionPair:
    """D0 and D1 of Definition 3.8.

    `data` is "uniform" (independent uniform coordinates, fresh for every draw) or "two-level"
    (not random: n - h coordinates at log n, then h = round(high * n) at 1.4 log n). `spike` is the
    coordinate that D1 sets to 4 log n; by default the first one, which two-level data has low.
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
        """h, the number of coordinates at 1.4 log n in the D0 vector of two-level data."""
        return round(self.high * self.n)

    @property
    def spike_level(self) -> float:
        """The D0 level, in units of log n, of the coordinate that D1 spikes in two-level data."""
        return HIGH if self.spike >= self.n - self.high_count else LOW

    def sample(
        self, rng: np.random.Generator, draws: int | None = None
    ) -> tuple[Float[np.ndarray, "*draws n"], Float[np.ndarray, "*draws n"]]:
        """One pair (u0, u1), or `draws` of them along a leading axis.

        Drawing i pairs and then j pairs gives the same numbers as drawing i + j.
        """
        shape = (self.n,) if draws is None else (arguments.integer("draws", draws, 1), self.n)
        if self.data == "uniform":
            u0 = self.unit * rng.uniform(LOW, HIGH, shape)
        else:
            levels = np.full(self.n, LOW)
            levels[self.n - self.high_count :] = HIGH
            u0 = np.broadcast_to(self.unit * levels, shape).copy()
        u1 = u0.copy()
        u1[..., self.spike] = SPIKE * self.unit
        return u0, u1
