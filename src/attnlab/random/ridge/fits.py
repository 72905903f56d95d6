"""One ridge fit, and how fits are started together and waited for together.

min_w sum_i (y_i - w^T phi_i)^2 + penalty |w|^2, for several penalties at once. An accelerator
computes all fits that were launched before the host waits for any of them. `system` has the normal
equations, for m <= n, and `kernel` the dual problem, for m > n.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.random.ridge.arrays import Arrays
from attnlab.random.ridge.solve import by_cholesky, by_eigh, trusted

# From this many penalties on one eigendecomposition (about 9 m^3) beats a factorisation for each.
MANY = 16


class IllConditioned(UserWarning):
    """A fit whose weights float32 features cannot determine."""


@dataclass(frozen=True)
class RidgeFit:
    """One fit: weights, intercept, training error, |w|^2, condition number and a diagnosis.

    `diagnosis` is empty for a fit to be trusted. `condition` is that of the penalised system, by
    power iteration: a lower bound, right in its order of magnitude. Weights stay where they were
    computed, beside those of the other penalties.
    """

    n: int
    m: int
    penalty: float
    together: Any
    row: int
    intercept: float
    train_error: float
    square_norm: float
    condition: float
    diagnosis: str

    @property
    def weights(self) -> Any:
        """The weight vector w."""
        return self.together[self.row]


@dataclass(frozen=True)
class Launched:
    """Fits of one system for several penalties, under way; `solve` computes them with a solver.

    `found` is what it gave: the weights, and for each penalty a row of numbers (intercept, training
    error, |w|^2, condition number, directions left out).
    """

    n: int
    m: int
    size: int
    penalties: tuple[float, ...]
    solve: Callable[[Callable[..., Any]], tuple[Any, Any]]
    found: tuple[Any, Any]


def launch(
    n: int,
    m: int,
    size: int,
    penalties: Sequence[float],
    solve: Callable[[Callable[..., Any]], tuple[Any, Any]],
) -> Launched:
    """Start the fits of one system.

    Parameters
    ----------
    n, m
        Samples and features.
    size
        Number of unknowns of the system.
    penalties
        One fit for each.
    solve
        Computes all of them with a given solver: factorisations or, for many penalties, one
        eigendecomposition.
    """
    if n < 1:
        raise UserError("a ridge fit must have at least one sample, got none.")
    for penalty in penalties:
        arguments.non_negative("penalty", penalty)
    solver = by_eigh if len(penalties) >= MANY else by_cholesky
    return Launched(n, m, size, tuple(penalties), solve, solve(solver))


def settle(arrays: Arrays, launched: Sequence[Launched]) -> list[list[RidgeFit]]:
    """Wait for the fits.

    A system that is not positive definite, or so by rounding alone, is solved again by an
    eigendecomposition, which leaves out the directions that are nothing but rounding.
    """
    numbers = arrays.get([one.found[1] for one in launched])
    fits = []
    for one, own in zip(launched, numbers, strict=True):
        weights = one.found[0]
        if len(one.penalties) < MANY and not trusted(own[:, 3]).all():
            weights, own = one.solve(by_eigh)
            own = arrays.get(own)
        fits.append(
            [
                _fit(arrays, one, penalty, weights, row, own[row].tolist())
                for row, penalty in enumerate(one.penalties)
            ]
        )
    return fits


def _fit(
    arrays: Arrays, one: Launched, penalty: float, weights: Any, row: int, numbers: list[float]
) -> RidgeFit:
    b, train, norm, condition, dropped = numbers
    diagnosis = _diagnosis(arrays, one.size, condition, int(dropped))
    return RidgeFit(one.n, one.m, penalty, weights, row, b, train, norm, condition, diagnosis)


def _diagnosis(arrays: Arrays, size: int, condition: float, dropped: int) -> str:
    if dropped:
        return f"singular to working precision: {dropped} of {size} directions left out"
    limit = 1 / float(np.finfo(arrays.dtype).eps)
    if condition <= limit:
        return ""
    return f"ill-conditioned: condition number {condition:.1e} exceeds {limit:.0e} of the features"
