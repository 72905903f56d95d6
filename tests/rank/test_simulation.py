import math

import jax
import jax.numpy as jnp
import pytest

from attnlab.errors import UserError
from attnlab.rank.problem import Neighbours, SelfNeighbours
from attnlab.rank.simulation import (
    agreement_rate,
    error,
    random_network_error,
    sampled_full_rank_error,
    sampled_majority_vote_error,
)
from attnlab.rank.theory.full_rank import full_rank_error
from attnlab.rank.theory.majority_vote import majority_vote_error
from attnlab.stats import agree

LEVEL = 1e-6  # of a comparison, for each of 100 seeds
PAIR = Neighbours(4, 2, points="orthonormal")


def first_point(prompt):
    return prompt.X[0]


def zeros(prompt):
    return jnp.zeros_like(prompt.target)


def build_scaled(key):
    scale = jax.random.normal(key)
    return lambda prompt: scale * prompt.X[0]


def test_known_predictors_have_their_errors(seed):
    key = jax.random.key(seed)
    # The first of two points is the target half of the time, and 2 away otherwise.
    found = error(first_point, PAIR, key, 2000, chunk=1500)
    assert found.samples == 2000
    assert agree(found, 1.0, level=LEVEL).agrees
    # The squares are 0 and 2: their deviation is sqrt(1 - (p - 1/2)^2) with p within .07 of 1/2.
    assert found.standard_error == pytest.approx(1 / math.sqrt(2000), rel=0.02)
    # A chunk that divides the samples draws the same ones as one that does not.
    rate = agreement_rate(first_point, PAIR, key, 2000, chunk=2000)
    assert found.value == pytest.approx(2 * (1 - rate.value), abs=1e-5)
    every = error(zeros, SelfNeighbours(4, 5), key, 50)
    assert every.value == pytest.approx(1, abs=1e-5)


def test_a_seed_stands_for_its_key(seed):
    assert error(zeros, PAIR, seed, 50) == error(zeros, PAIR, jax.random.key(seed), 50)


def test_every_prompt_meets_a_network_of_its_own(seed):
    # E ||f - a x_1||^2 = 1 + E a^2 - 2 E a P(f = x_1) = 2 for a ~ N(0, 1).
    found = random_network_error(build_scaled, PAIR, jax.random.key(seed), 4000, chunk=4000)
    assert agree(found, 2.0, level=LEVEL).agrees


def test_a_law_and_its_monte_carlo_are_called_alike(seed):
    for law, sampled, arguments in (
        (full_rank_error, sampled_full_rank_error, (5, 20.0)),
        (majority_vote_error, sampled_majority_vote_error, (6, 31)),
    ):
        found = sampled(*arguments, key=seed, samples=4000)
        assert agree(found, law(*arguments), level=LEVEL).agrees


def test_wrong_arguments_are_named(unchecked):
    with pytest.raises(UserError, match=r"^samples must be an integer of at least 2, got 1\.$"):
        error(zeros, PAIR, 0, 1)
    with pytest.raises(UserError, match=r"^predictor must return an array of the target's shape"):
        error(lambda prompt: prompt.X, PAIR, 0, 10)
    with pytest.raises(UserError, match=r"^key must be an integer of at least 0, got -1\.$"):
        error(zeros, PAIR, -1, 10)
