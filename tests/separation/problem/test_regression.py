import math

import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.separation.problem import RegressionPair
from attnlab.stats import Estimate, agree


def generator(seed):
    return np.random.Generator(np.random.Philox(seed))


@pytest.mark.parametrize("data", ["uniform", "two-level"])
def test_d1_is_d0_with_one_coordinate_at_4_log_n(data, seed):
    problem = RegressionPair(50, data, spike=3)
    (u0,) = problem.draw(generator(seed))
    u1 = problem.spiked(u0)
    # Levels are float32 numbers, at most half a unit of their last place above 1.4.
    assert u0.min() >= math.log(50)
    assert u0.max() <= 1.4 * math.log(50) * (1 + 2**-24)
    assert u1[3] == 4 * math.log(50)
    np.testing.assert_array_equal(np.flatnonzero(u0 != u1), [3])


def test_uniform_levels_have_the_moments_of_their_law(seed):
    """Mean 1.2 and variance 0.4^2 / 12 of 40 000 draws; level 1e-6 for both."""
    levels = RegressionPair(200).draw_levels(generator(seed), 200).astype(np.float64).ravel()
    for moment, expected in ((levels, 1.2), ((levels - 1.2) ** 2, 0.4**2 / 12)):
        assert agree(Estimate.of(moment), expected, comparisons=2, level=1e-6).agrees


@pytest.mark.parametrize("high", [0.0, 0.1, 0.5, 1.0])
def test_two_level_data_has_the_stated_share_high(high):
    problem = RegressionPair(100, "two-level", high)
    (u0,) = problem.draw(generator(0))
    assert (u0 > 1.2 * problem.unit).sum() == round(100 * high) == problem.high_count
    for spike in (0, 99):
        spiked = RegressionPair(100, "two-level", high, spike)
        assert spiked.spike_level * spiked.unit == u0[spike]


@pytest.mark.parametrize("data", ["uniform", "two-level"])
def test_drawing_in_parts_draws_the_same(data, seed):
    problem = RegressionPair(7, data)
    whole = problem.draw(generator(seed), 5)
    rng = generator(seed)
    np.testing.assert_array_equal(whole, np.concatenate([problem.draw(rng, k) for k in (2, 3)]))
    rng = generator(seed)
    parts = [problem.draw_levels(rng, 1, start, stop) for start, stop in ((0, 3), (3, None))]
    levels = problem.draw_levels(generator(seed), 1)
    np.testing.assert_array_equal(levels, np.concatenate(parts, axis=1))


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
        RegressionPair(9).draw(generator(0), 0)
