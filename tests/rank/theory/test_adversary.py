import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.rank.problem import Neighbours
from attnlab.rank.simulation import squared_error
from attnlab.rank.theory.adversary import random_adversary, train_adversary
from attnlab.rank.theory.constructions import numerical_rank
from attnlab.rank.theory.lower_bound import lower_bound

Z = 5.0  # four comparisons and 100 seeds: familywise below 1e-3
PAIR = Neighbours(4, 2, points="orthonormal")


@pytest.mark.parametrize(("heads", "scalar", "variant"), [(2, False, "B"), (4, True, "C")])
def test_a_trained_adversary_comes_near_the_bound_and_not_below(seed, heads, scalar, variant):
    key = jax.random.key(seed)
    trained = train_adversary(key, 4, 1, heads, scalar_values=scalar, steps=400, batch=64, width=16)
    found = squared_error(trained, PAIR, jax.random.key(seed + 1000), 20_000, chunk=5000)
    assert found.value > lower_bound(4, 1, heads, variant).value - Z * found.standard_error
    # An adversary that learns nothing would prove nothing: uniform attention has 1/2.
    assert found.value < 0.42
    assert trained.K.shape == (heads, 4, 1)
    assert all(numerical_rank(K) == 1 for K in trained.K)


@eqx.filter_jit
def built(key, scalar_values):
    return random_adversary(key, 4, 2, 3, scalar_values=scalar_values), PAIR.sample(key)


@eqx.filter_jit
def answer(heads, X, y):
    return heads.weights(X, y), heads(X, y)


def test_an_adversary_sees_the_points_through_its_keys_alone(seed):
    heads, (X, y, _) = built(jax.random.key(seed), False)
    weights, value = jax.tree.map(np.asarray, answer(heads, X, y))
    np.testing.assert_allclose(weights.sum(1), 1, rtol=1e-5)
    exchanged = answer(heads, X[::-1], y)
    np.testing.assert_allclose(weights[:, ::-1], exchanged[0], rtol=1e-4)
    np.testing.assert_allclose(value, exchanged[1], atol=1e-5)
    np.testing.assert_allclose(
        value, np.einsum("hde,he->d", np.asarray(heads.V), weights @ np.asarray(X)), atol=1e-5
    )
    # Moved along what K_1 does not see, head 1 answers as before and the others do not.
    kernel = np.linalg.svd(np.asarray(heads.K[0]).T)[2][-1]
    moved = np.asarray(answer(heads, np.asarray(X) + kernel.astype("float32"), y)[0])
    np.testing.assert_allclose(moved[0], weights[0], rtol=1e-3, atol=1e-5)
    assert np.abs(moved[1:] - weights[1:]).max() > 1e-4


def test_scalar_values_are_multiples_of_the_identity(seed):
    heads, (X, y, _) = built(jax.random.key(seed), True)
    weights, value = answer(heads, X, y)
    expected = np.asarray(heads.V) @ (np.asarray(weights) @ np.asarray(X))
    np.testing.assert_allclose(value, expected, atol=1e-5)
    assert float(heads.V.sum()) == pytest.approx(1, abs=1e-6)


def test_wrong_arguments_are_named(unchecked):
    key = jax.random.key(0)
    with pytest.raises(UserError, match=r"^r must be an integer from 1 to d = 4, got 5\.$"):
        random_adversary(key, 4, 5, 1)
    with pytest.raises(UserError, match=r"^heads must be an integer of at least 1, got 0\.$"):
        train_adversary(key, 4, 1, 0)
    with pytest.raises(
        UserError, match=r"^X must hold 2 points of dimension 4, got shape \(3, 4\)"
    ):
        built(key, False)[0](jnp.ones((3, 4)), jnp.ones(4))
