"""Levenberg-Marquardt: nonlinear least squares with few parameters, in double precision.

It minimises f = 1/2 sum_i weight_i ||r_i||^2 over a fixed sample and uses nothing of it but f,
J^T r and J^T J, which are summed over chunks of sequences, so that the whole Jacobian is never in
memory. The equations are solved on the host, with Marquardt's scaling. A step that increases f or
is not finite is never taken. The sums of squares of the small families are in `families`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, final, runtime_checkable

import jax
import numpy as np
from jaxtyping import Float
from scipy.linalg import eigh

from attnlab import arguments
from attnlab.errors import UserError

Parameters = TypeVar("Parameters")

PATIENCE = 5  # steps in a row that may decrease f by less than the tolerance
ROUNDING = 1e-15  # the least damping, relative to a curvature that is scaled to a unit diagonal


class NormalEquations(NamedTuple):
    """f, J^T r and J^T J, in the order in which `ravel_pytree` lists the parameters."""

    objective: float
    gradient: Float[np.ndarray, " p"]
    curvature: Float[np.ndarray, "p p"]


@runtime_checkable
class LeastSquares(Protocol[Parameters]):
    """A sum of squares on a fixed sample."""

    def objective(self, parameters: Parameters) -> float: ...

    def normal_equations(self, parameters: Parameters) -> NormalEquations: ...


class Diagnosis(Enum):
    """Why the search stopped."""

    CONVERGED = "converged"
    NO_PROGRESS = "no progress"
    ITERATION_LIMIT = "iteration limit"
    NOT_FINITE = "not finite"


@final
@dataclass(frozen=True)
class SearchLimits:
    """When a search stops.

    Parameters
    ----------
    iterations
        The largest number of Jacobians.
    tolerance
        The search has converged where the next step is predicted to decrease f by less than this
        share of it, or where five steps in a row did.
    damping
        The damping at the start.
    largest_damping
        There is no progress where no step decreases f at any damping up to this one.
    """

    iterations: int = 50
    tolerance: float = 1e-6
    damping: float = 1e-2
    largest_damping: float = 1e10

    def __post_init__(self) -> None:
        arguments.integer("iterations", self.iterations, 0)
        for name in ("tolerance", "damping", "largest_damping"):
            arguments.positive(name, getattr(self, name))


@final
@dataclass(frozen=True)
class Fit(Generic[Parameters]):
    """The end of a search; `objective` is never above that of the start."""

    parameters: Parameters
    objective: float
    iterations: int
    diagnosis: Diagnosis


def levenberg_marquardt(
    least_squares: LeastSquares[Parameters],
    start: Parameters,
    limits: SearchLimits = SearchLimits(),  # noqa: B008 (frozen)
) -> Fit[Parameters]:
    """Minimise from `start`. One iteration is one Jacobian and the trial steps from it.

    With D^2 = diag(J^T J), a step solves (J^T J + mu D^2) delta = -J^T r. The gain ratio rho is the
    decrease of f over the predicted decrease. By Nielsen's rule mu is multiplied by
    max(1/3, 1 - (2 rho - 1)^3) after a step that is taken, and by 2, 4, 8, ... after steps that are
    not. All trial steps of an iteration come from one eigendecomposition of the scaled curvature.
    """
    theta, unravel = _on_host(start)
    f, mu, taken, slow = least_squares.objective(start), limits.damping, 0, 0
    if not np.isfinite(f):
        return Fit(start, float(f), 0, Diagnosis.NOT_FINITE)

    def ended(diagnosis: Diagnosis) -> Fit[Parameters]:
        return Fit(unravel(theta), float(f), taken, diagnosis)

    for _ in range(limits.iterations):
        if f == 0:
            return ended(Diagnosis.CONVERGED)
        steps = _Steps(least_squares.normal_equations(unravel(theta)))
        if not steps.finite:
            return ended(Diagnosis.NOT_FINITE)
        if steps.at(min(mu, limits.damping))[1] <= limits.tolerance * f:
            return ended(Diagnosis.CONVERGED)
        growth = 2.0
        while True:
            delta, predicted = steps.at(mu)
            tried = least_squares.objective(unravel(theta + delta))
            if np.isfinite(tried) and tried < f:
                break
            mu, growth = mu * growth, growth * 2
            if mu > limits.largest_damping:
                return ended(Diagnosis.NO_PROGRESS)
        rho = (f - tried) / predicted if predicted > 0 else 1.0
        mu = max(mu * max(1 / 3, 1 - (2 * min(rho, 1.0) - 1) ** 3), ROUNDING)
        slow = slow + 1 if f - tried < limits.tolerance * f else 0
        theta, f, taken = theta + delta, tried, taken + 1
        if slow == PATIENCE:
            return ended(Diagnosis.CONVERGED)
    return ended(Diagnosis.ITERATION_LIMIT)


def _on_host(
    parameters: Parameters,
) -> tuple[Float[np.ndarray, " p"], Callable[[Float[np.ndarray, " p"]], Parameters]]:
    """`ravel_pytree` in NumPy: the search itself is a few small operations on the host."""
    leaves, structure = jax.tree.flatten(parameters)
    parts = [np.asarray(leaf) for leaf in leaves]
    ends = np.cumsum([part.size for part in parts])[:-1]

    def unravel(theta: Float[np.ndarray, " p"]) -> Parameters:
        split = zip(np.split(theta, ends), parts, strict=True)
        return jax.tree.unflatten(structure, [new.reshape(old.shape) for new, old in split])

    return np.concatenate([part.ravel() for part in parts]), unravel


class _Steps:
    """The damped steps from one set of normal equations."""

    def __init__(self, equations: NormalEquations) -> None:
        _, gradient, curvature = equations
        self.finite = bool(np.isfinite(gradient).all() and np.isfinite(curvature).all())
        if not self.finite:
            return
        size = np.sqrt(np.maximum(np.diag(curvature), 0))  # rounding can go below 0
        self._scale = np.where(size > 0, size, 1.0)  # a parameter without effect does not move
        values, self._vectors = eigh(curvature / np.outer(self._scale, self._scale))
        self._values = np.maximum(values, 0)
        self._slopes = self._vectors.T @ (gradient / self._scale)

    def at(self, mu: float) -> tuple[Float[np.ndarray, " p"], float]:
        """The step and its predicted decrease, -g^T delta - 1/2 delta^T J^T J delta."""
        shrunk = self._slopes / (self._values + mu)
        predicted = shrunk @ (self._slopes - self._values * shrunk / 2)
        return -(self._vectors @ shrunk) / self._scale, float(predicted)


def check_data(data: tuple[Any, ...]) -> int:
    """The number of sequences; a UserError for data that are empty, ragged or not finite."""
    counts = {len(part) for part in data}
    if len(counts) != 1 or 0 in counts:
        raise UserError(
            "data must be arrays with the same number of sequences, at least 1, "
            f"got {[len(part) for part in data]}."
        )
    if not all(np.isfinite(np.asarray(part)).all() for part in data):
        raise UserError("data must hold finite numbers only, got NaN or infinity in them.")
    return counts.pop()
