"""What is asked about Conjecture 8: the network that covers the sphere, sampled and bounded."""

from __future__ import annotations

from dataclasses import dataclass

LENGTHS = (2, 4, 16, 64, 256, 1024, 4096)  # numbers of points that are sampled
EVERY = 1024  # up to this the bound is computed at every N
SHOWN = (2, 3, 4, 6, 8, 16, 32, 64, 128, 256, 512, EVERY, 4096, 10**4, 10**5, 10**6, 10**7, 10**9)


@dataclass(frozen=True)
class CoveringSample:
    """Rank-1 heads for the directions of a net and an MLP, at several numbers of points N."""

    d: int = 2
    """Dimension, 2 or 3."""
    directions: int = 256
    """Number of directions of the net; there are d heads for each."""
    scale: float = 1000.0
    """c of the softmax heads; the hardmax ones have none."""
    samples: int = 5000
    """Prompts for each N, fewer (at least 200) where N is large."""
    seed: int = 0
    """Seed of the prompts."""


@dataclass(frozen=True)
class CoveringSampleRow:
    """The error on the nearest neighbour at one N; all forms of one N have the same prompts.

    `form` is "hardmax", "softmax" or "full rank", one softmax head of rank d with the same c.
    """

    N: int
    form: str
    prompts: int
    error: float
    standard_error: float


@dataclass(frozen=True)
class CoveringBound:
    """The bound on the error of the hardmax network for every N."""

    d: int = 2
    """Dimension, 2 or 3."""
    directions: int = 256
    """Number of directions of the net."""


@dataclass(frozen=True)
class CoveringBoundRow:
    """The bound at N points, with what gates cost that are neither 0 nor 1."""

    N: int
    angle: float  # covering angle of the net
    bound: float
    largest: float | None  # of the bounds at 2, 3, ..., N points; None where N is above 1024
    beyond: float  # a bound for N points and for every larger number of them
