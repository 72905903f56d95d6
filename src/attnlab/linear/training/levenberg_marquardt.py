"""Levenberg-Marquardt: least squares with few parameters, in float64.

It minimises f = 1/2 sum_i weight_i ||r_i||^2 over a fixed sample, seen only through f, J^T r and
J^T J, which are summed over chunks of sequences, so the Jacobian is never held. Steps are solved on
the host, scaled as Marquardt does; a step that raises f or is not finite is never taken. What is
special to a family of models is in `families`; any residual function has `SequenceLeastSquares`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, final, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float
from scipy.linalg import eigh

from attnlab import arguments
from attnlab.errors import UserError

Parameters = TypeVar("Parameters")

PATIENCE = 5  # steps that lower f by less than the tolerance
ROUNDING = 1e-15  # of a curvature scaled to a unit diagonal: less than this is not measured


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
class Search:
    """How far to search.

    It has converged where the next step promises less than `tolerance` of f, or where five steps
    in a row lowered f by less than that; no progress is no step that lowers f at any damping up to
    `largest_damping`.
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
    """Where the search ended: `objective` is never above that of the start."""

    parameters: Parameters
    objective: float
    iterations: int
    diagnosis: Diagnosis


def levenberg_marquardt(
    least_squares: LeastSquares[Parameters],
    start: Parameters,
    search: Search = Search(),  # noqa: B008 (frozen)
) -> Fit[Parameters]:
    """Minimises from `start`; an iteration is one Jacobian and the trial steps made from it.

    With D^2 = diag(J^T J), a step solves (J^T J + mu D^2) delta = -J^T r. The gain ratio rho is the
    true decrease of f over the predicted one: mu shrinks by max(1/3, 1 - (2 rho - 1)^3) after a
    step that is taken, and grows by 2, 4, 8, ... after those that are not (Nielsen's rule). The
    eigenvectors of the scaled curvature give all these steps from one decomposition.
    """
    theta, unravel = _on_host(start)
    f, mu, taken, slow = least_squares.objective(start), search.damping, 0, 0
    if not np.isfinite(f):
        return Fit(start, float(f), 0, Diagnosis.NOT_FINITE)

    def ended(diagnosis: Diagnosis) -> Fit[Parameters]:
        return Fit(unravel(theta), float(f), taken, diagnosis)

    for _ in range(search.iterations):
        if f == 0:
            return ended(Diagnosis.CONVERGED)
        steps = _Steps(least_squares.normal_equations(unravel(theta)))
        if not steps.finite:
            return ended(Diagnosis.NOT_FINITE)
        if steps.at(min(mu, search.damping))[1] <= search.tolerance * f:
            return ended(Diagnosis.CONVERGED)
        growth = 2.0
        while True:
            delta, promised = steps.at(mu)
            tried = least_squares.objective(unravel(theta + delta))
            if np.isfinite(tried) and tried < f:
                break
            mu, growth = mu * growth, growth * 2
            if mu > search.largest_damping:
                return ended(Diagnosis.NO_PROGRESS)
        rho = (f - tried) / promised if promised > 0 else 1.0
        mu = max(mu * max(1 / 3, 1 - (2 * min(rho, 1.0) - 1) ** 3), ROUNDING)
        slow = slow + 1 if f - tried < search.tolerance * f else 0
        theta, f, taken = theta + delta, tried, taken + 1
        if slow == PATIENCE:
            return ended(Diagnosis.CONVERGED)
    return ended(Diagnosis.ITERATION_LIMIT)


def _on_host(
    parameters: Parameters,
) -> tuple[Float[np.ndarray, " p"], Callable[[Float[np.ndarray, " p"]], Parameters]]:
    """`ravel_pytree` without the device: the search itself is a few small NumPy operations."""
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
        self._scale = np.where(size > 0, size, 1.0)  # a parameter without effect stays
        values, self._vectors = eigh(curvature / np.outer(self._scale, self._scale))
        self._values = np.maximum(values, 0)
        self._slopes = self._vectors.T @ (gradient / self._scale)

    def at(self, mu: float) -> tuple[Float[np.ndarray, " p"], float]:
        """The step and the decrease that it promises, -g^T delta - 1/2 delta^T J^T J delta."""
        shrunk = self._slopes / (self._values + mu)
        promised = shrunk @ (self._slopes - self._values * shrunk / 2)
        return -(self._vectors @ shrunk) / self._scale, float(promised)


@final
class SequenceLeastSquares(Generic[Parameters]):
    """Any residual function of one sequence, r(parameters, *data_i), on batched arrays.

    `weight` is 1 / N unless given. The Jacobian is taken forwards where there are fewer parameters
    than residuals and backwards elsewhere, `chunk` sequences at a time. One compilation serves all
    data of one shape.
    """

    def __init__(
        self,
        residual: Callable[..., Float[Array, " outputs"]],
        data: tuple[Any, ...],
        weight: Any = None,
        chunk: int = 128,
    ) -> None:
        count = check_data(data)
        chunk = min(arguments.integer("chunk", chunk, 1), count)
        weight = np.full(count, 1 / count) if weight is None else np.asarray(weight)
        missing = -count % chunk
        # The last chunk is filled up with the first sequence, at weight 0.
        places = np.concatenate([np.arange(count), np.zeros(missing, int)])
        self._residual = residual
        self._weight = np.append(weight, np.zeros(missing)).reshape(-1, chunk)
        self._data = tuple(
            jnp.asarray(part)[places].reshape(-1, chunk, *part.shape[1:]) for part in data
        )

    def objective(self, parameters: Parameters) -> float:
        return float(_objective(self._residual, parameters, self._data, self._weight))

    def normal_equations(self, parameters: Parameters) -> NormalEquations:
        parts = _equations(self._residual, parameters, self._data, self._weight)
        f, gradient, curvature = map(np.asarray, parts)
        return NormalEquations(float(f), gradient, curvature)


def check_data(data: tuple[Any, ...]) -> int:
    """The number of sequences; one sentence for data that are empty, ragged or not finite."""
    counts = {len(part) for part in data}
    if len(counts) != 1 or 0 in counts:
        raise UserError(
            "data must be arrays with the same number of sequences, at least 1, "
            f"got {[len(part) for part in data]}."
        )
    if not all(np.isfinite(np.asarray(part)).all() for part in data):
        raise UserError("data must hold finite numbers only, got NaN or infinity in them.")
    return counts.pop()


@partial(jax.jit, static_argnums=0)
def _objective(residual, parameters, data, weight):
    def chunk(total, part):
        r = jax.vmap(lambda *sequence: residual(parameters, *sequence))(*part[0])
        return total + part[1] @ jnp.square(r).sum(1) / 2, None

    return jax.lax.scan(chunk, jnp.zeros((), weight.dtype), (data, weight))[0]


@partial(jax.jit, static_argnums=0)
def _equations(residual, parameters, data, weight):
    theta, unravel = ravel_pytree(parameters)
    outputs = jax.eval_shape(residual, parameters, *(part[0, 0] for part in data)).size

    def one(*sequence):
        def at(theta):
            r = residual(unravel(theta), *sequence)
            return r, r

        take = jax.jacfwd if theta.size < outputs else jax.jacrev
        return take(at, has_aux=True)(theta)

    def chunk(sums, part):
        J, r = jax.vmap(one)(*part[0])
        root = jnp.sqrt(part[1])
        J = (root[:, None, None] * J).reshape(-1, theta.size)
        r = (root[:, None] * r).reshape(-1)
        dot = partial(jnp.dot, precision="highest")
        return jax.tree.map(jnp.add, sums, (dot(r, r) / 2, dot(J.T, r), dot(J.T, J))), None

    p = theta.size
    start = tuple(jnp.zeros(shape, theta.dtype) for shape in ((), (p,), (p, p)))
    return jax.lax.scan(chunk, start, (data, weight))[0]
