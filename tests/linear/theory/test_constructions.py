from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.linear.models.predictors import GradientDescent
from attnlab.linear.models.transformer import (
    final_weights,
    implicit_weights,
    spectral_form,
    token_form,
)
from attnlab.linear.noise import Fixed
from attnlab.linear.problem import NoisyRegression, context_with_spectrum, sums
from attnlab.linear.theory import constructions
from attnlab.linear.theory.convergence import layers_needed
from attnlab.linear.training.fixed_sample import draw
from attnlab.stats import Estimate, agree, rate
from tests.linear.prompts import gram_matrix, prompt

pytestmark = pytest.mark.usefixtures("double_precision")


EPS = float(np.finfo(float).eps)
SIGMAS = (0.5, 1.0, 2.0)


def spectrum_prompt(seed, kappa, d=6, n=15):
    rng = np.random.default_rng(seed)
    s = jnp.asarray(np.geomspace(2.0 / kappa, 2.0, d))
    X = np.asarray(context_with_spectrum(jax.random.key(seed), s, n))
    y = X @ rng.standard_normal(d) + 0.1 * rng.standard_normal(n)
    return s, X, y


def gram(X, y):
    E = np.column_stack([X, y])
    return jnp.asarray(E.T @ E)


@pytest.mark.parametrize(("kappa", "error"), [(10, 1e-9), (1e6, 1e-3)])
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
    tokens = token_form(network, jnp.asarray(X), jnp.asarray(y), jnp.eye(6)).predictions[-1]
    w = final_weights(network, gram(X, y))
    scale = np.abs(tokens).max()
    assert np.abs(w - tokens).max() < 10 * kappa * EPS * scale


def test_the_last_step_leaves_the_error_of_lemma_a_2(seed):
    s, *_ = spectrum_prompt(seed, 1.3)
    _, f = _spectral(s, 1)
    kappa = float(s[-1] / s[0])
    np.testing.assert_allclose(np.abs(1 - f[-1]).max(), (kappa - 1) / (kappa + 1), rtol=1e-9)


def test_gradient_descent_is_a_gd_plus_plus_network(seed):
    G = jnp.asarray(gram_matrix(seed))
    network = constructions.gradient_descent_network(7, 0.05)
    np.testing.assert_allclose(
        final_weights(network, G), GradientDescent(7, 0.05).weights(G, 9), rtol=1e-11
    )


@lru_cache
def distances(seed, n, sigma, samples=400):
    """||w^2 - w_ridge|| in independent contexts, for the network of the first two SIGMAS."""
    network = constructions.two_level_network(*SIGMAS[:2], n)
    sample = draw(
        NoisyRegression(4, n, Fixed(sigma), variance=1 / n), jax.random.key(seed), samples
    )
    w = jax.vmap(partial(final_weights, network))(jnp.asarray(sample.G))
    return np.linalg.norm(np.asarray(w) - sample.oracle, axis=1)


def test_theorem_5_2_is_ridge_at_both_levels_at_the_rate_of_a_root(seed):
    sizes = [1600, 6400, 25_600]
    for sigma in SIGMAS[:2]:
        means = [Estimate.of(distances(seed, n, sigma)) for n in sizes]
        errors = [mean.standard_error for mean in means]
        found = rate(sizes, [mean.value for mean in means], errors)
        # The next order is n^-1/2 of the distance: a slope over a factor of 16 in n has .02 of it.
        slope = Estimate(found.slope, found.slope_error, 400)
        assert agree(slope, -0.5, slack=0.02).agrees, found


def test_theorem_5_2_fails_at_a_third_level(seed):
    for sigma in SIGMAS[:2]:
        shrinkage = constructions.two_level_shrinkage(*SIGMAS[:2], sigma)
        assert shrinkage == pytest.approx(1 / (1 + sigma**2))
    far = SIGMAS[2]
    wrong = constructions.two_level_shrinkage(*SIGMAS[:2], far) - 1 / (1 + far**2)
    # E ||w*||^2 = d (1 + sigma^2) in the limit, so the distance stays however long the context is.
    squares = Estimate.of(np.square(distances(seed, 25_600, far)))
    expected = wrong**2 * 4 * (1 + far**2)
    assert agree(squares, expected, slack=0.05 * expected).agrees
    assert squares.value > 10 * np.mean(np.square(distances(seed, 25_600, SIGMAS[0])))


def test_omega_yy_alone_rescales_the_labels(seed):
    X, y, *_ = map(np.asarray, prompt(seed))
    network = constructions.rescaling_network(-0.02, 0.1)
    first, second = np.asarray(implicit_weights(network, gram(X, y)))[1:]
    labels = y - 0.1 * X @ (X.T @ y)
    np.testing.assert_allclose(first, 0.1 * X.T @ y, rtol=1e-12)
    np.testing.assert_allclose(second, (1 - 0.02 * labels @ labels) * first, rtol=1e-12)


def test_step_adaptation_is_exact_as_corrected_and_first_order_wrong_as_printed(seed):
    G = jnp.asarray(gram_matrix(seed))
    omegas = np.array([-1e-1, -1e-2, -1e-3, -1e-4])
    gaps = []
    for omega in omegas:
        w = final_weights(constructions.step_adaptation_network(omega, -0.3), G)
        exact = constructions.step_adaptation_weights(omega, -0.3, G)
        np.testing.assert_allclose(w, exact, rtol=1e-12)
        printed = constructions.printed_step_adaptation_weights(omega, -0.3, G)
        gaps.append(float(np.linalg.norm(printed - w)))
    assert rate(-omegas, gaps).slope == pytest.approx(1, abs=1e-6)


def test_the_adapted_step_shrinks_as_the_noise_grows(seed):
    rng = np.random.default_rng(seed)
    X, w, xi = rng.standard_normal((50, 4)), rng.standard_normal(4), rng.standard_normal(50)
    xi -= X @ np.linalg.lstsq(X, xi)[0]  # then lambda = ||X w||^2 + sigma^2 ||xi||^2
    network, sizes = constructions.step_adaptation_network(-1e-3, -1e-2), []
    for sigma in (0.0, 2.0, 4.0):
        G = gram(X, X @ w + sigma * xi)
        alpha = np.asarray(sums(G).alpha)
        sizes.append(np.asarray(final_weights(network, G)) @ alpha / (alpha @ alpha))
    assert sizes[0] > sizes[1] > sizes[2]


def test_extremes_in_the_wrong_order_are_refused(unchecked):
    with pytest.raises(UserError, match=r"^smallest must be at most largest = 1, got 2\.$"):
        constructions.least_squares_network(2, 1, 3)
    with pytest.raises(UserError, match=r"^layers must be an integer of at least 1, got 0\.$"):
        constructions.least_squares_network(1, 2, 0)
