"""The answer that laws and simulations share: a number and how far it may be off.

A closed form returns an `Estimate` with no error and no samples; a Monte Carlo returns the same
type with both, so that comparing the two is one line.
"""

from dataclasses import dataclass


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
