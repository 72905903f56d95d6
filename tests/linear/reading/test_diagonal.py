"""FULL weights and the diagonal model in them: planted ones are found, random ones are refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.linear.models.weights import FullWeights
from attnlab.linear.reading.diagonal import diagonal_of, nearest_diagonal, nearest_gd_plus_plus
from tests.linear.prompts import diag_weights, full_weights

pytestmark = pytest.mark.usefixtures("double_precision")


D = 4


def entries(omegas):
    return np.stack([omegas.xx, omegas.xy, omegas.yx, omegas.yy])


def outside(seed, shape):
    """Matrices without a diagonal part: their x block has trace 0, their last entry is 0."""
    E = np.random.default_rng(seed).standard_normal(shape)
    d = shape[-1] - 1
    trace = np.trace(E[..., :d, :d], axis1=-2, axis2=-1) / d
    E[..., np.arange(d), np.arange(d)] -= trace[..., None]
    E[..., d, d] = 0
    return E


def rotated(weights, seed):
    O = np.linalg.qr(np.random.default_rng(seed).standard_normal((D, D)))[0]  # noqa: E741
    A = np.eye(D + 1)
    A[:D, :D] = O
    return FullWeights(
        *(jnp.asarray(A.T @ np.asarray(part) @ A) for part in vars(weights).values())
    )


def mixed(weights, seed):
    """The same layer by other heads: P'_k = sum_j A_kj P_j, Q' with the inverse transpose."""
    heads = weights.heads
    A = np.eye(heads) + 0.3 * np.random.default_rng(seed).standard_normal((heads, heads)) / heads
    P = jnp.einsum("kj,ljab->lkab", A, weights.P)
    return FullWeights(P, jnp.einsum("kj,ljab->lkab", np.linalg.inv(A).T, weights.Q))


@pytest.mark.parametrize("heads", [1, 3])
def test_a_diagonal_network_is_found_however_it_is_turned(seed, heads):
    planted = diag_weights(seed, 3, heads)
    for full in (planted.full(D), rotated(planted.full(D), seed), mixed(planted.full(D), seed)):
        found = nearest_diagonal(full)
        np.testing.assert_allclose(
            entries(found.weights.omegas()), entries(planted.omegas()), rtol=1e-11, atol=1e-15
        )
        assert found.verdict == "diagonal"


def test_a_planted_perturbation_has_its_planted_distance(seed):
    planted = diag_weights(seed, 3, 1)
    full = planted.full(D)
    sizes = np.array([0.1, 0.02, 0.5])
    parts = []
    for offset, part in enumerate((full.P, full.Q)):
        E = outside(seed + offset, part.shape)
        scale = sizes * np.sqrt(np.sum(part**2, (1, 2, 3)) / np.sum(E**2, (1, 2, 3)))
        parts.append(part + scale[:, None, None, None] * E)
    found = nearest_diagonal(FullWeights(*parts))
    np.testing.assert_allclose(
        entries(found.weights.omegas()), entries(planted.omegas()), rtol=1e-9
    )
    expected = sizes / np.sqrt(1 + sizes**2)
    np.testing.assert_allclose(found.P, expected, rtol=1e-9)
    np.testing.assert_allclose(found.Q, expected, rtol=1e-9)
    # ||P (x) Q||^2 is the product of the squared norms, 1 + size^2 each.
    np.testing.assert_allclose(found.layer, np.sqrt(1 - (1 + sizes**2) ** -2.0), rtol=1e-9)
    assert found.verdict == "mostly diagonal"


@pytest.mark.parametrize("heads", [1, 2])
def test_the_omegas_are_least_squares_of_the_layers_whole_map(seed, heads):
    """The oracle writes the map as a matrix and solves for the four patterns."""
    full = full_weights(seed, 2, heads)
    found = nearest_diagonal(full)
    x, y = np.diag([1.0] * D + [0.0]), np.diag([0.0] * D + [1.0])
    patterns = np.stack([np.kron(a, b).ravel() for a in (x, y) for b in (x, y)], axis=1)
    for layer in range(2):
        P, Q = np.asarray(full.P[layer]), np.asarray(full.Q[layer])
        whole = sum(np.kron(P[k], Q[k]) for k in range(heads)).ravel()
        omega = np.linalg.lstsq(patterns, whole)[0]
        np.testing.assert_allclose(entries(found.weights.omegas())[:, layer], omega, atol=1e-13)
        left = np.linalg.norm(whole - patterns @ omega) / np.linalg.norm(whole)
        np.testing.assert_allclose(found.layer[layer], left, rtol=1e-9)


def test_a_random_network_is_not_diagonal_and_turning_it_changes_nothing(seed):
    # Of the (d + 1)^4 directions of a layer four are diagonal: a random one has 1% of its squared
    # norm there and never half (probability below 1e-20 for a Gaussian matrix of this size).
    full = full_weights(seed, 3, 1)
    found, turned = nearest_diagonal(full), nearest_diagonal(rotated(full, seed))
    assert found.verdict == "not diagonal"
    np.testing.assert_allclose(turned.layer, found.layer, rtol=1e-9)
    np.testing.assert_allclose(
        entries(turned.weights.omegas()), entries(found.weights.omegas()), atol=1e-13
    )


def test_float32_weights_are_diagonal_to_their_own_rounding(seed):
    planted = jax.tree.map(lambda part: np.asarray(part, np.float32), diag_weights(seed, 3, 2))
    found = nearest_diagonal(planted.full(7))
    assert found.weights.p_x.dtype == jnp.float32
    assert found.verdict == "diagonal"


def test_a_layer_of_zeros_is_diagonal():
    zero = jnp.zeros((2, 1, D + 1, D + 1))
    assert nearest_diagonal(FullWeights(zero, zero)).verdict == "diagonal"


def test_the_nearest_gd_plus_plus_keeps_two_omegas(seed):
    omegas = diag_weights(seed, 3, 2).omegas()
    kept = nearest_gd_plus_plus(omegas)
    np.testing.assert_array_equal(kept.xx, omegas.xx)
    np.testing.assert_array_equal(kept.yx, omegas.yx)
    assert diagonal_of(omegas) is omegas


def test_a_mean_that_rare_sequences_rule_is_not_called_equally_good():
    from attnlab.linear.reading.algorithm import Replacement
    from attnlab.linear.reading.words import _worse
    from attnlab.stats import Estimate

    heavy = Replacement(Estimate(2e14, 2e14, 1000), Estimate(2e14, 2e14, 1000))
    assert _worse(heavy).startswith("lost on rare sequences")
    close = Replacement(Estimate(0.051, 0.001, 1000), Estimate(0.001, 0.001, 1000))
    assert _worse(close).startswith("equally good")
