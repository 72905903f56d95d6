import math

import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.random.theory.linear_attention_law import Setting, target_constants
from attnlab.random.theory.refined_law import PromptStatistics, ScaledConstants, refined_errors
from attnlab.random.theory.transformer_law import RandomFeaturesLaw, feature_constants


def constant(features):
    def constants(s):
        return ScaledConstants(*(value + 0 * s for value in features))

    return constants


def equal_norms(setting):
    """Two prompts with s = o = 1 whose labels have the mean and the variance of the target."""
    b0, _, E2 = setting.target
    spread = math.sqrt(E2 + setting.rho - b0**2)
    return PromptStatistics(np.ones(2), np.array([b0 + spread, b0 - spread]), np.ones(2))


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("target", ["relu", "tanh"])
@pytest.mark.parametrize("psi", [0.3, 0.9, 1.1, 4.0])
@pytest.mark.parametrize("delta", [1e-8, 1e-3, 0.3])
def test_equal_norms_give_the_law_itself(activation, target, psi, delta):
    features = feature_constants(activation)
    for tau, alpha, kappa in ((0.4, 1.0, 0.5), (1.5, 3.0, 2.0), (6.0, 0.4, math.inf)):
        setting = Setting(alpha, kappa, 0.05, target_constants(target))
        sample = equal_norms(setting)
        found = refined_errors(
            setting,
            constant(features),
            sample,
            sample,
            tau=tau,
            psi=psi,
            delta=delta,
            intercept=features.c0 != 0,
        )
        expected = RandomFeaturesLaw(setting, features, tau, psi, delta).errors()
        np.testing.assert_allclose(found[:2], expected[:2], rtol=1e-11)
        np.testing.assert_allclose(found[2], expected[2], rtol=1e-9, atol=1e-13)


def test_uneven_norms_cost_accuracy():
    setting = Setting(1.0, 0.5, 0.01, target_constants("relu"))
    features = feature_constants("relu")
    even = equal_norms(setting)
    s = np.repeat([0.3, 1.7], 2)
    uneven = PromptStatistics(s, np.tile(even.y, 2), np.ones(4))

    def scaled(s):
        return ScaledConstants(*(value * np.sqrt(s) for value in features))

    call = {"tau": 1.5, "psi": 1.5, "delta": 1e-9, "intercept": True}
    first = refined_errors(setting, scaled, even, even, **call)
    second = refined_errors(setting, scaled, uneven, uneven, **call)
    assert second.idg > first.idg


@pytest.mark.usefixtures("unchecked")
def test_bad_arguments_of_the_refinement_are_named():
    setting = Setting(1.0, 0.5, 0.01)
    sample = equal_norms(setting)
    call = {"tau": 1.5, "psi": 1.5, "delta": 0.1, "intercept": False}
    with pytest.raises(UserError, match=r"^delta must be a finite number above 0, got 0\.$"):
        refined_errors(setting, constant((0, 1, 1)), sample, sample, **{**call, "delta": 0})
    flat = Setting(1.0, 0.5, 0.01, target_constants("linear")._replace(b1=0.0))
    with pytest.raises(UserError, match=r"^target must have a linear part"):
        refined_errors(flat, constant((0, 1, 1)), sample, sample, **call)
    with pytest.raises(UserError, match=r"^activation must have a linear part.*, got 0\.$"):
        refined_errors(setting, constant((1, 0, 1)), sample, sample, **call)
