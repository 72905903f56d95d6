"""(A + penalty) x = right for several penalties, A given by its lower triangle.

Two solvers with one signature, as steps over `attnlab.random.ridge.arrays`: a Cholesky
factorisation per penalty, or one eigendecomposition for all. Each returns the condition numbers,
and the second leaves out the directions that are nothing but rounding.
"""

import math
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from attnlab.random.ridge.arrays import Arrays

EPSILON = float(np.finfo(np.float64).eps)
# A Cholesky solution is accepted while the condition number is below 1 / eps by this factor. In the
# worst case rounding loses a factor m, in practice a few; an eigendecomposition costs as much as 30
# factorisations.
MARGIN = 64


def by_cholesky(arrays: Arrays, lower: Any, right: Any, penalties: Any) -> tuple[Any, Any, Any]:
    """Solutions, lower bounds of condition numbers (NaN where it failed), and zeros."""
    top = arrays.norm(lower)

    def one(penalty: Any) -> tuple[Any, ...]:
        x, inverse = arrays.factored(lower, penalty, right)
        return x, arrays.xp.maximum((top + penalty) * inverse, 1.0), 0.0 * penalty

    return arrays.each(one, penalties)  # pyright: ignore[reportReturnType]


def by_eigh(arrays: Arrays, lower: Any, right: Any, penalties: Any) -> tuple[Any, Any, Any]:
    """Solutions, condition numbers, and how many directions were left out of each."""
    xp = arrays.xp
    spectrum, vectors = arrays.eigh(lower)
    along = right @ vectors

    def one(penalty: Any) -> tuple[Any, ...]:
        values = spectrum + penalty
        kept = values > values[-1] * len(values) * EPSILON
        inverse = xp.where(kept, 1 / xp.where(kept, values, 1.0), 0.0)
        condition = xp.where(kept[0], values[-1] * inverse[0], math.inf)
        return vectors @ (inverse * along), condition, 1.0 * (~kept).sum()

    return arrays.each(one, penalties)  # pyright: ignore[reportReturnType]


def trusted(conditions: Float[np.ndarray, " p"]) -> Bool[np.ndarray, " p"]:
    """Whether a Cholesky solution of each condition number is accepted; a NaN is not."""
    return conditions * MARGIN * EPSILON < 1
