"""Ridge fits with at most as many features as samples, by the normal equations.

Of a stream of rows phi only sums are kept, m^2 numbers: a fit of fewer samples is a checkpoint of
the stream, one of fewer features a leading block of its Gram matrix. An intercept is free of
penalty: the system is then centred before it is solved.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.random.ridge.arrays import Arrays
from attnlab.random.ridge.fits import Launched, RidgeFit, launch, settle


class Sums(NamedTuple):
    """What a fit needs: sum phi phi^T, sum phi (y, 1), and n, sum y, sum y^2."""

    gram: Any
    cross: Any
    labels: Any


class RidgeSystem:
    """The sums of one stream of rows, for fits at any moment."""

    def __init__(self, arrays: Arrays, width: int) -> None:
        self.arrays, self.width = arrays, arguments.integer("width", width, 1)
        self.n = 0
        self._sums = arrays.call(no_rows, (width,))

    def add(self, rows: Any, labels: Any) -> None:
        """Add a block of rows, of which the leading `width` columns count, with their labels."""
        if len(rows.shape) != 2 or len(rows) != len(labels) or rows.shape[1] < self.width:
            raise UserError(
                f"rows must have shape ({len(labels)}, {self.width}), got {tuple(rows.shape)}."
            )
        self._sums = self.arrays.call(add_rows, (self.width,), self._sums, rows, labels, donate=1)
        self.n += len(labels)

    def launch(self, penalties: Sequence[float], width: int, intercept: bool = False) -> Launched:
        """One fit per penalty, of the leading `width` features and the samples so far."""
        values = (self._sums, np.asarray(penalties, np.float64))
        return launch(
            self.n,
            width,
            width,
            penalties,
            lambda solver: self.arrays.call(primal_fits, (width, intercept, solver), *values),
        )

    def fit(
        self, penalties: Sequence[float], width: int | None = None, intercept: bool = False
    ) -> list[RidgeFit]:
        """The same, waited for; of all features unless a width is given."""
        m = self.width if width is None else width
        return settle(self.arrays, [self.launch(penalties, m, intercept)])[0]


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
