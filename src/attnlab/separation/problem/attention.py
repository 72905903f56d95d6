"""Pairs of attention inputs that differ by the height of one spike (Definition 6.1).

Source: Deng, Song, Zhou, "Superiority of Softmax" (arXiv 2310.11685). With k = d - 2 classes and
n = k t, row j of a matrix is, in units of sqrt(log n),

    ( a [j = spike row],  b e_{j mod k},  c ),        a = a0 on D0 and a1 on D1,

so it has at most k + 1 distinct rows: the spike row, the other rows of its class and one row for
every other class. The simulations work on those; a prompt holds the full matrices.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np
from jaxtyping import Float, Int

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.separation.double_precision import double_precision

if TYPE_CHECKING:
    from jaxtyping import PRNGKeyArray
else:
    PRNGKeyArray = Any  # JAX is imported when a prompt is drawn


class DefinitionWarning(UserWarning):
    """Parameters outside the ranges of the definition they are named after."""


class AttentionPrompt(NamedTuple):
    """The input of one dataset: queries A_1, keys and values A_2 = A_3, and which dataset it is.

    `label` is 0 for D0, where a network should answer 0, and 1 for D1, where softmax attention
    should answer more than 0. Batches have leading axes.
    """

    queries: Float[Any, "*batch n d"]
    keys: Float[Any, "*batch n d"]
    label: Int[Any, "*batch"]


class DistinctRows(NamedTuple):
    """The distinct rows of a matrix and how often each occurs in it.

    The order is: the spike row; the other rows of its class, where there are any; then the other
    classes in their order.
    """

    rows: Float[np.ndarray, "r d"]
    counts: Float[np.ndarray, " r"]


@dataclass(frozen=True)
class SpikedPair(ABC):
    """Two datasets of attention inputs that differ by the height of one spike.

    Subclasses say which matrices carry which spike; `SelfAttentionPair` explains the parameters.
    """

    n: int
    d: int
    a0: float = 0.01
    a1: float = 1.2
    b: float = 0.2
    c: float = 0.8
    spike_row: int = 0
    zero_row: int | None = None

    def __post_init__(self) -> None:
        arguments.integer("d", self.d, 4)
        is_integer = isinstance(self.n, int | np.integer) and not isinstance(self.n, bool)
        if not is_integer or self.n < 1 or self.n % self.classes:
            raise UserError(
                f"n must be a positive multiple of d - 2 = {self.classes}, got {self.n!r}."
            )
        for name in ("a0", "a1", "b", "c"):
            # An int such as b=1 becomes the float that the annotation promises.
            object.__setattr__(self, name, arguments.non_negative(name, getattr(self, name)))
        for name in ("spike_row", "zero_row"):
            row = getattr(self, name)
            if name == "zero_row" and row is None:
                continue
            is_row = isinstance(row, int | np.integer) and not isinstance(row, bool)
            if not is_row or not 0 <= row < self.n:
                raise UserError(
                    f"{name} must be an integer from 0 to n - 1 = {self.n - 1}, got {row!r}."
                )
        departures = self.departures()
        if departures:
            message = f"Outside Definition 6.1: {'; '.join(departures)}."
            warnings.warn(message, DefinitionWarning, stacklevel=3)

    def sample(self, key: PRNGKeyArray) -> AttentionPrompt:
        """Draw one prompt: the input of D0 or of D1, with probability 1/2 each.

        The datasets themselves are not random; a network's signs are (see `AttentionNetwork.draw`).
        """
        import jax

        zero, one = self.prompt(0), self.prompt(1)
        with double_precision(jax.random.bits(key) & 1) as (xp, label):
            return AttentionPrompt(
                xp.where(label == 1, one.queries, zero.queries),
                xp.where(label == 1, one.keys, zero.keys),
                label.astype("int32"),
            )

    def prompt(self, label: int) -> AttentionPrompt:
        """The input of one dataset."""
        return AttentionPrompt(self.queries(label), self.keys(label), np.int32(label))

    @abstractmethod
    def query_spike(self, label: int) -> float:
        """The spike of the queries A_1, in units of sqrt(log n)."""

    @abstractmethod
    def key_spike(self, label: int) -> float:
        """The spike of the keys and values A_2 = A_3, in units of sqrt(log n)."""

    @property
    def classes(self) -> int:
        """k = d - 2, the size of the stacked identities."""
        return self.d - 2

    @property
    def copies(self) -> int:
        """t = n / (d - 2), the number of stacked identities."""
        return self.n // self.classes

    @property
    def spike_class(self) -> int:
        """The class, 0 to k - 1, of the spike row on D1."""
        return self.spike_row % self.classes

    @property
    def zero_class(self) -> int:
        """The class, 0 to k - 1, of the spike row on D0."""
        return self.row(0) % self.classes

    def row(self, label: int) -> int:
        """The row that carries the spike in one dataset."""
        return self.spike_row if label or self.zero_row is None else self.zero_row

    @property
    def unit(self) -> float:
        """sqrt(log n), natural logarithm."""
        return math.sqrt(math.log(self.n))

    def threshold(self, offset: float = 0.1) -> float:
        """tau = (c + offset) sqrt(log n); Theorem 6.2 takes offset = 0.1."""
        return (self.c + offset) * self.unit

    def queries(self, label: int) -> Float[np.ndarray, "n d"]:
        """A_1, all n rows."""
        return self._matrix(self.query_spike(arguments.label(label)), self.row(label))

    def keys(self, label: int) -> Float[np.ndarray, "n d"]:
        """A_2 = A_3, all n rows."""
        return self._matrix(self.key_spike(arguments.label(label)), self.row(label))

    def distinct_queries(self, label: int) -> DistinctRows:
        """A_1 without repetitions."""
        return self._distinct(self.query_spike(arguments.label(label)), self.row(label))

    def distinct_keys(self, label: int) -> DistinctRows:
        """A_2 = A_3 without repetitions."""
        return self._distinct(self.key_spike(arguments.label(label)), self.row(label))

    def departures(self) -> tuple[str, ...]:
        """The conditions of Definition 6.1 that the parameters do not meet, in words."""
        found = []
        # Sums of decimal fractions are not exact in float64: 0.2 + 0.8 need not be 1.
        if abs(self.b + self.c - 1) > 1e-9:
            found.append(f"b + c should be 1, got {self.b + self.c:.6g}")
        if not 0 < self.a0 < 0.1:
            found.append(f"a0 should lie strictly between 0 and 0.1, got {self.a0:.6g}")
        if self.a1 < 0.7:
            found.append(f"a1 should be at least 0.7, got {self.a1:.6g}")
        found += [
            f"{name} should be at least 0.1, got {value:.6g}"
            for name, value in (("b", self.b), ("c", self.c))
            if value < 0.1 - 1e-9
        ]
        return tuple(found)

    def _matrix(self, spike: float, row: int) -> Float[np.ndarray, "n d"]:
        A = np.zeros((self.n, self.d))
        A[row, 0] = spike
        A[:, 1:-1] = np.tile(self.b * np.eye(self.classes), (self.copies, 1))
        A[:, -1] = self.c
        return A * self.unit

    def _distinct(self, spike: float, row: int) -> DistinctRows:
        k, s, repeated = self.classes, row % self.classes, int(self.copies > 1)
        others = np.delete(np.arange(k), s)
        rows = np.zeros((k + repeated, self.d))
        rows[0, 0] = spike
        rows[: 1 + repeated, 1 + s] = self.b
        rows[np.arange(1 + repeated, k + repeated), 1 + others] = self.b
        rows[:, -1] = self.c
        counts = np.full(k + repeated, float(self.copies))
        counts[0] = 1.0
        if repeated:
            counts[1] = self.copies - 1.0
        return DistinctRows(rows * self.unit, counts)


@final
@dataclass(frozen=True)
class SelfAttentionPair(SpikedPair):
    """The pair of Definition 6.1: A_1 = A_2 = A_3 carry a0 on D0 and a1 on D1.

    Parameters
    ----------
    n, d
        Length of the sequence, a multiple of d - 2, and dimension of a token.
    a0, a1
        The spike on D0 and on D1.
    b, c
        Entry at a token's class, and entry of the last column; all in units of sqrt(log n).
    spike_row
        The token that carries the spike.
    zero_row
        The token that carries it on D0; None for the same one in both datasets. The paper does not
        say which of the two it means. `success_with_drawn_rows` draws both rows independently.
    """

    def query_spike(self, label: int) -> float:
        return self.a1 if label else self.a0

    def key_spike(self, label: int) -> float:
        return self.a1 if label else self.a0


@final
@dataclass(frozen=True)
class CrossAttentionPair(SpikedPair):
    """Our own pair for Theorem 1.2, whose datasets the available text does not define.

    The queries A_1 carry a1 in both datasets; the keys and values A_2 = A_3 carry a0 on D0 and a1
    on D1. The parameters are those of `SelfAttentionPair`.
    """

    def query_spike(self, label: int) -> float:
        return self.a1

    def key_spike(self, label: int) -> float:
        return self.a1 if label else self.a0
