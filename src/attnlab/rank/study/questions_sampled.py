"""Networks and single heads that are sampled by the thousand, several sizes in one cell.

Facts 1 and 3 with a softmax, one voting head of Theorem 7, d heads that see one coordinate each,
and heads on the law of Theorem 4. The constructions that are sampled at one size are in
`questions_built`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Setting = Literal["independent", "biased", "theorem 4"]
SETTINGS: tuple[Setting, ...] = get_args(Setting)


@dataclass(frozen=True)
class SoftmaxCurve:
    """One head of full rank with a softmax, at several c of K Q^T = c I."""

    setting: Setting = "independent"
    """Independent unit points without or with biases, or the law of Theorem 4."""
    d: int = 16
    """Dimension."""
    N: int = 2
    """Number of points; Theorem 4 has 2."""
    samples: int = 20_000
    """Prompts for each c."""
    seed: int = 0
    """Seed of the prompts and the biases."""


@dataclass(frozen=True)
class SoftmaxRow:
    """The error at one c, and what c times the error tends to."""

    c: float
    error: float
    standard_error: float
    limit: float


@dataclass(frozen=True)
class SingleHeads:
    """How often one random head q q^T finds the nearer of two points."""

    samples: int = 40_000
    """Prompts for each dimension, each with a head of its own."""
    seed: int = 0
    """Seed of prompts and heads."""


@dataclass(frozen=True)
class SingleHeadRow:
    """The count at one dimension."""

    d: int
    right: int


@dataclass(frozen=True)
class CoordinateHeads:
    """d heads of rank 1 that see one coordinate each, on an orthonormal pair."""

    samples: int = 20_000
    """Prompts for each dimension."""
    seed: int = 0
    """Seed of the prompts."""


@dataclass(frozen=True)
class CoordinateHeadsRow:
    """The error of d heads, and the exact one."""

    d: int
    error: float
    standard_error: float
    exact: float


@dataclass(frozen=True)
class TheoremFourHeads:
    """Random heads of rank 1 with their best values, on the law of Theorem 4 with b = (0, 0)."""

    d: int = 8
    """Dimension."""
    heads: int = 32
    """Number of heads H."""
    samples: int = 4000
    """Number of prompts."""
    seed: int = 0
    """Seed of the heads and the prompts."""


@dataclass(frozen=True)
class TheoremFourHeadsResult:
    """The sampled error, and d times the exact error on unit vectors."""

    error: float
    standard_error: float
    exact: float
