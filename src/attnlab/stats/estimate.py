"""The answer that laws and simulations share: a number and its standard error.

A closed form returns an `Estimate` with no error and no samples; a Monte Carlo returns the same
type with both, so that comparing the two is one line.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

CAUTION = 3.0  # standard errors that `Estimate.cautious` adds


@dataclass(frozen=True, repr=False)
class Estimate:
    """A value with its standard error; `samples` is None where the value is exact."""

    value: float
    standard_error: float = 0.0
    samples: int | None = None

    @classmethod
    def of(cls, values: Iterable[float] | np.ndarray) -> Estimate:
        """The mean of independent values, with its standard error s / sqrt(n).

        s^2 is the unbiased sample variance (n - 1 in the denominator). The standard error of one
        value is infinite, and so is everything where a value is not finite or its square is not.
        """
        kept = np.asarray(values if isinstance(values, np.ndarray) else list(values), float)
        if not np.isfinite(kept).all():
            return cls(math.inf, math.inf, len(kept))
        with np.errstate(over="ignore", invalid="ignore"):
            spread = float(kept.std(ddof=1)) if len(kept) > 1 else math.inf
            mean = float(kept.mean())
        if len(kept) > 1 and not math.isfinite(spread):
            return cls(math.inf, math.inf, len(kept))
        return cls(mean, spread / math.sqrt(len(kept)), len(kept))

    @property
    def exact(self) -> bool:
        """Whether the value comes from a closed form rather than from samples."""
        return self.samples is None

    @property
    def cautious(self) -> float:
        """The value plus three standard errors, infinite where that is not a number.

        Candidates are ranked by it because a heavy-tailed loss shows up in its standard error
        before it shows up in its mean.
        """
        worst = self.value + CAUTION * self.standard_error
        return worst if math.isfinite(worst) else math.inf

    def __str__(self) -> str:
        if self.exact:
            return f"{self.value:.6g}"
        if not self.standard_error > 0 or not math.isfinite(self.standard_error):
            return f"{self.value:.6g} ± {self.standard_error:g}"
        # Two digits of the standard error, and the value to the same place.
        places = max(1 - math.floor(math.log10(self.standard_error)), 0)
        if places > 12 or abs(self.value) >= 1e12:
            return f"{self.value:.4g} ± {self.standard_error:.2g}"
        return f"{self.value:.{places}f} ± {self.standard_error:.{places}f}"

    def __repr__(self) -> str:
        behind = "exact" if self.exact else f"{self.samples} samples"
        return f"Estimate({self}, {behind})"

    def _repr_html_(self) -> str:
        behind = "exact" if self.exact else f"{self.samples:,} samples"
        return f"<b>{self}</b> <small>({behind})</small>"
