"""One point of a curve of in-context errors, the answer that laws and simulations share.

A law gives exact estimates; a simulation gives means over runs with their standard errors and keeps
every run, since near the interpolation peak a mean has no finite variance and the median is the
number to report.
"""

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from attnlab import arguments
from attnlab.random.models import Model
from attnlab.stats.estimate import Estimate

Quantity = Literal["icl", "idg", "train"]


@dataclass(frozen=True, repr=False)
class ErrorPoint:
    """The errors of a model trained on n prompts with a ridge.

    Parameters
    ----------
    model
        The model.
    n, ridge
        Training prompts and ridge parameter lambda (penalty lambda n / d).
    icl
        Error on fresh tasks, label noise included.
    idg
        Error on the tasks of the training pool, label noise included.
    train
        Error on the training prompts.
    runs
        (icl, idg, train) of every run, empty for a law.
    condition
        Median condition number of the systems that were solved.
    diagnosis
        What is wrong with the point, empty if nothing.
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
        return tuple(np.quantile(self._values(quantity), at).tolist())

    def median(self, quantity: Quantity = "icl") -> Estimate:
        """The median over runs, with the standard error that its order statistics give.

        It is half the distance between the quantiles 1/2 -+ 1/(2 sqrt(r)): the number of runs below
        the true median has standard deviation sqrt(r)/2, whatever the law of the runs is.
        """
        values = self._values(quantity)
        r = len(values)
        if r < 2:
            return Estimate(values[0], 0.0, None if not self.runs else r)
        half = 0.5 / math.sqrt(r)
        low, middle, high = np.quantile(values, (0.5 - half, 0.5, 0.5 + half)).tolist()
        return Estimate(middle, (high - low) / 2, r)

    def typical(self, quantity: Quantity = "icl") -> Estimate:
        """The mean, or the median where the diagnosis says that the mean is not to be trusted."""
        return self.median(quantity) if self.diagnosis else getattr(self, quantity)

    def __repr__(self) -> str:
        extra = f", {self.diagnosis}" if self.diagnosis else ""
        return f"ErrorPoint({self._place()}: icl {self.icl}, idg {self.idg}{extra})"

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><td>{name}</td><td>{getattr(self, key)}</td></tr>"
            for key, name in (
                ("icl", "in-context error"),
                ("idg", "error on the pool's tasks"),
                ("train", "training error"),
            )
        )
        extra = f"<p><small>{html.escape(self.diagnosis)}</small></p>" if self.diagnosis else ""
        return f"<b>{html.escape(self._place())}</b><table>{cells}</table>{extra}"

    def _place(self) -> str:
        return f"{self.model}, n={self.n}, ridge={self.ridge:g}"

    def _values(self, quantity: Quantity) -> list[float]:
        position = ("icl", "idg", "train").index(quantity)
        return [run[position] for run in self.runs] or [getattr(self, quantity).value]


def listed(
    models: Model | Sequence[Model], n: int | Sequence[int], ridge: float | Sequence[float]
) -> tuple[list[Model], list[int], Sequence[float]]:
    """The arguments of laws and simulations as lists, checked one by one."""
    several = [models] if isinstance(models, Model) else list(models)
    sizes = [n] if isinstance(n, int) else list(n)
    ridges = [ridge] if isinstance(ridge, int | float) else list(ridge)
    for size in sizes:
        arguments.integer("n", size, 1)
    for value in ridges:
        arguments.non_negative("ridge", value)
    return several, sizes, ridges
