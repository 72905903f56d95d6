import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab.errors import UserError
from attnlab.random.theory.linear_attention_law import (
    Setting,
    best_ridge,
    constant_predictor,
    errors,
    resolvent,
    target_constants,
)

LINEAR = Setting(1.0, 0.5, 0.01)


@pytest.mark.parametrize(
    ("tau", "lam", "icl", "idg"),
    [
        (1.5, 0.0, 1.663509, 0.914342),
        (0.5, 0.0, 1.261077, 0.801849),
        (1.0, 0.1, 1.404684, 0.793965),
        (3.0, 0.0, 1.019234, 0.457171),
    ],
)
def test_linear_attention_has_the_known_errors(tau, lam, icl, idg):
    found = errors(LINEAR, tau, lam)
    assert found.icl == pytest.approx(icl, abs=1e-6)
    assert found.idg == pytest.approx(idg, abs=1e-6)


def test_relu_targets_have_the_known_errors_against_context_length():
    relu = target_constants("relu")
    found = [errors(Setting(alpha, 0.5, 0.01, relu), 1.5, 0.0).icl for alpha in (1, 2, 4, 8)]
    np.testing.assert_allclose(found, [1.351, 1.398, 1.595, 2.072], atol=5.1e-4)
    assert constant_predictor(Setting(1, 0.5, 0.01, relu)) == pytest.approx(0.351, abs=5e-4)


@pytest.mark.parametrize("tau", [0.3, 0.7, 1.3, 4.0])
@pytest.mark.parametrize("kappa", [0.3, 1.0, 5.0, math.inf])
@pytest.mark.parametrize("intercept", [False, True])
def test_the_ridgeless_law_is_the_limit_of_small_ridge(tau, kappa, intercept):
    setting = Setting(1.3, kappa, 0.2, target_constants("relu"))
    limit = errors(setting, tau, 0.0, intercept)
    gaps = [
        np.abs(np.array(errors(setting, tau, lam, intercept)) - np.array(limit)).max()
        for lam in (1e-5, 1e-6)
    ]
    assert gaps[1] < 1e-4 * limit.icl
    # Linear in lambda, hence ten times smaller.
    assert gaps[1] == pytest.approx(gaps[0] / 10, rel=0.05)


@given(st.floats(1e-4, 50), st.floats(0.05, 20))
@settings(max_examples=50, deadline=None)
def test_the_resolvent_solves_marchenko_pastur_and_has_its_derivative(x, kappa):
    M, dM = resolvent(x, kappa)
    # M = 1 / (x + 1 / (1 + M / kappa)), the equation of the Stieltjes transform.
    assert M * (x + 1 / (1 + M / kappa)) == pytest.approx(1, rel=1e-9)
    h = 1e-5 * x
    slope = (resolvent(x + h, kappa)[0] - resolvent(x - h, kappa)[0]) / (2 * h)
    assert dM == pytest.approx(slope, rel=1e-5)


def test_the_resolvent_is_that_of_a_wishart_matrix(seed):
    rng = np.random.Generator(np.random.Philox(seed))
    d, k = 600, 300
    xi = rng.standard_normal((k, d))
    values = np.linalg.eigvalsh(xi.T @ xi / k)
    # Linear statistics of a Wishart matrix fluctuate by O(1/d), whatever d is.
    for x in (0.1, 1.0, 5.0):
        M, dM = resolvent(x, k / d)
        assert abs((1 / (values + x)).mean() - M) < 10 / d / x
        assert abs(-(1 / (values + x) ** 2).mean() - dM) < 20 / d / x**2


def test_the_ridgeless_error_diverges_at_one_sample_a_direction():
    assert errors(LINEAR, 1.0, 0.0).icl == math.inf
    near = [errors(LINEAR, tau, 0.0).idg * abs(tau - 1) for tau in (1.001, 1.0001)]
    assert near[1] == pytest.approx(near[0], rel=1e-2)


def test_the_best_ridge_is_a_minimum():
    for tau in (0.5, 1.0, 3.0):
        lam, value = best_ridge(LINEAR, tau)
        for factor in (0.9, 1.1):
            assert errors(LINEAR, tau, lam * factor).icl > value
        assert value < errors(LINEAR, tau, 0.0).icl


def test_a_target_without_linear_part_teaches_at_most_its_mean():
    setting = Setting(1.0, 0.5, 0.1, target_constants("quadratic")._replace(b1=0.0))
    assert errors(setting, 1.5, 0.1).icl == pytest.approx(1.1, abs=1e-9)


@pytest.mark.usefixtures("unchecked")
def test_bad_arguments_of_the_law_are_named():
    with pytest.raises(UserError, match=r"^alpha must be a finite number above 0, got 0\.$"):
        Setting(0, 0.5, 0.01)
    with pytest.raises(UserError, match=r"^kappa must be a finite number above 0, got -1\.$"):
        Setting(1, -1, 0.01)
    with pytest.raises(UserError, match=r"^tau must be a finite number above 0, got 0\.$"):
        errors(LINEAR, 0, 0.1)
    with pytest.raises(UserError, match=r"^lam must be a finite number of at least 0, got -1\.$"):
        errors(LINEAR, 1, -1)
