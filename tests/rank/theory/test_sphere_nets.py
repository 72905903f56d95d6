"""Nets of the sphere: covering angles and ties."""

import math

import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.rank.theory.sphere_nets import covering_angle, sphere_net, tie_probability


def uniform(seed, samples, d):
    y = np.random.default_rng(seed).standard_normal((samples, d))
    return y / np.linalg.norm(y, axis=1, keepdims=True)


def test_equal_angles_cover_half_of_their_distance():
    assert covering_angle(sphere_net(2, 10)) == pytest.approx(math.pi / 10)


def test_an_octahedron_covers_the_middles_of_its_faces():
    octahedron = np.concatenate([np.eye(3), -np.eye(3)])
    assert covering_angle(octahedron) == pytest.approx(math.acos(1 / math.sqrt(3)))


@pytest.mark.parametrize(("d", "points"), [(2, 16), (3, 60)])
def test_no_point_is_farther_from_a_net_than_its_covering_angle(d, points, seed):
    net = sphere_net(d, points)
    np.testing.assert_allclose(np.linalg.norm(net, axis=1), 1)
    angle = covering_angle(net)
    farthest = np.arccos((uniform(seed, 20_000, d) @ net.T).max(axis=1)).max()
    assert 0.8 * angle <= farthest <= angle + 1e-9


@pytest.mark.parametrize(("d", "points"), [(2, 16), (3, 60)])
def test_ties_are_no_more_frequent_than_their_bound(d, points, seed):
    net, margin = sphere_net(d, points), 0.01
    scores = np.sort(uniform(seed, 20_000, d) @ net.T, axis=1)
    tied = (scores[:, -1] - scores[:, -2] <= margin).mean()
    bound = tie_probability(net, margin)
    assert tied - 5 * math.sqrt(tied / 20_000) <= bound
    assert bound <= 30 * tied


@pytest.mark.parametrize(("d", "points"), [(4, 10), (2, 3)])
def test_bad_input_is_one_sentence(d, points):
    with pytest.raises(UserError, match="must be"):
        sphere_net(d, points)
