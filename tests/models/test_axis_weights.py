import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.models.axis_weights import AxisWeights, on_axis
from attnlab.models.linear_transformer import final_weights
from attnlab.models.linear_weights import DiagWeights
from attnlab.problems.noisy_regression import NoisyRegression
from linear_prompts import double_precision

__all__ = ["double_precision"]


def axis_weights(seed: int, layers: int) -> AxisWeights:
    drawn = 0.1 * jax.random.normal(jax.random.key(seed), (2, layers, 5))
    P, Q = ((part[:, :4].reshape(layers, 2, 2), part[:, 4]) for part in drawn)
    return AxisWeights(*P, *Q)


@pytest.mark.parametrize("d", [2, 5])
def test_the_pattern_is_what_it_says(seed, d):
    weights = axis_weights(seed, 2)
    P = np.asarray(weights.full(d).P)[:, 0]
    expected = np.zeros((2, d + 1, d + 1))
    for layer in range(2):
        for i in range(1, d):
            expected[layer, i, i] = weights.p_rest[layer]
        for row, i in enumerate((0, d)):
            for column, j in enumerate((0, d)):
                expected[layer, i, j] = weights.p[layer, row, column]
    np.testing.assert_array_equal(P, expected)


@pytest.mark.parametrize("d", [2, 5])
def test_it_answers_as_its_full_form_does(seed, d):
    weights = axis_weights(seed, 3)
    G = NoisyRegression(d, 9).sample_gram(jax.random.key(seed)).G / 9
    np.testing.assert_allclose(
        final_weights(weights, G), final_weights(weights.full(d), G), rtol=1e-10, atol=1e-14
    )


def test_a_diagonal_network_uses_no_axis(seed):
    parts = 0.1 * jax.random.normal(jax.random.key(seed), (4, 3, 1))
    diagonal = DiagWeights(*parts)
    for ours, known in zip(
        jax.tree.leaves(on_axis(diagonal).full(4)), jax.tree.leaves(diagonal.full(4)), strict=True
    ):
        np.testing.assert_array_equal(ours, known)


@pytest.mark.usefixtures("unchecked")
def test_bad_shapes_are_named():
    with pytest.raises(UserError, match=r"^p and q must have shape \(layers, 2, 2\), p_rest"):
        AxisWeights(jnp.zeros((2, 2, 2)), jnp.zeros(3), jnp.zeros((2, 2, 2)), jnp.zeros(2))
    with pytest.raises(UserError, match=r"^weights must have one head, got 2\.$"):
        on_axis(DiagWeights(*jnp.zeros((4, 3, 2))))
