"""Sums of squares of any residual function: the test of those that are written out for speed."""

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, final

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from attnlab import arguments
from attnlab.linear.training.levenberg_marquardt import NormalEquations, Parameters, check_data


@final
class SequenceLeastSquares(Generic[Parameters]):
    """The sum of squares of r(parameters, *data_i) over batched arrays.

    `weight` is 1 / N unless given. JAX takes the Jacobian, forwards where there are fewer
    parameters than residuals and backwards elsewhere, for `chunk` sequences at a time.
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
