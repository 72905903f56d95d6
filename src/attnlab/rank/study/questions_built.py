"""Networks built by hand, sampled: Facts 1 and 3, Theorems 7 and 34.

Where the error of a construction has a law, it stands beside the Monte Carlo of the same error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Construction = Literal[
    "full rank", "uniform", "biased", "biased as printed", "concatenated", "vote", "vote by MLP"
]
CONSTRUCTIONS: tuple[Construction, ...] = get_args(Construction)


@dataclass(frozen=True)
class Built:
    """A network built by hand, on fresh prompts."""

    construction: Construction
    """Facts 1 and 3, Theorems 7 and 34, or the mean of the points."""
    d: int = 16
    """Dimension of the points."""
    N: int = 2
    """Number of points; the votes take 2."""
    orthonormal: bool = False
    """Orthonormal points, or independent ones."""
    scale: float | None = None
    """c of K Q^T = c I; None for the hardmax."""
    heads: int = 1
    """Voting heads H, odd."""
    samples: int = 4000
    """Number of prompts."""
    seed: int = 0
    """Seed of the prompts, the biases and the directions."""


@dataclass(frozen=True)
class BuiltResult:
    """The sampled error with its law, or for the biased neighbour how often it is found."""

    error: float | None
    standard_error: float | None
    agreement: float | None  # biased: how often the point nearest to the answer is the target
    law: float | None
