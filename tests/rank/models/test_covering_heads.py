"""The counterexample to Conjecture 8 does what its algorithm says, with heads of rank 1."""

import math

import numpy as np
import pytest

from attnlab.rank.models.covering_heads import CoveringHeads
from attnlab.rank.theory.covering_bound import covering_bounds
from attnlab.rank.theory.sphere_nets import covering_angle, sphere_net
from attnlab.stats import Estimate

NETS = [(2, 12), (3, 50)]


def prompts(seed, samples, N, d):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((samples, N, d)), rng.standard_normal((samples, d))
    return (part / np.linalg.norm(part, axis=-1, keepdims=True) for part in (X, y))


@pytest.mark.parametrize(("d", "directions"), NETS)
@pytest.mark.parametrize("N", [1, 2, 30])
def test_hardmax_heads_answer_the_neighbour_of_the_nearest_direction(d, directions, N, seed):
    net = sphere_net(d, directions)
    X, y = prompts(seed, 200, N, d)
    chosen = net[(y @ net.T).argmax(axis=1)]
    expected = X[np.arange(200), ((X - chosen[:, None]) ** 2).sum(axis=2).argmin(axis=1)]
    np.testing.assert_allclose(CoveringHeads(net)(X, y), expected, atol=1e-12)


@pytest.mark.parametrize("scale", [math.inf, 20.0])
@pytest.mark.parametrize(("d", "directions"), NETS)
def test_heads_whose_gate_is_0_add_nothing(d, directions, scale, seed):
    """All heads and all gates, written out, answer the same as the open ones alone."""
    X, y = prompts(seed, 50, 6, d)
    network = CoveringHeads(sphere_net(d, directions), scale, steepness=30.0)  # many gates are open

    def relu(x):
        return np.maximum(x, 0)

    for points, source, answer in zip(X, y, network(X, y), strict=True):
        t = network.steepness * ((network.net @ source).max() - network.net @ source)
        gates = relu(2 - t) - relu(1 - t)
        total = -np.ones(d)
        for b, gate in enumerate(gates):
            scores = points @ network.score_matrix(b) @ source
            if math.isinf(scale):
                z = points[scores.argmax()]
            else:
                weights = np.exp(scores - scores.max())
                z = weights @ points / weights.sum()
            total += relu(z + 1 + 2 * (gate - 1))
        np.testing.assert_allclose(answer, np.clip(total, -1, 1), atol=1e-9)


def test_every_score_matrix_has_rank_1():
    network = CoveringHeads(sphere_net(3, 40), 1000.0)
    for b in range(40):
        assert np.linalg.matrix_rank(network.score_matrix(b)) == 1


@pytest.mark.parametrize(("d", "directions"), NETS)
def test_a_large_scale_is_a_hardmax(d, directions, seed):
    X, y = prompts(seed, 200, 5, d)
    net = sphere_net(d, directions)
    apart = np.abs(CoveringHeads(net, 1e6)(X, y) - CoveringHeads(net)(X, y)).max(axis=1)
    assert np.mean(apart > 1e-3) < 0.05  # two scores within 1e-5 of each other are rare


@pytest.mark.parametrize("scale", [math.inf, 1000.0])
@pytest.mark.parametrize(("d", "directions"), [(2, 64), (3, 400)])
@pytest.mark.parametrize("N", [2, 10, 500])
def test_the_error_is_below_the_bound_at_every_number_of_points(d, directions, N, scale, seed):
    net = sphere_net(d, directions)
    X, y = prompts(seed, 500, N, d)
    nearest = X[np.arange(500), np.einsum("snd,sd->sn", X, y).argmax(axis=1)]
    found = Estimate.of(((CoveringHeads(net, scale)(X, y) - nearest) ** 2).sum(axis=1))
    (bound,) = covering_bounds(d, covering_angle(net), [N])
    assert found.value - 5 * found.standard_error <= bound + 0.01  # a finite c costs a little
