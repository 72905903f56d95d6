import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab.errors import UserError
from attnlab.maths.hermite import (
    ACTIVATIONS,
    hermite_polynomials,
    hermite_series,
    polynomial,
    scaled_constants,
)

PAGE = {
    "relu": (
        (0.39894, 0.5, 0.39894, 0, -0.39894, 0, 1.19683),
        (0.5838, 0.3014, 0.1061, 0.1061, 0.0681),
    ),
    "tanh": ((0, 0.60571, 0, -0.3636, 0, 0.68517), (0.6279, 0.1656, 0.1656, 0.0734, 0.0734)),
}


@pytest.mark.parametrize("name", PAGE)
def test_coefficients_and_residuals_are_the_known_ones(name):
    coefficients, residuals = PAGE[name]
    series = hermite_series(name, 6)
    np.testing.assert_allclose(series.coefficients[: len(coefficients)], coefficients, atol=5.1e-6)
    found = [series.residual(r) for r in range(5)]
    np.testing.assert_allclose(found, residuals, atol=5.1e-5)
    assert series.error < 1e-10


def test_relu_and_sign_have_their_closed_forms():
    root = math.sqrt(2 * math.pi)
    relu = hermite_series("relu", 4)
    np.testing.assert_allclose(
        relu.coefficients, [1 / root, 0.5, 1 / root, 0, -1 / root], atol=1e-12
    )
    assert relu.second_moment == pytest.approx(0.5, abs=1e-12)
    sign = hermite_series("sign", 3)
    np.testing.assert_allclose(sign.coefficients, [0, 2 / root, 0, -2 / root], atol=1e-12)
    # E erf(u)^2 = (2/pi) arcsin(2/3), the arc-sine law.
    erf = hermite_series("erf", 1)
    assert erf.second_moment == pytest.approx(2 / math.pi * math.asin(2 / 3), abs=1e-12)


def test_adaptive_quadrature_agrees_with_gauss_hermite_for_smooth_activations():
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    weights = weights / math.sqrt(2 * math.pi)
    for name in ("tanh", "erf", "gelu", "quadratic", "cubic"):
        values = ACTIVATIONS[name](nodes)
        expected = hermite_polynomials(nodes, 5) @ (weights * values)
        np.testing.assert_allclose(hermite_series(name, 5).coefficients, expected, atol=1e-7)


@given(st.lists(st.floats(-2, 2), min_size=1, max_size=6))
@settings(max_examples=20, deadline=None)
def test_a_polynomial_is_its_own_series(terms):
    series = hermite_series(polynomial(tuple(terms)), len(terms) - 1)
    back = series.monomials(len(terms) - 1)
    np.testing.assert_allclose(back, terms, atol=1e-9)
    assert series.residual(len(terms) - 1) <= 1e-5 * math.sqrt(series.second_moment + 1e-9)


@pytest.mark.parametrize("correlation", [-0.9, -0.3, 0.0, 0.5, 1.0])
def test_hermite_polynomials_of_correlated_normals_are_orthogonal(correlation):
    # E[He_i(a) He_j(b)] = [i = j] i! corr^i, by exact quadrature in two dimensions.
    nodes, weights = np.polynomial.hermite_e.hermegauss(20)
    weights = weights / math.sqrt(2 * math.pi)
    a, c = (grid.ravel() for grid in np.meshgrid(nodes, nodes, indexing="ij"))
    b = correlation * a + math.sqrt(1 - correlation**2) * c
    both = np.outer(weights, weights).ravel()
    found = hermite_polynomials(a, 6) * both @ hermite_polynomials(b, 6).T
    expected = np.diag([math.factorial(i) * correlation**i for i in range(7)])
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_hermite_products_of_samples_agree_with_the_identity(seed):
    # 5 comparisons at 6 standard errors.
    rng = np.random.Generator(np.random.Philox(seed))
    a = rng.standard_normal(40_000)
    b = 0.6 * a + 0.8 * rng.standard_normal(40_000)
    products = hermite_polynomials(a, 4) * hermite_polynomials(b, 4)
    expected = [math.factorial(i) * 0.6**i for i in range(5)]
    error = products.std(1) / math.sqrt(40_000) + 1e-12
    assert (np.abs(products.mean(1) - expected) < 6 * error).all()


def test_scaled_constants_are_those_of_the_scaled_function():
    s = np.array([0.2, 1.0, 1.7, 3.1])
    for name in ("relu", "tanh", "gelu", "sign"):
        found = scaled_constants(ACTIVATIONS[name], s)
        for i, scale in enumerate(s):
            root = math.sqrt(scale)
            series = hermite_series(lambda u, r=root, f=ACTIVATIONS[name]: f(r * u), 1)
            expected = (*series.coefficients, series.residual(1))
            np.testing.assert_allclose(found[:, i], expected, atol=1e-7)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: np.exp(x * x / 4), "finite second moment"),
        (lambda x: np.exp(x * x), "finite second moment|quadrature can compute"),
        (lambda x: 1 / x, "quadrature can compute|finite second moment|finite on the real line"),
        (lambda x: x * np.nan, "finite on the real line"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_activation_without_second_moment_is_refused(function, words):
    with pytest.raises(UserError, match=f"^activation must .*({words})"):
        hermite_series(function, 2)


def test_a_degree_beyond_the_series_is_refused():
    with pytest.raises(UserError, match=r"^degree must be at most 2, the degree of this series"):
        hermite_series("relu", 2).residual(3)
    with pytest.raises(UserError, match=r"^degree must be an integer of at least 0, got -1"):
        hermite_series("relu", -1)
