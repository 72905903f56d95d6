"""Roots and minima of functions of one number, by SciPy, with plain floats in and out."""

import math
from collections.abc import Callable
from typing import Any


def root(
    function: Callable[[float], float],
    low: float,
    high: float,
    xtol: float = 1e-14,
    rtol: float = 1e-14,
) -> float:
    """The root of `function` between low and high, where its signs differ."""
    from scipy import optimize

    solver: Any = optimize.brentq
    return float(solver(function, low, high, xtol=xtol, rtol=rtol, maxiter=500))


def best_positive(
    function: Callable[[float], float], low: float, high: float, scan: int = 57
) -> tuple[float, float]:
    """Where `function` is least on [low, high] and its value there, searched in the logarithm.

    A coarse scan comes first: double descent can leave two local minima.
    """
    from scipy import optimize

    step = math.log(high / low) / (scan - 1)
    grid = [math.log(low) + i * step for i in range(scan)]
    values = [function(math.exp(x)) for x in grid]
    best = values.index(min(values))
    bounds = (grid[max(best - 1, 0)], grid[min(best + 1, scan - 1)])
    search: Any = optimize.minimize_scalar
    found = search(
        lambda x: function(math.exp(x)), bounds=bounds, method="bounded", options={"xatol": 1e-8}
    )
    return math.exp(float(found.x)), float(found.fun)
