import math

import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.maths import harmonics

DIMENSIONS = (3, 4, 5, 8, 64, 100)


def test_the_energies_in_dimension_64_are_the_known_ones():
    found = [harmonics.energy(64, degree) for degree in (1, 3, 5, 7)]
    np.testing.assert_allclose(found, [0.6416, 0.1084, 0.0494, 0.0297], atol=5e-5)


def test_on_the_sphere_of_three_dimensions_everything_is_elementary():
    assert [harmonics.dimension(3, degree) for degree in range(5)] == [1, 3, 5, 7, 9]
    assert harmonics.coefficient(3, 1) == pytest.approx(0.5)
    assert harmonics.coefficient(3, 3) == pytest.approx(-1 / 8)
    assert [harmonics.monomials(r, m) for r, m in ((2, 3), (3, 2), (1, 9), (0, 0))] == [4, 6, 1, 1]
    assert harmonics.monomials(2, -1) == harmonics.monomials(0, 1) == 0


@pytest.mark.parametrize("d", DIMENSIONS)
def test_rodrigues_formula_equals_the_quadrature(d):
    for degree in (1, 3, 9, 51, 301):
        quadrature = harmonics.energy_by_quadrature(d, degree)
        # The quadrature sums numbers of order one for eta = sqrt(energy).
        error = 1e-12 * math.sqrt(degree) * 2 * math.sqrt(quadrature) + 1e-24
        assert abs(harmonics.energy(d, degree) - quadrature) < error * 10


@pytest.mark.parametrize("d", DIMENSIONS)
def test_lambda_is_the_mean_of_sign_times_polynomial(d):
    for degree in (1, 3, 5, 7):
        nodes, weights = harmonics.half_quadrature(d, degree + 8)
        P = harmonics.gegenbauer(d, degree, nodes)[-1]
        np.testing.assert_allclose(weights @ P, harmonics.coefficient(d, degree), atol=1e-13)
        assert harmonics.coefficient(d, degree - 1) == harmonics.energy(d, degree - 1) == 0


@pytest.mark.parametrize("d", [3, 6, 64])
def test_gegenbauer_polynomials_are_orthogonal_with_norm_one_over_the_dimension(d):
    nodes, weights = harmonics.marginal_quadrature(d, 40)
    P = np.array(harmonics.gegenbauer(d, 12, nodes))
    expected = np.diag([1 / harmonics.dimension(d, degree) for degree in range(13)])
    np.testing.assert_allclose((P * weights) @ P.T, expected, atol=1e-13)
    assert harmonics.gegenbauer(d, 12, np.ones(1))[-1] == pytest.approx(1)
    assert len(harmonics.gegenbauer(d, 0, nodes)) == 1


def test_the_energies_sum_to_one_with_their_tail():
    for d in (3, 4, 8, 16):
        below = [401, 801, 1601, 3201]
        rest = np.array([1 - harmonics.odd_energies(d, L).sum() for L in below])
        law = np.array([harmonics.energy_tail(d, L) for L in below])
        # The next order is (d / L)^2 relative, and the sum loses 1e-13 or so to rounding.
        np.testing.assert_allclose(rest, law, rtol=(d / 401) ** 2 + 1e-9)
        slope = np.polyfit(np.log(np.array(below) + d / 2 - 2), np.log(rest), 1)[0]
        assert slope == pytest.approx(-1, abs=1e-3)


def test_high_degrees_in_high_dimension_stay_finite():
    energies = harmonics.odd_energies(512, 2001)
    assert np.isfinite(energies).all()
    assert (np.diff(energies) < 0).all()
    assert energies.sum() < 1


def test_wrong_arguments_are_named(unchecked):
    with pytest.raises(UserError, match=r"^d must be an integer of at least 2, got 1\.$"):
        harmonics.energy(1, 3)
    with pytest.raises(UserError, match=r"^degree must be an integer of at least 0, got -1\.$"):
        harmonics.dimension(4, -1)
