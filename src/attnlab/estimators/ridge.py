"""The one ridge solver: shared Gram matrices, many penalties, nested samples and widths.

min_w sum_i (y_i - w^T phi_i)^2 + penalty |w|^2 from one stream of rows phi. With m <= n the normal
equations are kept, m^2 numbers: a fit of fewer samples is a checkpoint of the stream, one of fewer
features a leading block. With m > n the kernel phi phi^T is kept, and the parts change places. An
intercept is free of penalty: both are then solved after centring. A fit says how well conditioned
it was, and what it did where it was not.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from attnlab.errors import UserError
from attnlab.estimators.arrays import Arrays
from attnlab.problems import arguments

# From this many penalties on one eigendecomposition (about 9 m^3) beats a factorisation each.
MANY = 16
# A Cholesky solution stands while the condition number is this factor below 1 / eps. The worst case
# is a factor m, rounding in practice a few; an eigendecomposition costs 30 factorisations.
MARGIN = 64


class IllConditioned(UserWarning):
    """A fit whose weights float32 features cannot determine."""


@dataclass(frozen=True)
class RidgeFit:
    """One fit: weights, intercept, training error, |w|^2, condition number and a diagnosis.

    `diagnosis` is empty for a fit to be trusted. `condition` is that of the penalised system, by
    power iteration: a lower bound, right in its order of magnitude.
    """

    n: int
    m: int
    penalty: float
    weights: Any
    intercept: float
    train_error: float
    square_norm: float
    condition: float
    diagnosis: str


class NormalEquations:
    """sum phi phi^T, sum phi y and the other sums that a primal fit needs, as rows stream in."""

    def __init__(self, arrays: Arrays, width: int) -> None:
        self.arrays, self.width = arrays, arguments.integer("width", width, 1)
        self.n = 0
        self._gram = arrays.zeros(width, width)
        self._cross = arrays.zeros(width, 2)
        self._labels = np.zeros(2)

    def add(self, rows: Any, labels: Float[np.ndarray, " b"]) -> None:
        """Add a block of rows with their labels."""
        if rows.shape != (len(labels), self.width):
            raise UserError(
                f"rows must have shape ({len(labels)}, {self.width}), got {tuple(rows.shape)}."
            )
        arrays = self.arrays
        self._gram = arrays.add_gram(self._gram, rows)
        sides = arrays.double(np.stack([labels, np.ones_like(labels)], axis=1))
        self._cross = arrays.add_cross(self._cross, rows, sides)
        self._labels += (labels.sum(), (labels**2).sum())
        self.n += len(labels)

    def fit(
        self, penalties: Sequence[float], width: int | None = None, intercept: bool = False
    ) -> list[RidgeFit]:
        """One fit a penalty, of the leading `width` features and the samples so far."""
        m, n = self.width if width is None else width, self.n
        _require_samples(n)
        cross = self.arrays.get(self._cross)[:m]
        lower, right, square = self._gram, cross[:, 0], self._labels[1]
        mean, label_mean = cross[:, 1] / n, self._labels[0] / n
        if intercept:
            centre = self.arrays.double(mean)
            lower = lower[:m, :m] - n * centre[:, None] * centre[None, :]
            right, square = right - n * mean * label_mean, square - n * label_mean**2
        fits = []
        for solved in solve(self.arrays, lower, m, right[:, None], penalties):
            w = self.arrays.get(solved.x)[:, 0]
            norm = float(w @ w)
            # w^T G w = w^T c - penalty |w|^2, without another product with G.
            train = max(float(square - w @ right - solved.penalty * norm), 0.0) / n
            b = float(label_mean - w @ mean) if intercept else 0.0
            fits.append(_fit(n, m, solved, w, b, train, norm))
        return fits


class Kernel:
    """phi phi^T of the leading n rows, added up over blocks of features; rows are kept."""

    def __init__(self, arrays: Arrays, rows: Any, labels: Float[np.ndarray, " n"]) -> None:
        self.arrays, self._rows, self._labels = arrays, rows, labels
        self.width = 0
        self._kernel = arrays.zeros(len(labels), len(labels))

    def widen(self, width: int, block: int = 4096) -> None:
        """Add the features from the present width to `width`."""
        for start in range(self.width, width, block):
            part = self._rows[:, start : min(start + block, width)]
            self._kernel = self.arrays.add_gram(self._kernel, part.T)
        self.width = width

    def fit(self, penalties: Sequence[float], n: int, intercept: bool = False) -> list[RidgeFit]:
        """One fit a penalty, of the leading n samples and the features so far: w = phi^T a."""
        _require_samples(n)
        arrays, y = self.arrays, self._labels[:n]
        lower, mean = self._kernel, float(y.mean()) if intercept else 0.0
        rows = self._rows[:n, : self.width]
        if intercept:
            ones = arrays.double(np.ones((n, 1)))
            row = arrays.multiply_symmetric(lower, n, ones)[:, 0] / n
            # Centring makes 1 a null vector; labels have no part along it, so that any eigenvalue
            # may be given to it, and this one is neither the largest nor the smallest.
            lift = row.mean() + float(lower[:n, :n].trace()) / n**2
            lower = lower[:n, :n] - row[:, None] - row[None, :] + lift
        fits = []
        for solved in solve(arrays, lower, n, (y - mean)[:, None], penalties):
            a = arrays.get(solved.x)[:, 0]
            a = a - a.mean() if intercept else a
            w = arrays.get(arrays.predict(rows.T, arrays.double(a[:, None])))[:, 0]
            b = 0.0
            if intercept:
                fitted = arrays.get(arrays.predict(rows, arrays.double(w[:, None])))
                b = mean - float(fitted.mean())
            # The residual of the leading n samples is penalty a, exactly.
            train = float(solved.penalty**2 * (a @ a)) / n
            fits.append(_fit(n, self.width, solved, w, b, train, float(w @ w)))
        return fits


@dataclass(frozen=True)
class Solved:
    """x of (A + penalty) x = right, with the condition number and what went wrong, if anything."""

    penalty: float
    x: Any
    condition: float
    diagnosis: str


def solve(
    arrays: Arrays,
    lower: Any,
    size: int,
    right: Float[np.ndarray, "m k"],
    penalties: Sequence[float],
    many: int = MANY,
) -> list[Solved]:
    """(A + penalty) x = right for every penalty, A the leading block of `lower`'s triangle."""
    for penalty in penalties:
        arguments.non_negative("penalty", penalty)
    b = arrays.double(right)
    spectrum = arrays.eigh(lower, size) if len(penalties) >= many else None
    top, solved = None, []
    for penalty in penalties:
        found = None if spectrum is not None else arrays.factored(lower, size, penalty, b)
        if found is not None:
            top = arrays.norm(lower, size) if top is None else top
            condition = max((top + penalty) * found[1], 1.0)
            if condition * MARGIN * np.finfo(np.float64).eps < 1:
                solved.append(Solved(penalty, found[0], condition, _judge(arrays, condition)))
                continue
        # Not positive definite, or so by rounding alone: leave those directions out.
        spectrum = arrays.eigh(lower, size) if spectrum is None else spectrum
        solved.append(_spectral(arrays, spectrum, b, penalty))
    return solved


def _spectral(arrays: Arrays, spectrum: tuple[Any, Any], b: Any, penalty: float) -> Solved:
    values, vectors = arrays.get(spectrum[0]) + penalty, spectrum[1]
    largest = float(values[-1])
    floor = largest * len(values) * np.finfo(np.float64).eps
    kept = values > floor
    inverse = arrays.double(np.where(kept, 1 / np.where(kept, values, 1.0), 0.0))
    x = vectors @ (inverse[:, None] * (vectors.T @ b))
    if kept.all():
        condition = largest / float(values[0])
        return Solved(penalty, x, condition, _judge(arrays, condition))
    dropped = int((~kept).sum())
    text = f"singular to working precision: {dropped} of {len(values)} directions left out"
    return Solved(penalty, x, math.inf, text)


def _judge(arrays: Arrays, condition: float) -> str:
    limit = 1 / float(np.finfo(arrays.dtype).eps)
    if condition <= limit:
        return ""
    return f"ill-conditioned: condition number {condition:.1e} exceeds {limit:.0e} of the features"


def _fit(
    n: int, m: int, solved: Solved, w: np.ndarray, b: float, train: float, norm: float
) -> RidgeFit:
    return RidgeFit(n, m, solved.penalty, w, b, train, norm, solved.condition, solved.diagnosis)


def _require_samples(n: int) -> None:
    if n < 1:
        raise UserError("a ridge fit must have at least one sample, got none.")


def require_memory(arrays: Arrays, needed: float, what: str, limit: float | None = None) -> None:
    """Say how much is missing before anything is computed."""
    available = arrays.available_memory() if limit is None else limit
    if needed > available:
        raise UserError(
            f"{what} must fit into {available / 2**30:.2f} GiB of memory, "
            f"got a need of {needed / 2**30:.2f} GiB."
        )
