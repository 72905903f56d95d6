import math
from dataclasses import replace

import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.random.theory import linear_attention_law
from attnlab.random.theory.linear_attention_law import Setting, target_constants
from attnlab.random.theory.transformer_law import (
    FeatureConstants,
    RandomFeaturesLaw,
    best_delta,
    feature_constants,
    peak_constant,
)

RELU, TANH = feature_constants("relu"), feature_constants("tanh")
SETTING = Setting(1.0, 0.5, 0.01, target_constants("relu"))
LINEAR = Setting(1.0, 0.5, 0.01)
IDENTITY = FeatureConstants(0.0, 1.0, 0.0)


def icl(features, tau, psi, delta=0.0, setting=SETTING):
    return RandomFeaturesLaw(setting, features, tau, psi, delta).errors().icl


@pytest.mark.parametrize(
    ("features", "tau", "psi", "delta", "value"),
    [
        (RELU, 1.5, 1.5, 1e-8 / 20, 0.929),
        (RELU, 1.5, 0.9, 1e-8 / 30, 2.662),
        (RELU, 1.5, 0.5, 0.1 / 40, 0.612),
        (TANH, 1.5, 1.5, 1e-8 / 40, 1.759),
        (RELU, 1.5 * 80 / 81, 2 / 3, 1e-8 / 80, 0.891),
        (TANH, 1.5 * 80 / 81, 2 / 3, 1e-8 / 80, 1.363),
    ],
)
def test_the_law_has_the_known_values(features, tau, psi, delta, value):
    assert icl(features, tau, psi, delta) == pytest.approx(value, abs=5.1e-4)


@pytest.mark.parametrize(
    ("features", "ridge", "error", "intercept"),
    [(RELU, 0.18411, 0.42181, True), (TANH, 0.03786, 0.93100, False)],
)
def test_a_very_wide_transformer_is_linear_attention_at_an_implicit_ridge(
    features, ridge, error, intercept
):
    law = RandomFeaturesLaw(SETTING, features, 1.5, 1e9)
    assert law.effective_ridge == pytest.approx(ridge, abs=5.1e-6)
    expected = linear_attention_law.errors(SETTING, 1.5, law.effective_ridge, intercept)
    assert expected.icl == pytest.approx(error, abs=5.1e-6)
    assert law.errors().icl == pytest.approx(expected.icl, abs=1e-6)
    assert law.errors().idg == pytest.approx(expected.idg, abs=1e-6)


@pytest.mark.parametrize(("tau", "psi"), [(1.5, 0.8), (1.5, 1.0), (1.5, 4.0), (3.0, 0.5)])
def test_without_nonlinearity_the_law_is_the_ridgeless_one_of_linear_attention(tau, psi):
    found = RandomFeaturesLaw(LINEAR, IDENTITY, tau, psi).errors()
    np.testing.assert_allclose(found, linear_attention_law.errors(LINEAR, tau, 0.0), atol=1e-9)


def test_linear_features_reach_linear_attention_with_width():
    # psi = 1e9 below the threshold, and lambda = .1 matched by delta = psi tau lambda / (1 + q).
    below = RandomFeaturesLaw(LINEAR, IDENTITY, 0.5, 1e9).errors()
    np.testing.assert_allclose(below[:2], [1.261077, 0.801849], atol=1e-6)
    matched = RandomFeaturesLaw(LINEAR, IDENTITY, 1.0, 1e7, 1e7 * 0.1 / (1 + LINEAR.q)).errors()
    np.testing.assert_allclose(matched[:2], [1.404684, 0.793965], atol=1e-6)


@pytest.mark.parametrize("features", [RELU, TANH])
@pytest.mark.parametrize("psi", [0.4, 0.9, 1.3, 5.0])
@pytest.mark.parametrize("tau", [0.4, 1.5])
def test_the_ridgeless_law_of_features_is_the_limit_of_small_delta(features, psi, tau):
    law = RandomFeaturesLaw(SETTING, features, tau, psi)
    limit = np.array(law.errors())
    gaps = [
        np.abs(np.array(replace(law, delta=delta).errors()) - limit).max() for delta in (1e-7, 1e-8)
    ]
    assert gaps[1] < 1e-4 * limit[0]
    assert gaps[1] == pytest.approx(gaps[0] / 10, rel=0.05)


def test_the_saddle_point_solves_both_equations():
    for psi, delta in ((0.5, 1e-3), (1.0, 1e-6), (2.0, 1e-2), (1.0, 10.0)):
        law = RandomFeaturesLaw(SETTING, RELU, 1.5, psi, delta)
        xi, p, cc, _ = law.saddle_point()
        M, _ = linear_attention_law.resolvent(SETTING.q + xi, SETTING.kappa)
        assert cc == pytest.approx(law.implicit / xi, rel=1e-9)
        assert p + cc == pytest.approx(psi * 1.5 - (1 - xi * M), rel=1e-9)
        right = delta * (1 + SETTING.q) / RELU.c1**2
        assert xi * p * (1 - psi + p / 1.5) == pytest.approx(right, rel=1e-6)


def test_double_descent_is_one_over_the_distance_to_as_many_features_as_prompts():
    # Exactly 1/(1 - psi) below; above, (psi tau - s_2)/((psi - 1)(tau - s_2)).
    below = [
        (1 - psi) * RandomFeaturesLaw(SETTING, RELU, 1.5, psi).errors().idg for psi in (0.9, 0.999)
    ]
    above = [
        (psi - 1) * RandomFeaturesLaw(SETTING, RELU, 1.5, psi).errors().idg
        for psi in (1.001, 1.0001)
    ]
    assert above[1] == pytest.approx(above[0], rel=2e-3)
    assert above[1] == pytest.approx(below[1], rel=2e-2)
    assert RandomFeaturesLaw(SETTING, RELU, 1.5, 1.0).errors().icl == math.inf


def test_the_peak_grows_as_the_root_of_d_over_lambda():
    law = RandomFeaturesLaw(SETTING, RELU, 1.5, 1.0)
    found = [replace(law, delta=delta).errors().idg * math.sqrt(delta) for delta in (1e-8, 1e-12)]
    assert found[1] == pytest.approx(peak_constant(law), rel=1e-4)
    assert abs(found[0] / peak_constant(law) - 1) == pytest.approx(0, abs=1e-2)


def test_ridgeless_error_rises_from_the_constant_predictor_up_to_as_many_features_as_prompts():
    values = [icl(RELU, 1.5, psi) for psi in (1e-6, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)]
    assert values[0] == pytest.approx(0.3508, abs=1e-4)
    assert values == sorted(values)
    assert icl(RELU, 1.5, 100.0) == pytest.approx(0.424, abs=5e-4)


def test_context_length_has_the_known_optimum():
    def at(alpha, features):
        setting = Setting(alpha, 0.5, 0.01, target_constants("relu"))
        return icl(features, 1.5, 2 / 3, 0.0, setting)

    found = [at(alpha, RELU) for alpha in (0.1, 1, 2, 4, 8, 16, 100)]
    known = [1.022, 0.889, 0.842, 0.815, 0.810, 0.820, 0.852]
    np.testing.assert_allclose(found, known, atol=5.1e-4)
    assert min(at(1, TANH), at(2, TANH)) < min(at(0.5, TANH), at(4, TANH))


def test_the_best_random_transformer_does_not_beat_the_best_linear_attention():
    for tau, alpha, kappa, psi in ((0.5, 1, 0.5, 3), (1.5, 1, 0.5, 0.7), (5, 10, 2, 30)):
        setting = Setting(alpha, kappa, 0.01, target_constants("relu"))
        _, linear = linear_attention_law.best_ridge(setting, tau, intercept=True)
        _, features = best_delta(RandomFeaturesLaw(setting, RELU, tau, psi))
        assert features > linear * (1 - 1e-4)


def test_features_without_linear_part_are_noise():
    law = RandomFeaturesLaw(SETTING, FeatureConstants(0.0, 0.0, 1.0), 1.5, 0.5)
    E2 = SETTING.target.E2 + SETTING.rho
    assert law.errors().idg == pytest.approx(2 * E2, rel=1e-12)
    assert law.errors().train == pytest.approx(E2 / 2, rel=1e-12)
    for call in (lambda: law.effective_ridge, law.saddle_point, lambda: peak_constant(law)):
        with pytest.raises(UserError, match=r"^activation must have a linear part.*, got 0\.$"):
            call()
    with pytest.raises(UserError, match=r"^activation must not be constant, got one with c_1"):
        RandomFeaturesLaw(SETTING, FeatureConstants(1.0, 0.0, 0.0), 1.5, 0.5)


def test_a_target_without_linear_part_leaves_noise_to_fit(seed):
    # Features of covariance C = c_1^2 G^T G / D + c*^2 I, fitted to labels that are noise: the
    # deterministic equivalent over the data, at the spectrum of one large G.
    target = target_constants("quadratic")
    setting = Setting(1.0, 0.5, 0.01, target)
    D, tau, psi, delta = 600, 1.5, 0.6, 0.05
    n, m = round(tau * D), round(psi * tau * D)
    rng = np.random.Generator(np.random.Philox(seed))
    spectrum = np.linalg.svd(rng.standard_normal((D, m)), compute_uv=False) ** 2 / D
    C = RELU.c1**2 * np.append(spectrum, np.zeros(m - len(spectrum))) + RELU.cs**2
    mu = 1.0
    for _ in range(500):
        mu = delta + mu / n * (C / (C + mu)).sum()
    gamma = (C**2 / (C + mu) ** 2).sum() / n
    expected = (target.E2 - target.b0**2 + 0.01) / (1 - gamma)
    found = RandomFeaturesLaw(setting, RELU, n / D, m / n, delta).errors()
    # Linear statistics of the spectrum fluctuate by O(1/D).
    assert found.idg == pytest.approx(expected, rel=10 / D)
    assert found.icl == pytest.approx(expected, rel=10 / D)


@pytest.mark.usefixtures("unchecked")
def test_bad_arguments_of_the_feature_law_are_named():
    with pytest.raises(UserError, match=r"^psi must be a finite number above 0, got 0\.$"):
        RandomFeaturesLaw(SETTING, RELU, 1.5, 0)
    with pytest.raises(UserError, match=r"^delta must be a finite number of at least 0, got -1"):
        RandomFeaturesLaw(SETTING, RELU, 1.5, 1, -1)
