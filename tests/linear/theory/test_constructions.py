import math
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.linear.models.predictors import GradientDescent, ridge_weights
from attnlab.linear.models.transformer import (
    final_weights,
    implicit_weights,
    spectral_form,
    token_form,
)
from attnlab.linear.noise import Fixed
from attnlab.linear.problem import NoisyRegression, context_with_spectrum, gram
from attnlab.linear.theory import constructions as constructions
from attnlab.linear.theory.convergence import layers_needed
from tests.linear.prompts import prompt

pytestmark = pytest.mark.usefixtures("double_precision")


EPS = float(np.finfo(float).eps)
SIGMAS = (0.5, 1.0, 2.0)


def spectrum_prompt(seed, kappa, d=6, n=15):
    keys = jax.random.split(jax.random.key(seed), 3)
    s = jnp.geomspace(2.0 / kappa, 2.0, d)
    X = context_with_spectrum(keys[0], s, n)
    y = X @ jax.random.normal(keys[1], (d,)) + 0.1 * jax.random.normal(keys[2], (n,))
    return s, X, y


@pytest.mark.parametrize(("kappa", "error"), [(10, 1e-3), (10, 1e-9), (1e3, 1e-3), (1e6, 1e-3)])
def test_theorem_5_1_reaches_its_error_in_its_layers_and_not_in_one_less(seed, kappa, error):
    s, X, y = spectrum_prompt(seed, kappa)
    # Labels that lie along the worst direction too: the bound is met there with equality.
    w_star = np.linalg.lstsq(X, y)[0]
    layers = layers_needed(kappa, error)
    for count in (layers - 1, layers):
        network = constructions.least_squares_network(float(s[0]), float(s[-1]), count)
        w = final_weights(network, gram(X, y))
        relative = np.linalg.norm(w - w_star) / np.linalg.norm(w_star)
        assert relative < (error if count == layers else 1) + 100 * kappa * EPS
    _, f = jax.tree.map(np.asarray, _spectral(s, layers - 1))
    assert np.abs(1 - f[-1]).max() > error


def _spectral(s, layers):
    network = constructions.least_squares_network(float(s[0]), float(s[-1]), layers)
    return spectral_form(network, s)


def test_the_forms_agree_to_the_conditioning_of_the_theorem_5_1_network(seed):
    kappa = 1e6
    s, X, y = spectrum_prompt(seed, kappa)
    network = constructions.least_squares_network(float(s[0]), float(s[-1]), 21)
    tokens = token_form(network, X, y, jnp.eye(6)).predictions[-1]
    w = implicit_weights(network, gram(X, y))[-1]
    scale = float(jnp.abs(tokens).max())
    assert float(jnp.abs(w - tokens).max()) < 10 * kappa * EPS * scale


def test_the_last_step_leaves_the_error_of_lemma_a_2(seed):
    s, *_ = spectrum_prompt(seed, 1.3)
    _, f = _spectral(s, 1)
    kappa = float(s[-1] / s[0])
    np.testing.assert_allclose(np.abs(1 - f[-1]).max(), (kappa - 1) / (kappa + 1), rtol=1e-9)


def test_gradient_descent_is_a_gd_plus_plus_network(seed):
    X, y, *_ = prompt(seed)
    G = gram(X, y)
    network = constructions.gradient_descent(7, 0.05)
    np.testing.assert_allclose(
        final_weights(network, G), GradientDescent(7, 0.05).weights(G, 9), rtol=1e-11
    )


@lru_cache
def rms_distances(seed, n, samples=400):
    """The root mean square of ||w^2 - w_ridge|| at SIGMAS, the network built for the first two."""
    problem = NoisyRegression(4, n, Fixed(0), variance=1 / n)
    network = constructions.two_level_network(*SIGMAS[:2], n)

    def one(key, sigma):
        G = problem.direct_gram(key, sigma=sigma).G
        return jnp.sum((final_weights(network, G) - ridge_weights(G, sigma**2)) ** 2)

    keys = jax.random.split(jax.random.key(seed), samples)
    squares = jax.jit(jax.vmap(jax.vmap(one, (0, None)), (None, 0)))(keys, jnp.array(SIGMAS))
    return np.sqrt(np.asarray(squares).mean(axis=1))


def test_theorem_5_2_is_ridge_at_both_levels_at_the_rate_of_a_root(seed):
    sizes = [400, 3200, 25_600]
    errors = np.array([rms_distances(seed, n)[:2] for n in sizes])
    # 400 sequences: each error is known to about 3%, the slopes to about .01.
    slopes = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    np.testing.assert_allclose(slopes, -0.5, atol=0.08)


def test_theorem_5_2_fails_at_a_third_level(seed):
    for sigma in SIGMAS[:2]:
        shrinkage = constructions.two_level_shrinkage(*SIGMAS[:2], sigma)
        assert shrinkage == pytest.approx(1 / (1 + sigma**2))
    far = SIGMAS[2]
    wrong = constructions.two_level_shrinkage(*SIGMAS[:2], far) - 1 / (1 + far**2)
    # ||w*|| is about sqrt(d (1 + sigma^2)), so the error stays there however long the context.
    expected = abs(wrong) * math.sqrt(4 * (1 + far**2))
    assert rms_distances(seed, 25_600)[2] == pytest.approx(expected, rel=0.2)


def test_omega_yy_alone_rescales_the_labels(seed):
    X, y, *_ = prompt(seed)
    G = gram(X, y)
    network = constructions.rescaling_network(-0.02, 0.1)
    first, second = implicit_weights(network, G)[1:]
    labels = y - 0.1 * X @ (X.T @ y)
    np.testing.assert_allclose(first, 0.1 * X.T @ y, rtol=1e-12)
    np.testing.assert_allclose(second, (1 - 0.02 * labels @ labels) * first, rtol=1e-12)


def test_step_adaptation_is_exact_as_corrected_and_first_order_wrong_as_printed(seed):
    X, y, *_ = prompt(seed)
    G = gram(X, y)
    omegas = np.array([-1e-1, -1e-2, -1e-3, -1e-4])
    gaps = []
    for omega in omegas:
        w = final_weights(constructions.step_adaptation_network(omega, -0.3), G)
        exact = constructions.step_adaptation_weights(omega, -0.3, G)
        np.testing.assert_allclose(w, exact, rtol=1e-12)
        printed = constructions.printed_step_adaptation_weights(omega, -0.3, G)
        gaps.append(float(jnp.linalg.norm(printed - w)))
    slope = np.polyfit(np.log(-omegas), np.log(gaps), 1)[0]
    assert slope == pytest.approx(1, abs=1e-6)


def test_the_adapted_step_shrinks_as_the_noise_grows(seed):
    key, network = jax.random.key(seed), constructions.step_adaptation_network(-1e-3, -1e-2)
    sizes = []
    for sigma in (0.0, 2.0, 4.0):
        G = NoisyRegression(4, 50, Fixed(sigma)).sample_gram(key).G
        sizes.append(
            float(jnp.vdot(final_weights(network, G), G[:-1, -1]) / (G[:-1, -1] @ G[:-1, -1]))
        )
    assert sizes[0] > sizes[1] > sizes[2]


def test_extremes_in_the_wrong_order_are_refused(unchecked):
    with pytest.raises(UserError, match=r"^smallest must be at most largest = 1, got 2\.$"):
        constructions.least_squares_network(2, 1, 3)
    with pytest.raises(UserError, match=r"^layers must be an integer of at least 1, got 0\.$"):
        constructions.least_squares_network(1, 2, 0)
