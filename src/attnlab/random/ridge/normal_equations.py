"""The one ridge solver: shared Gram matrices, many penalties, nested samples and widths.

min_w sum_i (y_i - w^T phi_i)^2 + penalty |w|^2 from one stream of rows phi. With m <= n the normal
equations are kept, m^2 numbers: a fit of fewer samples is a checkpoint of the stream, one of fewer
features a leading block. With m > n the kernel phi phi^T is kept, and the parts change places. An
intercept is free of penalty: both are then solved after centring. Fits are launched and settled:
an accelerator computes all that were launched before the host waits for any.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.random.ridge.arrays import Arrays
from attnlab.random.ridge.solve import by_cholesky, by_eigh, trusted

# From this many penalties on one eigendecomposition (about 9 m^3) beats a factorisation each.
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
        """w."""
        return self.together[self.row]


@dataclass(frozen=True)
class Launched:
    """Fits of one system for several penalties, under way; `solve` computes them with a solver.

    `found` is what it gave: the weights, and a row of numbers a penalty (intercept, training error,
    |w|^2, condition number, directions left out).
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
    """Start the fits of a system of that size, by factorisations or, for many, one spectrum."""
    if n < 1:
        raise UserError("a ridge fit must have at least one sample, got none.")
    for penalty in penalties:
        arguments.non_negative("penalty", penalty)
    solver = by_eigh if len(penalties) >= MANY else by_cholesky
    return Launched(n, m, size, tuple(penalties), solve, solve(solver))


def settle(arrays: Arrays, launched: Sequence[Launched]) -> list[list[RidgeFit]]:
    """Wait for the fits; a system not positive definite, or so by rounding alone, is solved again.

    Its eigendecomposition then leaves out the directions that are rounding.
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
    said = _judge(arrays, one.size, condition, int(dropped))
    return RidgeFit(one.n, one.m, penalty, weights, row, b, train, norm, condition, said)


def _judge(arrays: Arrays, size: int, condition: float, dropped: int) -> str:
    if dropped:
        return f"singular to working precision: {dropped} of {size} directions left out"
    limit = 1 / float(np.finfo(arrays.dtype).eps)
    if condition <= limit:
        return ""
    return f"ill-conditioned: condition number {condition:.1e} exceeds {limit:.0e} of the features"


class Sums(NamedTuple):
    """What a primal fit needs: sum phi phi^T, sum phi (y, 1), and n, sum y, sum y^2."""

    gram: Any
    cross: Any
    labels: Any


def no_rows(arrays: Arrays, width: int) -> Sums:
    """The sums before any row (a step)."""
    return Sums(arrays.zeros(width, width), arrays.zeros(width, 2), arrays.zeros(3))


def add_rows(arrays: Arrays, width: int, sums: Sums, rows: Any, labels: Any) -> Sums:
    """The sums with the leading columns of a block of rows added (a step)."""
    rows, y = rows[:, :width], arrays.double(labels)
    sides = arrays.xp.stack([y, arrays.xp.ones_like(y)], axis=1)
    totals = arrays.xp.stack([sides[:, 1].sum(), y.sum(), (y * y).sum()])
    gram = arrays.add_gram(sums.gram, rows)
    return Sums(gram, arrays.add_cross(sums.cross, rows, sides), sums.labels + totals)


def launch_primal(
    arrays: Arrays, sums: Sums, n: int, width: int, penalties: Sequence[float], intercept: bool
) -> Launched:
    """One fit a penalty, of the leading `width` features and the n samples in the sums."""
    values = (sums, np.asarray(penalties, np.float64))
    return launch(
        n,
        width,
        width,
        penalties,
        lambda solver: arrays.call(primal_fits, (width, intercept, solver), *values),
    )


def primal_fits(
    arrays: Arrays, m: int, intercept: bool, solver: Any, sums: Sums, penalties: Any
) -> tuple[Any, Any]:
    """Weights and numbers from the normal equations (a step)."""
    xp = arrays.xp
    n, total, square = sums.labels
    lower, right, mean = sums.gram[:m, :m], sums.cross[:m, 0], sums.cross[:m, 1] / n
    if intercept:
        lower = lower - n * mean[:, None] * mean[None, :]
        right, square = right - total * mean, square - total**2 / n
    w, condition, dropped = solver(arrays, lower, right, penalties)
    norm = (w * w).sum(1)
    # w^T G w = w^T c - penalty |w|^2, without another product with G.
    train = xp.maximum(square - w @ right - penalties * norm, 0.0) / n
    b = total / n - w @ mean if intercept else xp.zeros_like(norm)
    return w, xp.stack([b, train, norm, condition, dropped], axis=1)


class NormalEquations:
    """The sums of one stream of rows, for fits at any moment."""

    def __init__(self, arrays: Arrays, width: int) -> None:
        self.arrays, self.width = arrays, arguments.integer("width", width, 1)
        self.n = 0
        self._sums = arrays.call(no_rows, (width,))

    def add(self, rows: Any, labels: Any) -> None:
        """Add a block of rows with their labels."""
        if rows.shape != (len(labels), self.width):
            raise UserError(
                f"rows must have shape ({len(labels)}, {self.width}), got {tuple(rows.shape)}."
            )
        self._sums = self.arrays.call(add_rows, (self.width,), self._sums, rows, labels, donate=1)
        self.n += len(labels)

    def fit(
        self, penalties: Sequence[float], width: int | None = None, intercept: bool = False
    ) -> list[RidgeFit]:
        """One fit a penalty, of the leading `width` features and the samples so far."""
        m = self.width if width is None else width
        launched = launch_primal(self.arrays, self._sums, self.n, m, penalties, intercept)
        return settle(self.arrays, [launched])[0]


class Kernel:
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
        """One fit a penalty, of the leading n samples and the features so far."""
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


def require_memory(arrays: Arrays, needed: float, what: str, limit: float | None = None) -> None:
    """Say how much is missing before anything is computed."""
    available = arrays.available_memory() if limit is None else limit
    if needed > available:
        raise UserError(
            f"{what} must fit into {available / 2**30:.2f} GiB of memory, "
            f"got a need of {needed / 2**30:.2f} GiB."
        )
