"""The quadratic mean of several limits: its level, its power, and that no signs cancel in it."""

import math

import numpy as np
import pytest
from scipy import stats

from attnlab.random.study.quadratic_mean import QuadraticMean, quadratic_mean, ratio_tail
from attnlab.stats import LEVEL

SIZES, RUNS = (30, 50, 80), (60, 160, 25)
SPREADS = (0.06, 0.04, 0.025)  # over runs, of every point
MIXED = np.array(  # points of one run share most of what moves them, and two pairs differ in sign
    [[1.0, 0.9, -0.2, -0.1], [0.9, 1.0, -0.1, -0.2], [-0.2, -0.1, 1.5, 0.9], [-0.1, -0.2, 0.9, 1.2]]
)


def drawn(rng, limits):
    """Correlated normal points at three dimensions, b/d + c/d² beside their limits."""
    root = np.linalg.cholesky(MIXED)
    return [
        (limits + 3 / d - 20 / d**2)[:, None] + spread * root @ rng.standard_normal((4, n))
        for d, n, spread in zip(SIZES, RUNS, SPREADS, strict=True)
    ]


@pytest.mark.parametrize("number", [1, 2, 6])
@pytest.mark.parametrize("freedom", [12, 100])
@pytest.mark.parametrize("tail", [1e-2, 1e-4, 1e-6])
def test_equal_weights_have_the_law_of_an_f_ratio(number, freedom, tail):
    weights = np.full(number, 1 / number)
    ratio = stats.f.isf(tail, number, freedom)
    assert ratio_tail(weights, freedom, ratio) == pytest.approx(tail, rel=0.15)


def test_unequal_weights_have_the_tail_that_is_simulated(seed):
    weights, freedom, number = np.array([0.05, 0.11, 0.31, 0.53]), 50, 1_000_000
    rng = np.random.default_rng(seed)
    squares = np.square(rng.standard_normal((number, 4))) @ weights
    ratios = squares / (rng.chisquare(freedom, number) / freedom)
    for ratio in (4.0, 7.0):
        found = np.mean(ratios > ratio)
        own = ratio_tail(weights, freedom, ratio)
        assert own == pytest.approx(found, rel=0.1, abs=5 * math.sqrt(found / number))


def test_true_limits_of_0_are_refused_at_the_level_and_no_more(seed):
    rng, number, level = np.random.default_rng(seed), 2000, 0.05
    refused = 0
    for _ in range(number):
        found = quadratic_mean(SIZES, drawn(rng, np.zeros(4)), 1, level)
        total = found.eigenvalues.sum()
        ratio = found.value**2 * 4 / total
        tail = ratio_tail(found.eigenvalues / total, found.freedom, max(ratio, 1.5))
        refused += ratio > 1.5 and tail < level
    assert abs(refused / number - level) < 5 * math.sqrt(level / number)


def of_the_law(comparisons):
    """The quadratic mean with the covariance that `drawn` has, instead of an estimate of it."""
    weights = [d**2 / math.prod(d - e for e in SIZES if e != d) for d in SIZES]
    parts = zip(SIZES, weights, SPREADS, strict=True)
    covariances = {d: (c * spread) ** 2 * MIXED for d, c, spread in parts}
    runs = dict(zip(SIZES, RUNS, strict=True))
    return QuadraticMean(np.zeros(4), covariances, runs, LEVEL / comparisons)


def test_what_would_be_noticed_is_noticed_half_of_the_time_in_the_worst_direction(seed):
    """And about as often or more in every other one, also where the mean over points is 0."""
    rng, number = np.random.default_rng(seed), 800
    law = of_the_law(10)
    ratio = law.critical**2 / law.eigenvalues.sum()
    directions = np.linalg.eigh(MIXED)[1].T
    for direction in (directions[-1], directions[0], np.array([1, -1, 1, -1]) / 2):
        limits = law.allowed * 2 * direction  # their quadratic mean is what would be noticed
        found = [quadratic_mean(SIZES, drawn(rng, limits), 1) for _ in range(number)]
        power = np.mean([each.value**2 > ratio * each.eigenvalues.sum() for each in found])
        chance = 5 * math.sqrt(0.25 / number)
        assert power > 0.5 - chance
        if direction is directions[-1]:
            assert power < 0.5 + chance


def test_departures_of_opposite_sign_do_not_cancel(seed):
    rng = np.random.default_rng(seed)
    found = quadratic_mean(SIZES, drawn(rng, np.array([0.3, 0.3, -0.3, -0.3])), 10)
    assert abs(np.mean(found.limits)) < 0.1
    assert found.value == pytest.approx(0.3, abs=0.1)
    assert not found.vanishes


def test_more_runs_at_one_dimension_notice_less(seed):
    found = quadratic_mean(SIZES, drawn(np.random.default_rng(seed), np.zeros(4)), 10)
    more = found.with_runs(80, 100)
    assert more.value == found.value
    assert more.allowed < found.allowed < found.critical
    assert found.with_runs(80, RUNS[2]).allowed == found.allowed


def test_points_without_spread_have_exact_limits():
    flat = [[[0.2 / d] * 5] * 3 for d in SIZES]
    assert quadratic_mean(SIZES, flat, 1).value < 1e-12
    assert quadratic_mean(SIZES, flat, 1).allowed < 1e-9
