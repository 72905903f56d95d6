import math

import numpy as np
import pytest
from scipy import special

from attnlab.errors import UserError
from attnlab.maths.harmonics import marginal_constant, marginal_quadrature
from attnlab.rank.theory.full_rank import (
    full_rank_error,
    full_rank_rate,
    softmax_limit,
    softmax_limit_of_theorem_4,
)
from attnlab.stats import Estimate, agree


def test_fact_1_s_law_is_a_quadrature_and_falls_like_one_over_c():
    for d in (3, 8, 64):
        t, weights = marginal_quadrature(d, 400)
        wrong = 1 / (1 + np.exp(math.sqrt(2) * np.abs(t)))
        # |t| has a kink that a Gauss rule meets with an error of 1 / points^2.
        expected = 2 * weights @ wrong**2
        assert full_rank_error(d, 1).value == pytest.approx(expected, rel=1e-4)
        assert full_rank_error(d, 0).value == pytest.approx(0.5)
        assert full_rank_error(d, math.inf).value == 0
        scales = np.array([1e2, 1e3, 1e4]) * math.sqrt(d)
        laws = [full_rank_error(d, c).value for c in scales]
        rates = [full_rank_rate(d, c) for c in scales]
        np.testing.assert_allclose(laws, rates, rtol=1e-3)


def test_wrong_arguments_are_named(unchecked):
    with pytest.raises(UserError, match=r"^scale must be a finite number of at least 0, got -1\.$"):
        full_rank_error(8, -1)
    with pytest.raises(UserError, match=r"^d must be an integer of at least 3, got 2\.$"):
        full_rank_error(2, 1.0)


@pytest.mark.parametrize("d", [8, 32])
def test_the_limit_of_two_independent_points_is_an_integral_over_their_angle(d):
    # x_1.y and x_2.y tie where both are t: (log 2 - 1/2) 2 int f(t)^2 (2 - 2 t^2) dt.
    t = np.linspace(-1, 1, 200_001)
    density = marginal_constant(d) * (1 - t**2) ** ((d - 3) / 2)
    expected = (math.log(2) - 0.5) * 2 * np.trapezoid(density**2 * (2 - 2 * t**2), t)
    np.testing.assert_allclose(softmax_limit(d, [0.0, 0.0]), expected, rtol=1e-8)


def test_a_common_bias_changes_nothing_and_a_large_one_leaves_no_ties():
    plain = softmax_limit(16, [0.0] * 5)
    np.testing.assert_allclose(softmax_limit(16, [0.7] * 5), plain, rtol=1e-9)
    assert softmax_limit(16, [0.0, 5.0]) < 1e-12
    assert softmax_limit(16, [0.0, 0.5]) < softmax_limit(16, [0.0, 0.0])


def test_the_limit_of_theorem_4_is_that_of_its_error(seed):
    d, c, bias = 16, 40.0, [2.0, 0.0]
    z = np.random.default_rng(seed).standard_normal(400_000) * math.sqrt(2 * d) - 1.0
    wrong = special.expit(-c * np.abs(z)) ** 2 * 2 * d
    found = Estimate.of(c * wrong)
    assert agree(found, softmax_limit_of_theorem_4(d, bias)).agrees
