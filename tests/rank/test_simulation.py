import math

import jax
import jax.numpy as jnp
import pytest

from attnlab.errors import UserError
from attnlab.rank.problem import Neighbours
from attnlab.rank.simulation import (
    agreement_rate,
    paired_squared_error,
    self_squared_error,
    squared_error,
)

Z = 5.0  # below 10 comparisons and 100 seeds: familywise below 1e-3
PAIR = Neighbours(4, 2, points="orthonormal")


def first_point(X, y):
    return X[0]


def nothing(X, y):
    return jnp.zeros_like(y)


def build_scaled(key):
    scale = jax.random.normal(key)
    return lambda X, y: scale * X[0]


def test_known_predictors_have_their_errors(seed):
    key = jax.random.key(seed)
    # The first of two points is the target half of the time, and 2 away otherwise.
    found = squared_error(first_point, PAIR, key, 2000, chunk=1500)
    assert found.samples == 2000
    assert abs(found.value - 1) < Z * found.standard_error
    assert found.standard_error == pytest.approx(1 / math.sqrt(2000), rel=0.1)
    # A chunk that divides the samples draws the same ones as one that does not.
    rate = agreement_rate(first_point, PAIR, key, 2000, chunk=2000)
    assert found.value == pytest.approx(2 * (1 - rate.value), abs=1e-5)
    alone = self_squared_error(nothing, Neighbours(4, 5), key, 50)
    assert alone.value == pytest.approx(1, abs=1e-5)


def test_every_prompt_meets_a_network_of_its_own(seed):
    # E ||f - a x_1||^2 = 1 + E a^2 - 2 E a P(f = x_1) = 2 for a ~ N(0, 1).
    found = paired_squared_error(build_scaled, PAIR, jax.random.key(seed), 4000, chunk=4000)
    assert abs(found.value - 2) < Z * found.standard_error


def test_wrong_arguments_are_named(unchecked):
    key = jax.random.key(0)
    with pytest.raises(UserError, match=r"^samples must be an integer of at least 2, got 1\.$"):
        squared_error(nothing, PAIR, key, 1)
    with pytest.raises(UserError, match=r"^predictor must return a vector of dimension 4, got sha"):
        squared_error(lambda X, y: X, PAIR, key, 10)
