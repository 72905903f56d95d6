import math

import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.rank.theory import decay
from attnlab.rank.theory.decay import correlation, correlation_by_thresholds
from attnlab.stats import Estimate, agree, line

LEVEL = 1e-6  # of a comparison, for each of 100 seeds


def square_wave(z, a):
    """psi_a(z) = (-1)^floor(z) on [-a, a) and 0 outside."""
    inside = (z >= -a) & (z < a)
    return np.where(inside, 1.0 - 2.0 * (np.floor(z) % 2), 0.0)


def test_the_square_wave_is_a_sum_of_thresholds():
    z = np.linspace(-7, 7, 1001)
    breaks, weights = decay.thresholds(5)
    assert len(breaks) == 11
    np.testing.assert_array_equal((z[:, None] >= breaks) @ weights, square_wave(z, 5))
    np.testing.assert_array_equal(
        square_wave(np.array([-5.5, -5, 0.5, 1.5, 4.9, 5]), 5), [0, -1, 1, -1, 1, 0]
    )


@pytest.mark.parametrize(("d", "r"), [(6, 4), (8, 4), (8, 2), (10, 4)])
def test_the_fourier_sum_equals_the_thresholds(d, r):
    assert correlation_by_thresholds(d, r) == pytest.approx(correlation(d, r).value, rel=5e-4)


@pytest.mark.parametrize(("d", "r"), [(4, 2), (6, 4), (3, 1), (8, 5)])
def test_the_squared_correlation_is_that_of_two_copies_that_share_what_is_seen(seed, d, r):
    rng = np.random.default_rng(seed)
    n = 100_000
    x = rng.standard_normal((n, d))
    x *= math.sqrt(2 * d) / np.linalg.norm(x, axis=1, keepdims=True)
    other = rng.standard_normal((n, d - r))
    lengths = [np.linalg.norm(part, axis=1, keepdims=True) for part in (x[:, r:], other)]
    other *= lengths[0] / lengths[1]
    y = rng.standard_normal((n, d))
    copy = np.concatenate([x[:, :r], other], axis=1)
    product = np.prod([square_wave((points * y).sum(1), d * d) for points in (x, copy)], axis=0)
    law = correlation(d, r).value ** 2
    # psi_a is 0 beyond a = d^2, which the law leaves out.
    missed = 2 * math.exp(-(d**3) / 4)
    assert agree(Estimate.of(product), law, level=LEVEL, slack=2 * missed).agrees


def test_the_correlation_decays_exponentially_in_d_minus_r():
    for d in (16, 64):
        ranks = np.arange(1, d - 1)
        logs = np.log([correlation(d, int(r)).value for r in ranks])
        fitted = line(d - ranks, logs)
        assert -1.2 < fitted.slope < -0.8
        # Every further rank is worth a factor, nowhere less than e^0.7: the line is no accident.
        assert np.diff(logs).min() > 0.7
        assert np.diff(logs).max() < 1.6
        assert np.corrcoef(ranks, logs)[0, 1] > 0.99
        assert fitted.largest_residual < 0.06 * abs(logs[0])


def test_at_a_fixed_rank_it_decays_in_the_dimension():
    for r in (1, 4):
        logs = np.log([correlation(r + n, r).value for n in range(4, 60, 4)])
        slopes = np.diff(logs) / 4
        assert (slopes < -0.7).all()


def test_wrong_arguments_are_named(unchecked):
    with pytest.raises(UserError, match=r"^r must be an integer from 1 to d - 2 = 6, got 7\.$"):
        correlation(8, 7)
    with pytest.raises(UserError, match=r"^a must be an integer of at least 1, got 0\.$"):
        decay.thresholds(0)
