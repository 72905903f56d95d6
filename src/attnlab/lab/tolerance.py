"""How closely two computations of one cell agree where they cannot agree bit for bit.

The random numbers of a cell are the same everywhere. On another kind of device, or with other
versions of the libraries, a sum may be added in another order, and its last digits differ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Tolerance:
    """Two numbers agree if |a - b| <= relative * max(|a|, |b|) + absolute.

    Parameters
    ----------
    relative
        For float64 and a few thousand operations the default is generous; a kind of cell that
        computes in float32, solves ill-conditioned systems or trains declares its own.
    absolute
        Below this a number counts as a rounding error, and is compared no further.
    """

    relative: float = 1e-9
    absolute: float = 1e-12

    def agree(self, first: Any, second: Any) -> bool:
        """Whether two values of a column agree; what is not a float has to be equal."""
        if not (isinstance(first, float) and isinstance(second, float)):
            return first == second
        if math.isnan(first) or math.isnan(second):
            return math.isnan(first) and math.isnan(second)
        largest = max(abs(first), abs(second))
        return first == second or abs(first - second) <= self.relative * largest + self.absolute

    def __str__(self) -> str:
        return f"{self.relative:g} of its size plus {self.absolute:g}"


ROUNDING = Tolerance()
