"""Ridge fits with more features than samples, by the kernel matrix phi phi^T.

The kernel is added up over blocks of features: a fit of fewer features is a checkpoint, one of
fewer samples a leading block. The weights are w = phi^T a with (phi phi^T + penalty) a = y; an
intercept is free of penalty, and the kernel is then centred before it is solved.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from attnlab.random.ridge.arrays import Arrays
from attnlab.random.ridge.fits import Launched, RidgeFit, launch, settle


class RidgeKernel:
    """phi phi^T of the leading `size` rows, kept in parts, added up over blocks of features."""

    def __init__(self, arrays: Arrays, parts: Sequence[Any], labels: Any, size: int) -> None:
        self.arrays, self._parts, self._labels = arrays, tuple(parts), labels
        self.width, self.size = 0, size
        self._kernel: Any = None

    def widen(self, width: int, block: int = 4096) -> None:
        """Add the features from the present width to `width`."""
        if width > self.width:
            options = (self.size, self.width, width, block)
            self._kernel = self.arrays.call(widened, options, self._kernel, self._parts, donate=1)
            self.width = width

    def launch(self, penalties: Sequence[float], n: int, intercept: bool = False) -> Launched:
        """One fit per penalty, of the leading n samples and the features so far."""
        values = (self._kernel, self._parts, self._labels, np.asarray(penalties, np.float64))
        return launch(
            n,
            self.width,
            n,
            penalties,
            lambda solver: self.arrays.call(dual_fits, (n, self.width, intercept, solver), *values),
        )

    def fit(self, penalties: Sequence[float], n: int, intercept: bool = False) -> list[RidgeFit]:
        """The same, waited for."""
        return settle(self.arrays, [self.launch(penalties, n, intercept)])[0]


def widened(
    arrays: Arrays, size: int, start: int, stop: int, block: int, kernel: Any, parts: Any
) -> Any:
    """The kernel with the features from start to stop added (a step)."""
    kernel = arrays.zeros(size, size) if kernel is None else kernel
    for left in range(start, stop, block):
        columns = [part[:, left : min(left + block, stop)] for part in parts]
        rows = columns[0] if len(columns) == 1 else arrays.xp.concatenate(columns)
        kernel = arrays.add_gram(kernel, rows[:size].T)
    return kernel


def dual_fits(
    arrays: Arrays,
    n: int,
    m: int,
    intercept: bool,
    solver: Any,
    kernel: Any,
    parts: Any,
    labels: Any,
    penalties: Any,
) -> tuple[Any, Any]:
    """Weights w = phi^T a and numbers, from the kernel (a step)."""
    xp = arrays.xp
    y, lower = arrays.double(labels[:n]), kernel[:n, :n]
    mean = y.mean() if intercept else 0.0
    if intercept:
        row = arrays.multiply_symmetric(lower, xp.ones((n, 1)))[:, 0] / n
        # Centring makes 1 a null vector; labels have no part along it, so that any eigenvalue may
        # be given to it, and this one is neither the largest nor the smallest.
        lift = row.mean() + lower.trace() / n**2
        lower = lower - row[:, None] - row[None, :] + lift
    a, condition, dropped = solver(arrays, lower, y - mean, penalties)
    if intercept:
        a = a - a.mean(1, keepdims=True)
    (w,) = arrays.each(lambda vector: (_combined(arrays, vector, parts, n, m),), a)
    b = xp.zeros_like(condition)
    if intercept:
        b = mean - w @ _combined(arrays, xp.full(n, 1 / n), parts, n, m)
    # The residual of the leading n samples is penalty a, exactly.
    train = penalties**2 * (a * a).sum(1) / n
    return w, xp.stack([b, train, (w * w).sum(1), condition, dropped], axis=1)


def _combined(arrays: Arrays, vector: Any, parts: Any, n: int, m: int) -> Any:
    """phi^T a of the leading n rows and m features, part by part."""
    total, start = 0.0, 0
    for part in parts:
        stop = min(start + len(part), n)
        if start < stop:
            rows = part[: stop - start, :m]
            total = total + arrays.combine(vector[start:stop], rows)
        start = stop
    return total
