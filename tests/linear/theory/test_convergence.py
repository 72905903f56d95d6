import math

import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.linear.models.transformer import token_form
from attnlab.linear.theory import convergence
from attnlab.stats import Estimate, agree, binomial_p_value
from tests.linear.prompts import full_weights

pytestmark = pytest.mark.usefixtures("double_precision")


@pytest.mark.parametrize(("kappa", "coarse", "fine"), [(10, 7, 8), (1e3, 12, 14), (1e6, 21, 23)])
def test_theorem_5_1_needs_these_layers(kappa, coarse, fine):
    assert convergence.layers_needed(kappa, 1e-3) == coarse
    assert convergence.layers_needed(kappa, 1e-9) == fine


def test_the_number_of_layers_grows_as_log_kappa_plus_log_log_error():
    assert convergence.log_slope() == pytest.approx(1 / math.log(9 / 4), rel=0.05)
    # Ten times the digits is log2(10) layers more, to the one layer that rounding costs.
    assert convergence.log_log_slope(10) == pytest.approx(1, abs=0.05)
    assert convergence.log_log_slope(1e6) == pytest.approx(1, abs=0.05)
    assert convergence.layers_needed(1, 1e-300) == 1


def test_lemma_a_3_contracts_at_1_1_and_towards_4_ninths():
    assert convergence.contraction(1.1) == pytest.approx(0.915, abs=5e-4)
    assert convergence.contraction(1e9) == pytest.approx(4 / 9, rel=1e-8)
    factors = [convergence.contraction(kappa) for kappa in np.geomspace(1.1, 1e6, 50)]
    assert all(np.diff(factors) < 0)


def test_lemma_a_3_squares_the_excess_with_a_constant_of_three_quarters():
    for excess in (0.1, 0.01, 1e-4):
        kappa = 1 + excess
        direct = (convergence.next_condition(kappa) - 1) / excess**2
        assert convergence.excess_constant(kappa) == pytest.approx(direct, rel=1e-6)
        assert direct <= 0.75 + 1e-6 < 2
    assert convergence.excess_constant(1) == 0.75


def test_preconditioning_keeps_the_order_and_the_formula_of_kappa():
    s = np.linspace(0.01, 3, 100)
    after = np.array([convergence.preconditioned(float(value), -1 / 9) for value in s])
    assert (np.diff(after) > 0).all()
    assert after[-1] == pytest.approx(3 * 4 / 9)
    assert after[-1] / after[0] == pytest.approx(convergence.next_condition(300))


def test_theorem_4_2_no_weights_pass_the_regression_s_cosine(seed):
    rng = np.random.default_rng(seed)
    n, d = 60, 4
    X = rng.standard_normal((n, d)) / math.sqrt(n)
    w = rng.standard_normal(d)
    z = X[:, 0] ** 2
    supremum = math.sqrt(z @ X @ np.linalg.solve(X.T @ X, X.T @ z) / (z @ z))
    for other in range(3):
        weights = full_weights(seed + other, 3, 2)
        tokens = token_form(weights, jnp.asarray(X), jnp.asarray(X @ w), jnp.zeros((1, d)))
        for y in np.asarray(tokens.context[:, :, -1]):
            cosine = abs(y @ z) / (np.linalg.norm(y) * np.linalg.norm(z))
            assert cosine <= supremum * (1 + 1e-12)


def test_the_supremum_follows_its_law(seed):
    d, n, samples = 5, 2000, 300
    squares = convergence.sampled_cosines(d, n, samples, seed) ** 2
    # The next order of the law is a relative 10 / n or so.
    law = convergence.squared_cosine_mean(d, n)
    assert agree(Estimate.of(squares), law, slack=20 * law.value / n).agrees
    exceed = int((squares > convergence.cosine_quantile(d, n) ** 2).sum())
    assert binomial_p_value(exceed, samples, 0.01) > 1e-7


def test_the_cosine_is_below_a_tenth_only_for_very_long_contexts():
    quantiles = [convergence.cosine_quantile(10, n) for n in (1400, 5000)]
    np.testing.assert_allclose(quantiles, [0.176, 0.093], atol=1e-3)


def test_wrong_arguments_are_named(unchecked):
    with pytest.raises(UserError, match=r"^kappa must be a finite number of at least 1, got 0\.5"):
        convergence.layers_needed(0.5, 1e-3)
    with pytest.raises(UserError, match=r"^error must be a number strictly between 0 and 1, got 2"):
        convergence.layers_needed(10, 2)
    with pytest.raises(UserError, match=r"^n must be at least d = 5 for a regression, got 3"):
        convergence.sampled_cosines(5, 3, 1, 0)
