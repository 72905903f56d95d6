"""Orthonormal against independent pairs."""

import math

import numpy as np
import pytest

from attnlab.rank.theory.pair_distance import pair_distance
from attnlab.stats import Estimate, agree


@pytest.mark.parametrize("d", [3, 8, 64])
def test_the_bounds_are_those_of_sampled_pairs(d, seed):
    x = np.random.default_rng(seed).standard_normal((40_000, d))
    t = x[:, 0] / np.linalg.norm(x, axis=1)
    found = pair_distance(d)
    moved = Estimate.of(np.sqrt(2 - 2 * np.sqrt(1 - t**2)))
    assert agree(moved, found.above, 2).agrees
    assert agree(Estimate.of(np.abs(t) / math.sqrt(2)), found.below, 2).agrees
