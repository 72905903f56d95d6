"""Sizes and random inputs on which identities are checked, in double precision."""

from __future__ import annotations

import numpy as np

D, N, RANK = 8, 6, 3


def softmax(scores: np.ndarray) -> np.ndarray:
    """The softmax of every column."""
    weights = np.exp(scores - scores.max(axis=0, keepdims=True))
    return weights / weights.sum(axis=0, keepdims=True)


def points_of_sphere(rng: np.random.Generator, count: int) -> np.ndarray:
    """Points of the unit sphere as columns."""
    x = rng.standard_normal((D, count))
    return x / np.linalg.norm(x, axis=0)
