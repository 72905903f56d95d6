"""The heavy linear algebra on an accelerator, by JAX.

The methods are those of `attnlab.estimators.arrays.Host`. Gram matrices are products in float64,
which costs a data-centre GPU no more than float32 does, computed in panels that cover the lower
triangle. Prompts, F and z come from JAX's counter-based generator, group by group and tile by tile.
"""

import math
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import numpy as np

from attnlab.models.random_transformer import COLUMNS, NOISE, ROWS, WEIGHTS
from attnlab.problems.single_index import STREAMS, Prompts, SingleIndexRegression, Split, TasksOf

ITERATIONS = 3  # of the power method for the largest eigenvalue
INVERSE = 2  # the same for the smallest, right in its order of magnitude
PROMPTS = 20  # first stream of the prompts; below it are F and z


class Accelerator:
    """JAX arrays on the default device; needs JAX, and is tested on its CPU backend as well.

    `host_prompts` draws the prompts as `Host` does: the same numbers, at the host's speed.
    """

    block = 10_000  # prompts whose features are held at once

    def __init__(
        self, dtype: Any = np.float32, precision: str = "highest", *, host_prompts: bool = False
    ) -> None:
        import jax
        import jax.numpy as jnp

        self.jax, self.jnp, self.dtype = jax, jnp, np.dtype(dtype)
        self.host_prompts = host_prompts
        # Trying out kernels takes a second a program, and every size is a program of its own.
        quick = {"xla_gpu_autotune_level": 0} if jax.default_backend() == "gpu" else {}
        jit = partial(jax.jit, compiler_options=quick)
        self._gram = jit(_add_gram, donate_argnums=0)
        self._cross = jit(lambda a, r, y: a + r.astype(a.dtype).T @ y, donate_argnums=0)
        self._product = jit(lambda a, b: jnp.matmul(a, b, precision=precision))
        self._predict = jit(lambda a, b: a.astype(b.dtype) @ b)
        self._vectors = jit(lambda x, b: (x[:, :, None] * b[:, None, :]).reshape(len(x), -1))
        self._draw = jit(_draw, static_argnums=(3, 4, 5, 6, 7))
        self._symmetric = jit(lambda a, b: _symmetrised(a) @ b)
        self._norm = jit(_norm, static_argnums=1)
        self._factored = jit(_factored, static_argnums=1)
        self._activate = jit(_activate, static_argnums=(0, 3))
        self._square_errors = jit(_square_errors)

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

    def prompts(
        self, problem: SingleIndexRegression, count: int, seed: int, tasks: TasksOf, split: Split
    ) -> Prompts:
        """`count` prompts; labels and signals are NumPy's, the rest stays on the device."""
        if self.host_prompts:
            return problem.all_prompts(count, seed=seed, tasks=tasks, split=split)
        from attnlab.problems.single_index_device import device_prompts

        pool = problem.pool(seed) if tasks == "pool" else None
        key = self._key(seed, PROMPTS + STREAMS[split, tasks])
        # The precision is set here as well, because prompts may be drawn by a thread of their own.
        with self.jax.enable_x64(True):
            pool = None if pool is None else self.put(pool)
            query, memory, *rest = device_prompts(problem, key, count, pool, self.dtype.name)
            return Prompts(query, memory, *(np.asarray(part, np.float64) for part in rest))

    def weights(self, seed: int, rows: int, width: int, t: float) -> Any:
        """F, i.i.d. N(0, 1 / t), a tile of columns at a time."""
        tiles = -(-width // COLUMNS)
        drawn = self._draw(self._key(seed, WEIGHTS), 0, 0, tiles, 1, COLUMNS, rows, self.dtype.name)
        return (drawn[:width] / math.sqrt(t)).astype(self.dtype).T

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

    def activate(self, model: Any, U: Any, z: Any, width: int) -> Any:
        """The model's features from the pre-activations U, without noise where z is None."""
        return self._activate(model, U, z, width)

    def square_errors(self, rows: Any, weights: Any, constants: Any, labels: Any) -> Any:
        """Sums over the rows of the squared errors of several fits, and of their squares."""
        return self._square_errors(rows, weights, self.double(constants), self.double(labels))

    def factored(self, lower: Any, size: int, shift: float, right: Any) -> tuple[Any, float] | None:
        """x of (A + shift) x = right and a bound from below of |(A + shift)^-1|, by Cholesky.

        A is lower[:size, :size]; None where the sum is not positive definite.
        """
        x, inverse = self._factored(lower, size, shift, right, self.double(power_start(size)))
        found = float(inverse)
        return (x, found) if math.isfinite(found) else None

    def multiply_symmetric(self, lower: Any, size: int, right: Any) -> Any:
        """A right from the lower triangle of A."""
        return self._symmetric(lower[:size, :size], right)

    def norm(self, lower: Any, size: int) -> float:
        """The largest eigenvalue of A, from below."""
        return float(self._norm(lower, size, self.double(power_start(size))))

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
    """The largest eigenvalue by the power method, all iterations in one program."""
    import jax
    import jax.numpy as jnp

    A = _symmetrised(lower[:size, :size])

    def step(_: Any, state: Any) -> Any:
        vector = A @ state[0]
        value = jnp.linalg.norm(vector)
        return vector / value, value

    return jax.lax.fori_loop(0, ITERATIONS, step, (start, jnp.zeros((), start.dtype)))[1]


def _factored(lower: Any, size: int, shift: Any, right: Any, start: Any) -> Any:
    """The right-hand side alone: a GPU solves for one vector far faster than for a few."""
    import jax
    import jax.numpy as jnp

    A = _symmetrised(lower[:size, :size]) + shift * jnp.eye(size, dtype=lower.dtype)
    factor = jax.lax.linalg.cholesky(A, symmetrize_input=False)

    def step(_: Any, state: Any) -> Any:
        vector = jax.scipy.linalg.cho_solve((factor, True), state[0])
        value = jnp.linalg.norm(vector)
        return vector / value, value

    x = jax.scipy.linalg.cho_solve((factor, True), right)
    return x, jax.lax.fori_loop(0, INVERSE, step, (start, jnp.zeros((), start.dtype)))[1]


def _activate(model: Any, U: Any, z: Any, width: int) -> Any:
    return model.activate(U[:, :width], None if z is None else z[:, :width])


def _square_errors(rows: Any, weights: Any, constants: Any, labels: Any) -> Any:
    import jax.numpy as jnp

    answers = rows.astype(weights.dtype) @ weights + constants[None, :]
    squares = (labels[:, None] - answers) ** 2
    return jnp.stack([squares.sum(0), (squares**2).sum(0)], axis=1)


def _add_gram(total: Any, rows: Any) -> Any:
    return total + _lower_product(rows.astype(total.dtype), levels=3)


def _lower_product(rows: Any, levels: int) -> Any:
    """rows^T rows with zeros in the upper blocks: halves that meet only below the diagonal."""
    import jax.numpy as jnp

    m = rows.shape[1]
    if levels == 0 or m < 512:
        return rows.T @ rows
    left, right = rows[:, : m // 2], rows[:, m // 2 :]
    top, bottom = _lower_product(left, levels - 1), _lower_product(right, levels - 1)
    zero = jnp.zeros((left.shape[1], right.shape[1]), rows.dtype)
    return jnp.block([[top, zero], [right.T @ left, bottom]])


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
