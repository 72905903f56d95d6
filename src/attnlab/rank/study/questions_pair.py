"""A bare sum of heads on two orthonormal points, trained: the setting of the lower bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Start = Literal["random", "construction"]


@dataclass(frozen=True)
class PairRun:
    """A bare sum of heads on the nearest of orthonormal points: the setting of the lower bound."""

    d: int = 8
    """Dimension of the points."""
    rank: int = 1
    """Rank r of every K_h Q_h^T."""
    heads: int = 16
    """Number of heads H; every V_h is a free d x d matrix."""
    start: Start = "random"
    """Random weights, or the optimised rank-1 heads with V_h = c_h I."""
    sharpness: float = 8.0
    """Scale of the scores at the construction, in units of d: infinity would be its hardmax."""
    N: int = 2
    """Number of points."""
    steps: int = 1500
    """Training steps."""
    batch: int = 256
    """Prompts per step."""
    rate: float = 0.01
    """Peak of the learning rate."""
    replay: int = 0
    """Batches that are used again and again; 0 for a fresh stream."""
    seeds: int = 2
    """Members of the population."""
    seed: int = 0
    """Seed of the weights and of the prompts."""
