"""Thresholds: the probability that a true statement is refused is the stated level."""

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from attnlab.errors import UserError
from attnlab.stats import LEVEL, Estimate, agree, normal_threshold, student_threshold


def test_thresholds_are_the_quantiles_of_their_laws():
    for comparisons in (1, 7, 170):
        z, t = normal_threshold(comparisons), student_threshold(4, comparisons)
        assert comparisons * 2 * scipy_stats.norm.sf(z) == pytest.approx(LEVEL)
        assert comparisons * 2 * scipy_stats.t.sf(t, 4) == pytest.approx(LEVEL)
        assert t > z
    assert student_threshold(10**7) == pytest.approx(normal_threshold(), rel=1e-4)


def test_equal_means_disagree_as_often_as_the_level_says(seed):
    """At level 0.1 with five samples each: Student's law, so one in ten and not more."""
    rng, repetitions, level = np.random.default_rng(seed), 4000, 0.1
    refused = sum(
        not agree(Estimate.of(rng.normal(size=5)), 0.0, level=level).agrees
        for _ in range(repetitions)
    )
    spread = math.sqrt(repetitions * level * (1 - level))
    assert abs(refused - repetitions * level) < 5 * spread


def test_a_difference_beyond_what_is_allowed_is_noticed_and_a_smaller_one_is_not():
    first, second = Estimate(1.0, 0.03, 1000), Estimate(1.2, 0.04, 1000)
    found = agree(first, second)
    assert found.standard_error == pytest.approx(0.05)
    assert found.z == pytest.approx(-4.0)
    assert found.agrees
    assert found.allowed == pytest.approx(normal_threshold() * 0.05)
    assert not agree(first, 1.0 + 1.001 * normal_threshold() * 0.03).agrees
    assert agree(first, 1.0 + 0.999 * normal_threshold() * 0.03).agrees


def test_a_known_bias_is_taken_off_before_comparing():
    first = Estimate(1.5, 0.01, 1000)
    assert not agree(first, 1.0).agrees
    assert agree(first, 1.0, slack=0.5).agrees
    assert not agree(first, 1.0, slack=0.4).agrees


def test_exact_numbers_agree_only_where_they_are_equal():
    assert agree(Estimate(1.0), 1.0).agrees
    assert not agree(Estimate(1.0), 1.0 + 1e-12).agrees
    assert not agree(Estimate(math.inf, math.inf, 3), 1.0).agrees


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: normal_threshold(0), "comparisons must be an integer of at least 1, got 0"),
        (lambda: normal_threshold(level=0.0), "level must be .* strictly between 0 and 1, got 0"),
        (lambda: student_threshold(0), "freedom must be an integer of at least 1, got 0"),
    ],
)
def test_a_wrong_argument_is_named(call, sentence):
    with pytest.raises(UserError, match=sentence):
        call()
