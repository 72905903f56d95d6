import math

import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.separation.problem import RegressionPair


def generator(seed):
    return np.random.Generator(np.random.Philox(seed))


@pytest.mark.parametrize("data", ["uniform", "two-level"])
def test_d1_is_d0_with_one_coordinate_at_4_log_n(data, seed):
    problem = RegressionPair(50, data, spike=3)
    u0, u1 = problem.sample(generator(seed))
    assert u0.min() >= math.log(50)
    assert u0.max() <= 1.4 * math.log(50)
    assert u1[3] == 4 * math.log(50)
    np.testing.assert_array_equal(np.flatnonzero(u0 != u1), [3])


@pytest.mark.parametrize("high", [0.0, 0.1, 0.5, 1.0])
def test_two_level_data_has_the_stated_share_high(high):
    problem = RegressionPair(100, "two-level", high)
    u0, _ = problem.sample(generator(0))
    assert (u0 > 1.2 * problem.unit).sum() == round(100 * high) == problem.high_count
    for spike in (0, 99):
        spiked = RegressionPair(100, "two-level", high, spike)
        assert spiked.spike_level * spiked.unit == u0[spike]


@pytest.mark.parametrize("data", ["uniform", "two-level"])
def test_drawing_in_parts_draws_the_same(data, seed):
    problem = RegressionPair(7, data)
    whole = problem.sample(generator(seed), 5)
    rng = generator(seed)
    parts = [problem.sample(rng, 2), problem.sample(rng, 3)]
    for label in (0, 1):
        np.testing.assert_array_equal(whole[label], np.concatenate([part[label] for part in parts]))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"n": 1}, "n must be an integer of at least 2, got 1."),
        ({"n": 100.0}, "n must be an integer of at least 2, got 100.0."),
        ({"n": 9, "data": "normal"}, "data must be one of 'uniform', 'two-level', got 'normal'."),
        ({"n": 9, "high": 1.5}, "high must be a number between 0 and 1, got 1.5."),
        ({"n": 9, "high": math.nan}, "high must be a number between 0 and 1, got nan."),
        ({"n": 9, "spike": 9}, "spike must be an integer from 0 to n - 1 = 8, got 9."),
        ({"n": 9, "spike": True}, "spike must be an integer from 0 to n - 1 = 8, got True."),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_a_bad_regression_argument_is_named(arguments, sentence):
    with pytest.raises(UserError) as refused:
        RegressionPair(**arguments)
    assert str(refused.value) == sentence


def test_draws_must_be_positive():
    with pytest.raises(UserError, match=r"^draws must be an integer of at least 1, got 0\.$"):
        RegressionPair(9).sample(generator(0), 0)
