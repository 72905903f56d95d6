"""Filters of known networks, fitted and exact."""

import jax
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.linear.models.predictors import ConstRidge, GradientDescent, LinearTransformer
from attnlab.linear.noise import Fixed
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.reading.contexts import answers, contexts
from attnlab.linear.reading.spectrum import exact_filter, fit_filter, ridge_filter
from attnlab.linear.theory import constructions

pytestmark = pytest.mark.usefixtures("double_precision")


PROBLEM = NoisyRegression(3, 8, Fixed(1))
SAMPLES = 256


def drawn(seed):
    return contexts(PROBLEM, jax.random.key(seed), SAMPLES, 1.0, float).G


def test_a_fit_finds_the_polynomial_of_gradient_descent(seed):
    G = drawn(seed)
    w = answers(GradientDescent(4, 0.02), PROBLEM.n, G)
    s = np.linspace(0, 25, 40)
    for degree in (4, 7):
        found = fit_filter(G, w, degree)
        np.testing.assert_allclose(found(s), 1 - (1 - 0.02 * s) ** 4, atol=1e-8)
        assert found.explained == pytest.approx(1, abs=1e-12)
    assert fit_filter(G, w, 3).explained < 1 - 1e-8  # one degree too few


def test_a_fit_comes_near_ridge_which_is_no_polynomial(seed):
    G = drawn(seed)
    found = fit_filter(G, answers(ConstRidge(4.0), PROBLEM.n, G))
    s = np.linspace(2, 15, 20)  # where most eigenvalues are
    np.testing.assert_allclose(found(s), ridge_filter(s, 2), atol=0.01)
    assert 0.999 < found.explained < 1 - 1e-12


def test_what_is_no_function_of_sigma_is_not_explained(seed):
    G = drawn(seed)
    w = np.random.default_rng(seed).standard_normal((SAMPLES, 3))
    # Eight coefficients on 768 numbers explain 8/768 of pure noise; .05 is 8 standard errors off.
    assert fit_filter(G, w).explained < 0.05


def test_the_exact_filter_is_that_of_the_network(seed):
    G = drawn(seed)
    network = constructions.least_squares_network(1.0, 40.0, 3)
    found = exact_filter(network, G)
    s, V = np.linalg.eigh(G[:, :-1, :-1])
    b = np.einsum("ka,kai->ki", G[:, :-1, -1], V)
    w = answers(LinearTransformer(network), PROBLEM.n, G)
    components = np.einsum("ka,kai->ki", w, V)
    expected = np.stack([found(row) for row in s[:20]]) * b[:20] / s[:20]
    np.testing.assert_allclose(components[:20], expected, rtol=1e-8, atol=1e-10)
    assert found.seen == (pytest.approx(s.min()), pytest.approx(s.max()))


def test_ridge_without_noise_is_least_squares():
    np.testing.assert_array_equal(ridge_filter(np.array([0.0, 2.0]), 0), [1, 1])
    np.testing.assert_allclose(ridge_filter(np.array([0.0, 2.0]), 2), [0, 1 / 3])


def test_answers_that_overflowed_have_no_filter(seed):
    G = drawn(seed)
    with pytest.raises(UserError, match=r"^w must hold finite numbers only, got NaN or infinity"):
        fit_filter(G, np.full((SAMPLES, 3), np.nan))
