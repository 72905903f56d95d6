"""The answer that laws and simulations share: a number and how far it may be off.

A closed form returns an `Estimate` with no error and no samples; a Monte Carlo returns the same
type with both, so that comparing the two is one line.
"""

import math
from dataclasses import dataclass

DOUBT = 3.0  # standard errors that `Estimate.cautious` adds


@dataclass(frozen=True)
class Estimate:
    """A value with its standard error; `samples` is None where the value is exact."""

    value: float
    standard_error: float = 0.0
    samples: int | None = None

    @property
    def exact(self) -> bool:
        """Whether the value comes from a closed form rather than from samples."""
        return self.samples is None

    @property
    def cautious(self) -> float:
        """The value with three standard errors added, infinite where that is no number.

        What is chosen for the least of these has no heavy tail: one shows in the error first.
        """
        worst = self.value + DOUBT * self.standard_error
        return worst if math.isfinite(worst) else math.inf
