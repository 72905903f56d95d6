"""The heavy linear algebra on an accelerator, by JAX.

The methods are those of `attnlab.estimators.arrays.Host`. Gram matrices are products in float64,
which costs a data-centre GPU no more than float32 does, computed in panels that cover the lower
triangle. F and z come from JAX's counter-based generator, tile by tile.
"""

import math
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from attnlab.models.random_transformer import COLUMNS, NOISE, ROWS, WEIGHTS

ITERATIONS = 5  # of the power method, enough for a condition number within a factor of two


class Accelerator:
    """JAX arrays on the default device; needs JAX, and is tested on its CPU backend as well."""

    def __init__(self, dtype: Any = np.float32, precision: str = "highest") -> None:
        import jax
        import jax.numpy as jnp

        self.jax, self.jnp, self.dtype = jax, jnp, np.dtype(dtype)
        self._gram = jax.jit(_panel_gram, donate_argnums=0)
        self._cross = jax.jit(lambda a, r, y: a + r.astype(a.dtype).T @ y, donate_argnums=0)
        self._product = jax.jit(lambda a, b: jnp.matmul(a, b, precision=precision))
        self._predict = jax.jit(lambda a, b: a.astype(b.dtype) @ b)
        self._vectors = jax.jit(lambda x, b: (x[:, :, None] * b[:, None, :]).reshape(len(x), -1))
        self._draw = jax.jit(_draw, static_argnums=(3, 4, 5, 6, 7))
        self._cholesky = jax.jit(_cholesky, static_argnums=1)
        self._symmetric = jax.jit(lambda a, b: _symmetrised(a) @ b)
        self._solve = jax.jit(lambda c, b: jax.scipy.linalg.cho_solve((c, True), b))
        self._norm = jax.jit(_norm, static_argnums=1)
        self._inverse_norm = jax.jit(_inverse_norm)

    def available_memory(self) -> float:
        """Bytes of the device that are free, infinite where it does not say."""
        stats = self.jax.devices()[0].memory_stats() or {}
        return float(stats.get("bytes_limit", math.inf)) - float(stats.get("bytes_in_use", 0.0))

    def session(self, size: int) -> AbstractContextManager[Any]:
        """float64 for the Gram matrices, whatever JAX is set to."""
        return self.jax.enable_x64(True)

    def put(self, values: Any) -> Any:
        """Features or prompts in the features' precision."""
        return self.jnp.asarray(values, self.dtype)

    def double(self, values: Any) -> Any:
        """Weights and labels in float64."""
        return self.jnp.asarray(values, np.float64)

    def vectors(self, query: Any, memory: Any) -> Any:
        """vec(x b^T) for each row."""
        return self._vectors(query, memory)

    def weights(self, seed: int, rows: int, width: int) -> Any:
        """G, i.i.d. N(0, 1), a tile of columns at a time."""
        tiles = -(-width // COLUMNS)
        drawn = self._draw(self._key(seed, WEIGHTS), 0, 0, tiles, 1, COLUMNS, rows, self.dtype.name)
        return drawn[:width].T

    def noise(self, seed: int, start: int, count: int, width: int) -> Any:
        """z, i.i.d. N(0, 1)."""
        first, last = start // ROWS, -(-(start + count) // ROWS)
        across = -(-width // COLUMNS)
        key = self._key(seed, NOISE)
        drawn = self._draw(key, first, 0, last - first, across, ROWS, COLUMNS, self.dtype.name)
        return drawn[start - first * ROWS :][:count, :width]

    def product(self, left: Any, right: Any) -> Any:
        """left @ right in their precision."""
        return self._product(left, right)

    def predict(self, rows: Any, weights: Any) -> Any:
        """rows @ weights in float64."""
        return self._predict(rows, weights)

    def zeros(self, *shape: int) -> Any:
        """A float64 total to add to."""
        return self.jnp.zeros(shape, np.float64)

    def add_gram(self, total: Any, rows: Any) -> Any:
        """total + rows^T rows, lower triangle (panels above it stay as they were)."""
        return self._gram(total, rows)

    def add_cross(self, total: Any, rows: Any, labels: Any) -> Any:
        """total + rows^T labels."""
        return self._cross(total, rows, labels)

    def cholesky(self, lower: Any, size: int, shift: float) -> Any | None:
        """The factor of lower[:size, :size] + shift, None where it is not positive definite."""
        factor = self._cholesky(lower, size, shift)
        return factor if bool(self.jnp.isfinite(factor[-1, -1])) else None

    def cholesky_solve(self, factor: Any, right: Any) -> Any:
        """A^-1 right."""
        return self._solve(factor, right)

    def multiply_symmetric(self, lower: Any, size: int, right: Any) -> Any:
        """A right from the lower triangle of A."""
        return self._symmetric(lower[:size, :size], right)

    def norm(self, lower: Any, size: int) -> float:
        """The largest eigenvalue of A, from below."""
        return float(self._norm(lower, size, self.double(power_start(size))))

    def inverse_norm(self, factor: Any) -> float:
        """The largest eigenvalue of A^-1, from below."""
        return float(self._inverse_norm(factor, self.double(power_start(len(factor)))))

    def eigh(self, lower: Any, size: int) -> tuple[Any, Any]:
        """Eigenvalues in ascending order and eigenvectors."""
        return self.jnp.linalg.eigh(_symmetrised(lower[:size, :size]), symmetrize_input=False)

    def get(self, values: Any) -> np.ndarray:
        """Back to NumPy."""
        return np.asarray(values)

    def _key(self, seed: int, stream: int) -> Any:
        key = self.jax.random.key(seed & 0x7FFFFFFF)
        return self.jax.random.fold_in(self.jax.random.fold_in(key, seed >> 31), stream)


def power_start(size: int) -> np.ndarray:
    """The unit vector at which a power iteration begins, always the same."""
    start = np.random.Generator(np.random.Philox(0)).standard_normal((size, 1))
    return start / np.linalg.norm(start)


def _norm(lower: Any, size: int, start: Any) -> Any:
    A = _symmetrised(lower[:size, :size])
    return _norm_by_power(lambda vector: A @ vector, start)


def _inverse_norm(factor: Any, start: Any) -> Any:
    import jax

    return _norm_by_power(lambda v: jax.scipy.linalg.cho_solve((factor, True), v), start)


def _norm_by_power(apply: Any, start: Any) -> Any:
    """All iterations in one program: the host waits once."""
    import jax
    import jax.numpy as jnp

    def step(_: Any, state: Any) -> Any:
        vector = apply(state[0])
        value = jnp.linalg.norm(vector)
        return vector / value, value

    return jax.lax.fori_loop(0, ITERATIONS, step, (start, jnp.zeros((), start.dtype)))[1]


def _panel_gram(total: Any, rows: Any) -> Any:
    m = rows.shape[1]
    wide = rows.astype(total.dtype)
    panel = max(-(-m // 8), 256)
    for left in range(0, m, panel):
        right = min(left + panel, m)
        total = total.at[left:, left:right].add(wide[:, left:].T @ wide[:, left:right])
    return total


def _draw(
    key: Any, i: Any, j: Any, down: int, across: int, rows: int, columns: int, dtype: str
) -> Any:
    import jax

    def tile(a: Any, b: Any) -> Any:
        own = jax.random.fold_in(jax.random.fold_in(key, i + a), j + b)
        return jax.random.normal(own, (rows, columns), dtype)

    inner = jax.vmap(tile, (None, 0))
    drawn = jax.vmap(inner, (0, None))(jax.numpy.arange(down), jax.numpy.arange(across))
    return drawn.swapaxes(1, 2).reshape(down * rows, across * columns)


def _symmetrised(lower: Any) -> Any:
    import jax.numpy as jnp

    return jnp.tril(lower) + jnp.tril(lower, -1).T


def _cholesky(lower: Any, size: int, shift: Any) -> Any:
    import jax

    A = _symmetrised(lower[:size, :size]) + shift * jax.numpy.eye(size, dtype=lower.dtype)
    return jax.lax.linalg.cholesky(A, symmetrize_input=False)
