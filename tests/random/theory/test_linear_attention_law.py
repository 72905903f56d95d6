import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab.errors import UserError
from attnlab.random.theory.linear_attention_law import (
    Setting,
    TargetConstants,
    best_ridge,
    constant_error,
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
    assert constant_error(Setting(1, 0.5, 0.01, relu)) == pytest.approx(0.351, abs=5e-4)


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


def test_a_target_without_linear_part_leaves_noise_to_fit():
    # H is then isotropic of variance v = (E_2 + rho) / alpha and says nothing about labels of
    # variance V: mu (1 - v / (tau (v + mu))) = lam and e = V / (1 - (v / (v + mu))^2 / tau).
    alpha, rho = 0.8, 0.1
    constants = target_constants("quadratic")
    assert constants.b0 == constants.b1 == 0
    setting = Setting(alpha, 0.5, rho, constants)
    V, v = constants.E2 + rho, (constants.E2 + rho) / alpha
    for tau, lam in ((1.5, 0.1), (1.5, 0.0), (0.4, 2.0), (8.0, 1.0)):
        excess = v * (1 - 1 / tau) - lam
        mu = (math.sqrt(excess**2 + 4 * v * lam) - excess) / 2
        expected = V / (1 - (v / (v + mu)) ** 2 / tau)
        found = errors(setting, tau, lam)
        assert found.icl == pytest.approx(expected, rel=1e-7)
        assert found.idg == pytest.approx(expected, rel=1e-7)
    shifted = Setting(alpha, 0.5, rho, TargetConstants(0.7, 0.0, constants.E2 + 0.49))
    assert errors(shifted, 50.0, 1e3, intercept=True).icl == pytest.approx(V, rel=1e-2)


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
    with pytest.raises(UserError, match=r"^target must not be 0 everywhere where rho is 0, got"):
        errors(Setting(1, 1, 0.0, TargetConstants(0.0, 0.0, 0.0)), 1, 1)
    for bad in (math.nan, math.inf):
        with pytest.raises(UserError, match=rf"^rho must be a finite number .*got {bad}\.$"):
            Setting(1, 1, bad)
    with pytest.raises(UserError, match=r"^kappa must be a finite number above 0, got nan\.$"):
        Setting(1, math.nan, 0.01)
