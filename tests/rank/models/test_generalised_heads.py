import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.rank.models.generalised_heads import random_generalised_heads
from attnlab.rank.problem import NeighbourPrompt, Neighbours
from tests.rank.quickly import filter_quickly

PAIR = Neighbours(4, 2, points="orthonormal")
EPS = 2.0**-23


@filter_quickly
def built(key, scalar_values):
    return random_generalised_heads(key, 4, 2, 3, scalar_values=scalar_values), PAIR.sample(key)


@filter_quickly
def answer(heads, prompt):
    return heads.weights(prompt), heads(prompt)


def test_generalised_heads_see_the_points_through_their_keys_alone(seed):
    heads, prompt = built(jax.random.key(seed), False)
    weights, value = map(np.asarray, answer(heads, prompt))
    X = np.asarray(prompt.X)
    np.testing.assert_allclose(weights.sum(1), 1, rtol=4 * EPS)
    # Scores are sums of some forty products of numbers of size about 10.
    exchanged = answer(heads, prompt._replace(X=X[::-1]))
    np.testing.assert_allclose(weights[:, ::-1], exchanged[0], rtol=40 * 100 * EPS)
    np.testing.assert_allclose(value, exchanged[1], atol=40 * 100 * EPS)
    np.testing.assert_allclose(
        value, np.einsum("hde,he->d", np.asarray(heads.V), weights @ X), atol=40 * EPS
    )
    # Moved along what K_1 does not see, head 1 answers as before and the others do not.
    kernel = np.linalg.svd(np.asarray(heads.K[0]).T)[2][-1].astype("float32")
    moved = np.asarray(answer(heads, prompt._replace(X=X + kernel))[0])
    np.testing.assert_allclose(moved[0], weights[0], rtol=1e-3, atol=1e-5)
    assert np.abs(moved[1:] - weights[1:]).max() > 1e-4


def test_scalar_values_are_multiples_of_the_identity(seed):
    heads, prompt = built(jax.random.key(seed), True)
    weights, value = map(np.asarray, answer(heads, prompt))
    expected = np.asarray(heads.V) @ (weights @ np.asarray(prompt.X))
    np.testing.assert_allclose(value, expected, atol=40 * EPS)
    assert float(np.asarray(heads.V).sum()) == pytest.approx(1, abs=1e-6)


def test_wrong_arguments_are_named(unchecked):
    key = jax.random.key(0)
    with pytest.raises(UserError, match=r"^r must be an integer from 1 to d = 4, got 5\.$"):
        random_generalised_heads(key, 4, 5, 1)
    three = NeighbourPrompt(jnp.ones((3, 4)), jnp.ones(4), jnp.ones(4))
    with pytest.raises(UserError, match=r"^X must hold 2 points of dimension 4, got shape \(3, 4"):
        built(key, False)[0](three)
