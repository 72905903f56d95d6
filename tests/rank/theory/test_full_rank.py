import math

import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.maths.harmonics import marginal_quadrature
from attnlab.rank.theory.full_rank import full_rank_error, full_rank_rate


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
