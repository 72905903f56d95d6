import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.linear.models.axis import AxisWeights, axis_of, on_axis
from attnlab.linear.models.transformer import final_weights
from attnlab.linear.models.weights import DiagWeights
from tests.linear.prompts import diag_weights, gram_matrix

pytestmark = pytest.mark.usefixtures("double_precision")


def axis_weights(seed: int, layers: int, axes: int = 1) -> AxisWeights:
    side = axes + 1
    rng = np.random.default_rng((seed, layers, axes))
    drawn = 0.1 * rng.standard_normal((2, layers, side**2 + 1))
    P, Q = ((part[:, :-1].reshape(layers, side, side), part[:, -1]) for part in drawn)
    return AxisWeights(*P, *Q)


@pytest.mark.parametrize(("d", "axes"), [(2, 1), (5, 2)])
def test_the_pattern_is_what_it_says(seed, d, axes):
    weights = axis_weights(seed, 2, axes)
    P = np.asarray(weights.full(d).P)[:, 0]
    expected = np.zeros((2, d + 1, d + 1))
    for layer in range(2):
        for i in range(axes, d):
            expected[layer, i, i] = weights.p_rest[layer]
        for row, i in enumerate((*range(axes), d)):
            for column, j in enumerate((*range(axes), d)):
                expected[layer, i, j] = weights.p[layer, row, column]
    np.testing.assert_array_equal(P, expected)
    assert weights.axes == axes


@pytest.mark.parametrize(("d", "axes"), [(2, 1), (5, 2)])
def test_it_answers_as_its_full_form_does(seed, d, axes):
    weights = axis_weights(seed, 2, axes)
    G = jnp.asarray(gram_matrix(seed, d))
    np.testing.assert_allclose(
        final_weights(weights, G), final_weights(weights.full(d), G), rtol=1e-10, atol=1e-14
    )


@pytest.mark.parametrize("axes", [1, 2])
def test_a_diagonal_network_uses_no_axis(seed, axes):
    diagonal = diag_weights(seed, 3, 1)
    ours = on_axis(diagonal, axes).full(4)
    jax.tree.map(np.testing.assert_array_equal, ours, diagonal.full(4))


@pytest.mark.parametrize("axes", [1, 2])
def test_it_is_read_back_from_its_full_form(seed, axes):
    weights = axis_weights(seed, 3, axes)
    jax.tree.map(np.testing.assert_array_equal, axis_of(weights.full(4), axes), weights)
    # One direction is a case of two.
    one = axis_weights(seed, 3)
    jax.tree.map(np.testing.assert_array_equal, axis_of(one.full(4), 2).full(4), one.full(4))


def test_a_network_of_another_family_is_not_read_as_one(seed):
    full = axis_weights(seed, 1, 2).full(4)
    with pytest.raises(UserError, match="must treat all inputs but the first 1 alike"):
        axis_of(full, 1)
    two = jax.tree.map(lambda part: jnp.concatenate([part, part], axis=1), full)
    with pytest.raises(UserError, match="must have one head, got 2"):
        axis_of(two, 2)


def test_balancing_changes_no_answer(seed):
    weights = axis_weights(seed, 2)
    uneven = AxisWeights(5 * weights.p, 5 * weights.p_rest, weights.q, weights.q_rest)
    G = jnp.asarray(gram_matrix(seed, 2))
    even = uneven.balanced()
    np.testing.assert_allclose(final_weights(even, G), final_weights(uneven, G), rtol=1e-9)
    squares = [
        np.square(block).sum((-2, -1)) + np.square(rest)
        for block, rest in ((even.p, even.p_rest), (even.q, even.q_rest))
    ]
    np.testing.assert_allclose(*squares, rtol=1e-12)
    nothing = jax.tree.map(jnp.zeros_like, weights)
    jax.tree.map(np.testing.assert_array_equal, nothing.balanced(), nothing)


@pytest.mark.usefixtures("unchecked")
def test_bad_shapes_are_named():
    with pytest.raises(UserError, match=r"^p and q must have shape \(layers, k \+ 1, k \+ 1\)"):
        AxisWeights(jnp.zeros((2, 2, 2)), jnp.zeros(3), jnp.zeros((2, 2, 2)), jnp.zeros(2))
    with pytest.raises(UserError, match=r"^weights must have one head, got 2\.$"):
        on_axis(DiagWeights(*jnp.zeros((4, 3, 2))))
