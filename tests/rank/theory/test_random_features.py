"""How many random heads are enough: against heads that are drawn."""

import math

import pytest

from attnlab.rank.models.rank_one_heads import random_heads
from attnlab.rank.theory.lower_bound import heads_needed
from attnlab.rank.theory.random_features import log_features
from attnlab.rank.theory.upper_bound import exact_error


@pytest.mark.parametrize(("d", "epsilon"), [(4, 0.3), (4, 0.25), (8, 0.35)])
def test_drawn_heads_of_a_fraction_of_that_number_already_have_the_error(d, epsilon, seed):
    heads = 512
    assert math.exp(log_features(d, epsilon)) > heads
    assert exact_error(random_heads(d, heads, seed)).value <= epsilon


@pytest.mark.parametrize(("d", "epsilon"), [(8, 0.2), (16, 0.1), (64, 0.15)])
def test_it_is_above_the_lower_bound(d, epsilon):
    assert log_features(d, epsilon) > math.log(heads_needed(d, 1, epsilon, "C"))


def test_smaller_errors_need_more_heads():
    found = [log_features(16, epsilon) for epsilon in (0.4, 0.3, 0.2, 0.1, 0.05)]
    assert found == sorted(found)
    assert log_features(16, 1e-4) == math.inf, "more degrees are needed than are summed"
