"""The heavy linear algebra on an accelerator, by JAX.

The methods are those of `attnlab.random.ridge.arrays.Host`, and run inside a step that `call`
compiles as one program: nothing is dispatched operation by operation, and nothing waits for the
host. Gram matrices are products in float64, which costs a data-centre GPU no more than float32
does, in strips that cover the lower triangle. Prompts, F and z are computed from the same random
words as on the host (`attnlab.random.philox`), in float32.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

import numpy as np

from attnlab.memory import available_device_memory
from attnlab.random.models.transformer import TILE
from attnlab.random.philox import Stream, device_normals, key_of
from attnlab.random.problem import SingleIndexRegression, Split, TasksOf
from attnlab.random.prompts import Prompts, vectors

ITERATIONS = 3  # of the power method for the largest eigenvalue
INVERSE = 2  # the same for the smallest, right in its order of magnitude
# The compiler's own kernels for products in float64 are seven times slower than the library's, and
# trying them all out takes seconds per program.
GPU_COMPILER = {"xla_gpu_enable_triton_gemm": False, "xla_gpu_autotune_level": 0}
STRIPS, SMALL = 4, 512  # strips of a Gram matrix, and the width below which it is one


@dataclass(frozen=True)
class Accelerator:
    """JAX arrays on the default device; needs JAX, and is tested on its CPU backend as well.

    `concurrent_runs` runs of a simulation are computed at the same time, so that the host's part of
    one overlaps the device's part of the other; 0 means two, or one where the device is the CPU.
    Equal accelerators share their compiled programs.
    """

    dtype: Any = np.float32
    precision: str = "highest"
    concurrent_runs: int = field(default=0, compare=False)
    block: int = field(default=10_000, compare=False)  # prompts whose features are held at once

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", np.dtype(self.dtype))
        if self.concurrent_runs == 0:
            import jax

            runs = 1 if jax.default_backend() == "cpu" else 2
            object.__setattr__(self, "concurrent_runs", runs)

    @property
    def xp(self) -> Any:
        """jax.numpy."""
        import jax.numpy as jnp

        return jnp

    def available_memory(self) -> float:
        """Bytes of the device that are free, infinite where it does not say."""
        free = available_device_memory()
        return math.inf if free is None else free

    def session(self, size: int) -> AbstractContextManager[Any]:
        """float64 for the Gram matrices, whatever JAX is set to in this thread."""
        import jax

        return jax.enable_x64(True)

    def call(
        self,
        step: Callable[..., Any],
        options: tuple[Any, ...],
        *values: Any,
        donate: int = 0,
    ) -> Any:
        """step(arrays, *options, *values), compiled once for its options and the values' shapes.

        The memory of the first `donate` values is given to the result.
        """
        with self.session(0):
            return _program(step, donate)(self, options, *values)

    def each(self, function: Callable[[Any], tuple[Any, ...]], values: Any) -> tuple[Any, ...]:
        """What the function gives for each of the values, stacked."""
        import jax

        return jax.lax.map(function, values)

    def put(self, values: Any) -> Any:
        """Features or prompts in the features' precision."""
        return self.xp.asarray(values, self.dtype)

    def double(self, values: Any) -> Any:
        """Weights and labels in float64."""
        return self.xp.asarray(values, np.float64)

    def rows(self, values: Any, start: Any, count: int) -> Any:
        """values[start : start + count]."""
        import jax

        return jax.lax.dynamic_slice_in_dim(values, start, count)

    def vectors(self, query: Any, memory: Any) -> Any:
        """vec(x b^T) for each row."""
        return vectors(query, memory)

    def draws(
        self,
        problem: SingleIndexRegression,
        seed: int,
        counts: Sequence[tuple[TasksOf, Split, int]],
    ) -> list[Prompts]:
        """So many prompts of each kind, all from one program."""
        pool = problem.pool(seed)
        pool = None if pool is None else np.asarray(pool, self.dtype)
        return self.call(_draws, (problem, tuple(counts)), key_of(seed), pool)

    def weights(self, seed: int, rows: int, width: int, t: Any) -> Any:
        """F, i.i.d. N(0, 1 / t)."""
        return self.call(_weights, (rows, width), key_of(seed), t)

    def noise(self, seed: int, start: int, count: int, width: int) -> Any:
        """z, i.i.d. N(0, 1)."""
        return self.call(_noise, (count, width), key_of(seed), np.int64(start))

    def product(self, left: Any, right: Any) -> Any:
        """left @ right in their precision."""
        return self.xp.matmul(left, right, precision=self.precision)

    def activate(self, model: Any, U: Any, z: Any, width: int) -> Any:
        """The model's features from the pre-activations U, without noise where z is None."""
        return model.activate(U[:, :width], None if z is None else z[:, :width])

    def predict(self, rows: Any, weights: Any) -> Any:
        """rows @ weights^T in float64."""
        return rows.astype(weights.dtype) @ weights.T

    def combine(self, vector: Any, rows: Any) -> Any:
        """vector @ rows in float64, as a sum that reads the rows once and copies nothing."""
        return (vector[:, None] * rows.astype(vector.dtype)).sum(0)

    def zeros(self, *shape: int) -> Any:
        """A float64 total to add to."""
        return self.xp.zeros(shape, np.float64)

    def add_gram(self, total: Any, rows: Any) -> Any:
        """total + rows^T rows, lower triangle; entries above the diagonal are not used."""
        import jax

        m = rows.shape[1]
        strip = m if m < SMALL else -(-m // STRIPS)
        rows = rows.astype(total.dtype)
        for left in range(0, m, strip):
            right = min(left + strip, m)
            part = total[left:, left:right] + rows[:, left:].T @ rows[:, left:right]
            total = jax.lax.dynamic_update_slice(total, part, (left, left))
        return total

    def add_cross(self, total: Any, rows: Any, labels: Any) -> Any:
        """total + rows^T labels."""
        return total + rows.astype(total.dtype).T @ labels

    def factored(self, lower: Any, shift: Any, right: Any) -> tuple[Any, Any]:
        """x of (A + shift) x = right and a bound from below of |(A + shift)^-1|, by Cholesky.

        The bound is not a number where the sum is not positive definite. A GPU solves for one
        vector far faster than for a few.
        """
        import jax

        A = lower + shift * self.xp.eye(len(lower), dtype=lower.dtype)
        factor = jax.lax.linalg.cholesky(A, symmetrize_input=False)

        def inverse(vector: Any) -> Any:
            return jax.scipy.linalg.cho_solve((factor, True), vector)

        return inverse(right[:, None])[:, 0], _norm_by_power(len(lower), INVERSE, inverse)

    def multiply_symmetric(self, lower: Any, right: Any) -> Any:
        """A right from the lower triangle of A."""
        return self._symmetrised(lower) @ right

    def norm(self, lower: Any) -> Any:
        """The largest eigenvalue of A, from below."""
        A = self._symmetrised(lower)
        return _norm_by_power(len(lower), ITERATIONS, lambda vector: A @ vector)

    def eigh(self, lower: Any) -> tuple[Any, Any]:
        """Eigenvalues in ascending order and eigenvectors."""
        return self.xp.linalg.eigh(self._symmetrised(lower), symmetrize_input=False)

    def get(self, values: Any) -> Any:
        """A list or a tuple of arrays, or one, back to NumPy: all are waited for together."""
        import jax

        return jax.device_get(values)

    def _symmetrised(self, lower: Any) -> Any:
        return self.xp.tril(lower) + self.xp.tril(lower, -1).T


@lru_cache(maxsize=64)
def power_start(size: int) -> Any:
    """Where the power method begins, always the same; not to be written to."""
    start = np.random.Generator(np.random.Philox(0)).standard_normal((size, 1))
    return start / np.linalg.norm(start)


@cache
def _program(step: Callable[..., Any], donate: int) -> Callable[..., Any]:
    import jax

    def program(arrays: Accelerator, options: tuple[Any, ...], *values: Any) -> Any:
        return step(arrays, *options, *values)

    program.__name__ = step.__name__
    compiler = GPU_COMPILER if jax.default_backend() == "gpu" else {}
    given = tuple(range(2, 2 + donate))
    return jax.jit(program, static_argnums=(0, 1), donate_argnums=given, compiler_options=compiler)


def _draws(
    arrays: Accelerator, problem: SingleIndexRegression, counts: Any, key: Any, pool: Any
) -> list[Prompts]:
    return problem.device_draws(key, counts, pool, arrays.dtype)


def _weights(arrays: Accelerator, rows: int, width: int, key: Any, t: Any) -> Any:
    G = device_normals(key, Stream.WEIGHTS, arrays.xp.arange(width), rows)
    return (G / arrays.xp.sqrt(t).astype(G.dtype)).astype(arrays.dtype).T


def _noise(arrays: Accelerator, count: int, width: int, key: Any, start: Any) -> Any:
    rows = start + arrays.xp.arange(count)
    return device_normals(key, Stream.NOISE, rows, width, TILE).astype(arrays.dtype)


def _norm_by_power(size: int, iterations: int, apply: Callable[[Any], Any]) -> Any:
    import jax
    import jax.numpy as jnp

    def step(_: Any, state: Any) -> Any:
        vector = apply(state[0])
        value = jnp.linalg.norm(vector)
        return vector / value, value

    start = jnp.asarray(power_start(size))
    return jax.lax.fori_loop(0, iterations, step, (start, jnp.zeros((), start.dtype)))[1]
