import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.linear.kernels.axis import answers, answers_and_jacobian, from_numbers, numbers, packed
from attnlab.linear.models.axis import AxisWeights
from attnlab.linear.models.transformer import final_weights
from tests.linear.kernels.cuda_on_host import needs_compiler
from tests.linear.prompts import difference, gram_matrix

pytestmark = pytest.mark.usefixtures("double_precision")


LAYERS, SEQUENCES = 2, 3  # one shape for all tests, so that its programs are shared


def population(seed: int, members: int, layers: int, axes: int) -> AxisWeights:
    rng = np.random.default_rng((seed, members, layers, axes))
    block, rest = (members, layers, axes + 1, axes + 1), (members, layers)
    parts = [0.2 * rng.standard_normal(shape) for shape in (block, rest, block, rest)]
    return jax.vmap(AxisWeights)(*map(jnp.asarray, parts))


def grams(seed: int, count: int = SEQUENCES):
    return jnp.asarray(np.stack([gram_matrix(100 * seed + i) for i in range(count)]))


def test_every_network_answers_every_sequence(seed):
    weights, G = population(seed, 2, LAYERS, 1), grams(seed)
    found = answers(weights, G)
    one = jax.tree.map(lambda leaf: leaf[1], weights)
    assert found.shape == (2, 4, SEQUENCES)
    np.testing.assert_allclose(found[1, :, 2], final_weights(one, G[2]), rtol=1e-10)


def test_the_jacobian_is_the_derivative(seed):
    weights = population(seed, 2, LAYERS, 1)
    G = jnp.stack([grams(seed), grams(seed + 1)])
    w, J = answers_and_jacobian(weights, G)
    theta, step = np.asarray(numbers(weights)), 1e-6
    assert J.shape == (2, theta.shape[1], 4, SEQUENCES)
    for k in (0, 9, 13):  # of p, p_rest and q
        ahead, behind = (
            np.asarray(answers(from_numbers(weights, jnp.asarray(moved)), G[1])[1])
            for moved in (
                theta + sign * step * (np.arange(theta.shape[1]) == k) for sign in (1, -1)
            )
        )
        # Third differences of a polynomial of entries near 1: error of the order of step^2.
        np.testing.assert_allclose(J[1, k], (ahead - behind) / (2 * step), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(w[0], answers(weights, G[0])[0], rtol=1e-12)


@needs_compiler
@pytest.mark.parametrize(("axes", "dtype", "close"), [(1, "float64", 1e-12), (2, "float32", 2e-4)])
def test_the_kernel_computes_the_same(seed, axes, dtype, close):
    weights, G = population(seed, 2, LAYERS, axes), grams(seed)
    given, sequences = jax.tree.map(lambda leaf: leaf.astype(dtype), (weights, G))
    found = answers(given, sequences, kernel=True)
    assert found.dtype == dtype
    assert difference(found, answers(weights, G)) < close
    own = jnp.stack([G, G[::-1]])
    w, J = answers_and_jacobian(given, own.astype(dtype), kernel=True)
    expected = answers_and_jacobian(weights, own)
    assert difference(w, expected[0]) < close
    assert difference(J, expected[1]) < close


def test_a_symmetric_matrix_is_packed_by_rows():
    G = jnp.asarray([[1.0, 2, 4], [2, 3, 5], [4, 5, 6]])
    np.testing.assert_array_equal(packed(G[None])[:, 0], [1, 2, 3, 4, 5, 6])


def test_numbers_are_all_of_a_network(seed):
    weights = population(seed, 2, 3, 2)
    again = from_numbers(weights, numbers(weights))
    jax.tree.map(np.testing.assert_array_equal, again, weights)
    assert numbers(weights).shape == (2, 3 * 20)
