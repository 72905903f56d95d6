"""The bound for all N on the neighbour of a near direction, against samples and closed forms."""

import math

import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.rank.theory.covering_bound import (
    covering_bound_beyond,
    covering_bounds,
    swapped_distance,
)
from attnlab.stats import Estimate, agree

LEVEL = 1e-6  # of a comparison, for each of 100 seeds


@pytest.mark.parametrize("d", [2, 3, 8])
def test_two_points_are_exchanged_with_the_probability_of_the_angle(d):
    """x_1 - x_2 is uniform in direction, so that the error is E|x_1 - x_2|^2 theta / pi."""
    (found,) = covering_bounds(d, 0.05, [2])
    assert found == pytest.approx(2 * 0.05 / math.pi, rel=2e-3)


def test_on_the_circle_the_cost_of_an_exchange_is_an_integral_over_an_arc():
    """With f at -phi the points of [phi, phi + 2 theta] are nearer to k; at +phi, if phi < theta,
    those of [phi, 2 theta - phi]."""
    theta = 0.1
    phi = np.linspace(0.002, 2.5, 40)

    def arc(end, sign):
        def antiderivative(a):
            return 2 * a - 2 * np.sin(a + sign * phi)

        return np.where(end > phi, antiderivative(end) - antiderivative(phi), 0) / (4 * math.pi)

    exact = arc(phi + 2 * theta, 1) + arc(2 * theta - phi, -1)
    found = swapped_distance(2, theta, phi)
    np.testing.assert_allclose(found, exact, rtol=0.05, atol=1e-4)
    above = phi > theta  # there nothing jumps
    np.testing.assert_allclose(found[above], exact[above], rtol=1e-9)


@pytest.mark.parametrize("d", [2, 3, 5])
def test_the_cost_of_an_exchange_is_that_of_sampled_points(d, seed):
    rng, theta, phi = np.random.default_rng(seed), 0.6, 0.7
    x, f = (rng.standard_normal((100_000, d)) for _ in range(2))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    f[:, 0] = 0
    f *= math.sin(phi) / np.linalg.norm(f, axis=1, keepdims=True)
    f[:, 0] = math.cos(phi)
    k = np.zeros(d)
    k[:2] = math.cos(theta), math.sin(theta)
    swapped = (x[:, 0] <= f[:, 0]) & ((x - f) @ k >= 0)
    sampled = Estimate.of(((x - f) ** 2).sum(axis=1) * swapped)
    (found,) = swapped_distance(d, theta, np.array([phi]))
    assert agree(sampled, found, 3, level=LEVEL, slack=1e-3 * found).agrees


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("N", [3, 12, 200])
def test_the_neighbour_of_a_near_direction_is_within_the_bound(d, N, seed):
    rng, theta, samples = np.random.default_rng(seed), 0.3, 1000
    X = rng.standard_normal((samples, N, d))
    X /= np.linalg.norm(X, axis=2, keepdims=True)
    k = np.zeros(d)
    k[:2] = math.cos(theta), math.sin(theta)
    index = np.arange(samples)
    f, z = X[index, X[..., 0].argmax(axis=1)], X[index, (X @ k).argmax(axis=1)]
    sampled = Estimate.of(((z - f) ** 2).sum(axis=1))
    (bound,) = covering_bounds(d, theta, [N])
    assert sampled.value - 5 * sampled.standard_error <= bound
    assert bound <= covering_bound_beyond(d, theta, N) + 1e-12
    assert bound <= 8 * sampled.value + 10 * sampled.standard_error  # and it is no empty one


def test_for_many_points_only_the_angle_is_left():
    theta = 0.05
    for d in (2, 3):
        (found,) = covering_bounds(d, theta, [10**12])
        assert found == pytest.approx(4 * math.sin(theta) ** 2, rel=1e-3)
        beyond = [covering_bound_beyond(d, theta, 4**k) for k in range(1, 12)]
        assert beyond == sorted(beyond, reverse=True)


def test_the_largest_bound_falls_with_the_angle():
    largest = [max(covering_bounds(3, theta, range(2, 40))) for theta in (0.04, 0.02, 0.01)]
    assert largest[0] / largest[1] == pytest.approx(2, rel=0.1)
    assert largest[1] / largest[2] == pytest.approx(2, rel=0.1)


@pytest.mark.parametrize(("d", "theta"), [(1, 0.1), (2, 0.0), (2, 1.6)])
def test_bad_input_is_one_sentence(d, theta):
    with pytest.raises(UserError, match="must be"):
        covering_bounds(d, theta, [2])
