"""Lines through points with errors: exact where the points are exact, honest where they are not."""

import math

import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.stats import Estimate, chi_square_tail, limit, line, rate


def test_exact_points_give_the_exact_line():
    found = line([1, 2, 5], [3, 5, 11])
    assert (found.slope, found.intercept) == (pytest.approx(2), pytest.approx(1))
    assert found.largest_residual < 1e-12
    assert found.freedom == 1


def test_a_line_agrees_with_numpys_polynomial_fit(seed):
    rng = np.random.default_rng(seed)
    x, y, errors = np.arange(1.0, 9.0), rng.normal(size=8), rng.uniform(0.5, 2, 8)
    plain, weighted = line(x, y), line(x, y, errors)
    coefficients, covariance = np.polyfit(x, y, 1, cov=True)
    assert plain.slope == pytest.approx(coefficients[0])
    assert plain.slope_error == pytest.approx(math.sqrt(covariance[0, 0]))
    assert plain.intercept_error == pytest.approx(math.sqrt(covariance[1, 1]))
    coefficients, covariance = np.polyfit(x, y, 1, w=1 / errors, cov="unscaled")
    assert weighted.intercept == pytest.approx(coefficients[1])
    assert weighted.slope_error == pytest.approx(math.sqrt(covariance[0, 0]))
    assert weighted.intercept_error == pytest.approx(math.sqrt(covariance[1, 1]))


def test_the_stated_errors_are_the_spread_of_the_fits(seed):
    rng, sizes, spread = np.random.default_rng(seed), np.array([8, 16, 32, 64]), 0.05
    fits = []
    for _ in range(2000):
        values = 2.0 + 3.0 / sizes + spread * rng.normal(size=4)
        fits.append(limit(sizes, [Estimate(v, spread, 5) for v in values]))
    z = np.array([(f.limit.value - 2.0) / f.limit.standard_error for f in fits])
    assert abs(np.mean(z)) < 5 / math.sqrt(len(z))
    assert abs(np.mean(z**2) - 1) < 5 * math.sqrt(2 / len(z))
    chi = np.array([f.chi_square for f in fits])
    assert abs(chi.mean() - fits[0].freedom) < 5 * math.sqrt(2 * fits[0].freedom / len(chi))
    assert fits[0].limit.samples == 4 * 4 + 1


def test_a_rate_is_the_power():
    n = np.array([10.0, 100.0, 1000.0])
    assert rate(n, 7 * n**-0.5).slope == pytest.approx(-0.5)
    found = rate(n, 7 * n**-0.5, 0.1 * 7 * n**-0.5)
    assert found.slope_error == pytest.approx(0.1 / math.sqrt(2 * math.log(10) ** 2))


def test_the_tail_of_chi_squared_is_its_own():
    assert chi_square_tail(0.0, 3) == 1
    assert chi_square_tail(2 * math.log(20), 2) == pytest.approx(0.05)


@pytest.mark.parametrize("points", [([1], [1]), ([1, 1], [1, 2]), ([1, 2], [1, 2, 3])])
def test_too_few_points_are_refused(points):
    with pytest.raises(UserError, match="at least two different x"):
        line(*points)


def test_a_rate_of_numbers_that_are_not_positive_is_refused():
    with pytest.raises(UserError, match="positive"):
        rate([1, 2], [1, 0])
