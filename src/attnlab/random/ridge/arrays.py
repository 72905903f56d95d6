"""Where the heavy linear algebra runs: NumPy and BLAS on the host, or JAX on an accelerator.

The fits are written once, as steps over the methods below: `Host` calls a step, an accelerator
compiles it. Both keep features in a given precision (float32 by default) and Gram matrices in
float64, in their lower triangle only. On the host a block's product is a SYRK in the features'
precision, added to the float64 total; an accelerator multiplies in float64, which costs it no more.
Prompts, F and z are the same numbers on both, up to rounding.
"""

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from attnlab.memory import available_memory
from attnlab.random.models.transformer import feature_noise, random_weights
from attnlab.random.problem import SingleIndexRegression, Split, TasksOf
from attnlab.random.prompts import Prompts, vectors
from attnlab.random.ridge.accelerator import INVERSE, ITERATIONS, Accelerator, power_start

STRIP = 512
COLUMNS = 4096
SMALL = 1200
# Elementwise work and conversions go by parts that stay in the cache, in threads from LARGE on: a
# large temporary costs more in fresh pages than in arithmetic.
PART, LARGE = 2**17, 2**21


class Host:
    """NumPy arrays; `dtype` is the precision of the features."""

    block = 2048  # prompts whose features are held at once
    concurrent_runs = 1
    xp: Any = np

    def __init__(self, dtype: Any = np.float32) -> None:
        self.dtype = np.dtype(dtype)
        self._spare: dict[Any, np.ndarray] = {}

    def __repr__(self) -> str:
        return f"Host({self.dtype})"

    def available_memory(self) -> float:
        """Bytes that can be had without swapping."""
        return available_memory()

    def session(self, size: int) -> AbstractContextManager[Any]:
        """One BLAS thread for matrices below SMALL, as many as there are above.

        Threads gain little on small factorisations and lose a great deal where other processes
        share the cores, because they wait for each other in busy loops.
        """
        return _thread_pools().limit(limits=1) if size < SMALL else nullcontext()

    def call(
        self,
        step: Callable[..., Any],
        options: tuple[Any, ...],
        *values: Any,
        donate: int = 0,
    ) -> Any:
        """step(arrays, *options, *values), which may overwrite the first `donate` values."""
        return step(self, *options, *values)

    def each(self, function: Callable[[Any], tuple[Any, ...]], values: Any) -> tuple[Any, ...]:
        """What the function gives for each of the values, stacked."""
        found = [function(value) for value in values]
        return tuple(np.stack(parts) for parts in zip(*found, strict=True))

    def put(self, values: Any) -> Any:
        """Features or prompts in the features' precision."""
        return np.ascontiguousarray(values, self.dtype)

    def double(self, values: Any) -> Any:
        """Weights and labels in float64."""
        return np.asarray(values, np.float64)

    def rows(self, values: Any, start: Any, count: int) -> Any:
        """values[start : start + count]."""
        return values[start : start + count]

    def vectors(self, query: Any, memory: Any) -> Any:
        """vec(x b^T) for each row."""
        return vectors(query, memory)

    def draws(
        self,
        problem: SingleIndexRegression,
        seed: int,
        counts: Sequence[tuple[TasksOf, Split, int]],
    ) -> list[Prompts]:
        """So many prompts of each kind."""
        return problem.draws(seed, counts)

    def weights(self, seed: int, rows: int, width: int, t: Any) -> Any:
        """F, i.i.d. N(0, 1 / t)."""
        return random_weights(seed, rows, width, self.dtype, 1 / math.sqrt(t))

    def noise(self, seed: int, start: int, count: int, width: int) -> Any:
        """z, i.i.d. N(0, 1)."""
        return feature_noise(seed, start, count, width, self.dtype)

    def product(self, left: Any, right: Any) -> Any:
        """left @ right in their precision."""
        return left @ right

    def activate(self, model: Any, U: Any, z: Any, width: int) -> Any:
        """The model's features from the pre-activations U, without noise where z is None."""
        features = np.empty((len(U), width), U.dtype)

        def fill(part: slice) -> None:
            noise = None if z is None else z[part, :width]
            features[part] = model.activate(U[part, :width], noise)

        if features.size < LARGE:
            for part in _parts(features):
                fill(part)
        else:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                list(pool.map(fill, _parts(features)))
        return features

    def predict(self, rows: Any, weights: Any) -> Any:
        """rows @ weights^T in float64: weights near interpolation are large and cancel."""
        parts = [rows[part].astype(np.float64) @ weights.T for part in _parts(rows)]
        return np.concatenate(parts)

    def combine(self, vector: Any, rows: Any) -> Any:
        """vector @ rows in float64, a part of the columns at a time."""
        parts = (rows[:, at : at + COLUMNS] for at in range(0, rows.shape[1], COLUMNS))
        return np.concatenate([vector @ part.astype(np.float64) for part in parts])

    def zeros(self, *shape: int) -> Any:
        """A float64 total to add to."""
        return np.zeros(shape)

    def add_gram(self, total: Any, rows: Any) -> Any:
        """total + rows^T rows, lower triangle."""
        m = rows.shape[1]
        part = np.matmul(rows.T, rows, out=self._buffer(m, rows.dtype))
        for top in range(0, m, STRIP):
            end = min(top + STRIP, m)
            total[top:end, :end] += part[top:end, :end]
        return total

    def add_cross(self, total: Any, rows: Any, labels: Any) -> Any:
        """total + rows^T labels, for labels of several columns."""
        for part in _parts(rows):
            total += rows[part].T.astype(np.float64) @ labels[part]
        return total

    def factored(self, lower: Any, shift: float, right: Any) -> tuple[Any, Any]:
        """x of (A + shift) x = right and a bound from below of |(A + shift)^-1|, by Cholesky.

        The bound is not a number where the sum is not positive definite.
        """
        size = len(lower)
        A = self._buffer(size, np.float64)
        A[:] = lower
        A.flat[:: size + 1] += shift
        # Row-major lower is column-major upper: LAPACK works in place without a copy.
        factor, info = _routines().dpotrf(A.T, lower=0, clean=0, overwrite_a=1)
        if info != 0:
            return np.zeros(size), math.nan

        def inverse(vector: Any) -> Any:
            return _routines().dpotrs(factor, vector, lower=0)[0]

        return inverse(right[:, None])[:, 0], _norm_by_power(size, INVERSE, inverse)

    def multiply_symmetric(self, lower: Any, right: Any) -> Any:
        """A right from the lower triangle of A."""
        return _routines().dsymm(1.0, lower.T, right, lower=0)

    def norm(self, lower: Any) -> Any:
        """The largest eigenvalue of A, from below."""
        return _norm_by_power(
            len(lower), ITERATIONS, lambda vector: self.multiply_symmetric(lower, vector)
        )

    def eigh(self, lower: Any) -> tuple[Any, Any]:
        """Eigenvalues in ascending order and eigenvectors."""
        from scipy.linalg import eigh

        return eigh(lower.T, lower=False, driver="evd", check_finite=False)

    def get(self, values: Any) -> Any:
        """A list or a tuple of arrays, or one, back to NumPy."""
        return values

    def _buffer(self, size: int, dtype: Any) -> np.ndarray:
        """A square matrix to write to, the last one of that precision if it has the size."""
        found = self._spare.get(np.dtype(dtype))
        if found is None or len(found) != size:
            found = self._spare[np.dtype(dtype)] = np.empty((size, size), dtype)
        return found


Arrays = Host | Accelerator


def _parts(rows: Any) -> list[slice]:
    step = max(PART // max(rows.shape[1], 1), 1)
    return [slice(start, start + step) for start in range(0, len(rows), step)]


def _norm_by_power(size: int, iterations: int, apply: Callable[[Any], Any]) -> float:
    vector, value = power_start(size), 0.0
    for _ in range(iterations):
        vector = apply(vector)
        value = float(np.linalg.norm(vector))
        if not 0 < value < math.inf:
            return value
        vector = vector / value
    return value


@cache
def _thread_pools() -> ThreadpoolController:
    """The thread pools of BLAS, looked for once: that takes milliseconds."""
    _routines()  # SciPy has a BLAS of its own
    return ThreadpoolController()


def _routines() -> Any:
    """LAPACK's and BLAS's own functions, which SciPy makes at run time and no stub knows."""
    from scipy import linalg

    lapack: Any = linalg.lapack
    blas: Any = linalg.blas
    return SimpleNamespace(dpotrf=lapack.dpotrf, dpotrs=lapack.dpotrs, dsymm=blas.dsymm)
