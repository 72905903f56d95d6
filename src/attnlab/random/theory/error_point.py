"""One point of a curve of in-context errors, the answer that laws and simulations share.

A law fills in exact estimates; a simulation fills in means over runs with their standard errors
and keeps every run, since near the interpolation peak a mean has no finite spread and the median
is the number to report.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from attnlab import arguments
from attnlab.random.models.linear_attention import LinearAttention
from attnlab.random.models.transformer import EquivalentModel, RandomTransformer
from attnlab.stats.estimate import Estimate

Model = LinearAttention | RandomTransformer | EquivalentModel
Quantity = Literal["icl", "idg", "train"]


@dataclass(frozen=True)
class ErrorPoint:
    """The errors of `model` trained on n prompts with ridge lambda (penalty lambda n / d).

    `runs` holds (icl, idg, train) of every run, empty for a law. `diagnosis` says what is wrong
    with the point, empty if nothing; `condition` is the median condition number of the solves.
    """

    model: Model
    n: int
    ridge: float
    icl: Estimate
    idg: Estimate
    train: Estimate
    runs: tuple[tuple[float, float, float], ...] = ()
    condition: float = math.nan
    diagnosis: str = ""

    def quantiles(
        self, quantity: Quantity = "icl", at: tuple[float, ...] = (0.1, 0.5, 0.9)
    ) -> tuple[float, ...]:
        """Quantiles over runs, linearly interpolated; the value itself for a law."""
        values = sorted(self._values(quantity))
        return tuple(_quantile(values, q) for q in at)

    def median(self, quantity: Quantity = "icl") -> Estimate:
        """The median over runs, with the standard error that its order statistics give.

        Half the distance between the quantiles 1/2 -+ 1/(2 sqrt(r)): a count of runs below the
        median has standard deviation sqrt(r)/2, whatever their law is.
        """
        values = sorted(self._values(quantity))
        r = len(values)
        if r < 2:
            return Estimate(values[0], 0.0, None if not self.runs else r)
        half = 0.5 / math.sqrt(r)
        low, high = _quantile(values, 0.5 - half), _quantile(values, 0.5 + half)
        return Estimate(statistics.median(values), (high - low) / 2, r)

    def typical(self, quantity: Quantity = "icl") -> Estimate:
        """The mean, or the median where the diagnosis says that the mean is not to be trusted."""
        return self.median(quantity) if self.diagnosis else getattr(self, quantity)

    def _values(self, quantity: Quantity) -> list[float]:
        position = ("icl", "idg", "train").index(quantity)
        return [run[position] for run in self.runs] or [getattr(self, quantity).value]


def listed(
    models: Model | Sequence[Model], n: int | Sequence[int], ridge: float | Sequence[float]
) -> tuple[list[Model], list[int], Sequence[float]]:
    """What laws and simulations are asked for: one or many models, sizes and ridges."""
    several = [models] if isinstance(models, Model) else list(models)
    sizes = [n] if isinstance(n, int) else list(n)
    ridges = [ridge] if isinstance(ridge, int | float) else list(ridge)
    for size in sizes:
        arguments.integer("n", size, 1)
    for value in ridges:
        arguments.non_negative("ridge", value)
    return several, sizes, ridges


def _quantile(values: list[float], q: float) -> float:
    place = q * (len(values) - 1)
    low = math.floor(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (place - low) * (values[high] - values[low])
