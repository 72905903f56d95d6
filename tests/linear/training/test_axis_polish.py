"""Levenberg-Marquardt of axis networks on a fixed sample."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.linear.models.axis import AxisWeights
from attnlab.linear.models.transformer import final_weights
from attnlab.linear.noise import Uniform
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.training import axis_polish
from attnlab.linear.training.axis_polish import AxisLeastSquares, polish
from attnlab.linear.training.fixed_sample import draw, draw_extremes, with_extremes
from attnlab.linear.training.levenberg_marquardt import LeastSquares, SearchLimits
from tests.linear.models.test_axis import axis_weights

pytestmark = pytest.mark.usefixtures("double_precision")

PROBLEM = NoisyRegression(3, 8, Uniform(2))


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(axis_polish, "BLOCK", 16)


def sample(seed, count=37):
    key = jax.random.key(seed)
    extremes = draw_extremes(PROBLEM, jax.random.fold_in(key, 1), 2, 64, 4)
    return with_extremes(draw(PROBLEM, key, count), extremes)


def losses(weights, drawn):
    w = jax.vmap(lambda G: final_weights(weights, G))(jnp.asarray(drawn.G))
    return np.square(np.asarray(w) - drawn.oracle).sum(1) / 2


def test_the_objective_is_the_weighted_mean_loss(seed, small_blocks):
    drawn, weights = sample(seed), axis_weights(seed, 2)
    ours = AxisLeastSquares(drawn)
    assert isinstance(ours, LeastSquares)
    expected = drawn.weight @ losses(weights, drawn)
    np.testing.assert_allclose(ours.objective(weights), expected, rtol=1e-9)
    np.testing.assert_allclose(ours.normal_equations(weights).objective, expected, rtol=1e-9)


def test_the_equations_are_those_of_the_whole_jacobian(seed, small_blocks):
    drawn, weights = sample(seed), axis_weights(seed, 2, axes=2)
    found = AxisLeastSquares(drawn).normal_equations(weights)

    def residuals(leaves):
        one = AxisWeights(*leaves)
        w = jax.vmap(lambda G: final_weights(one, G))(jnp.asarray(drawn.G))
        return (jnp.sqrt(drawn.weight)[:, None] * (w - drawn.oracle)).ravel()

    leaves = [jnp.asarray(leaf) for leaf in jax.tree.leaves(weights)]
    parts = jax.jacfwd(residuals)(leaves)
    J = np.concatenate([np.asarray(part).reshape(len(part), -1) for part in parts], axis=1)
    r = np.asarray(residuals(leaves))
    np.testing.assert_allclose(found.gradient, J.T @ r, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found.curvature, J.T @ J, rtol=1e-7, atol=1e-9)


def test_a_search_lowers_the_loss_of_the_extremes_with_the_rest(seed, small_blocks):
    drawn, weights = sample(seed), axis_weights(seed, 2)
    fit = polish(weights, drawn, SearchLimits(iterations=5))
    before, after = (drawn.weight @ losses(each, drawn) for each in (weights, fit.parameters))
    assert after < before
    np.testing.assert_allclose(fit.objective, after, rtol=1e-9)
