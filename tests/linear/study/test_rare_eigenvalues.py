import math

import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.linear.models.weights import GDPlusPlus
from attnlab.linear.noise import Fixed, Uniform
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.study import evaluation
from attnlab.linear.study.rare_eigenvalues import standard_errors

pytestmark = pytest.mark.usefixtures("double_precision")


def test_with_one_input_the_error_is_that_of_the_moments_of_chi_squared(seed):
    """d = 1: s is chi^2 of n degrees and 1 + omega s a polynomial, so no sum is left out."""
    n, count = 6, 10**8
    step = -np.random.default_rng(seed).uniform(0.02, 0.1)
    moments = [math.prod(n + 2 * i for i in range(k)) for k in range(5)]
    powers = [sum(math.comb(p, k) * step**k * moments[k] for k in range(p + 1)) for p in (2, 4)]
    expected = math.sqrt((0.75 * powers[1] - (powers[0] / 2) ** 2) / count)
    network = GDPlusPlus(jnp.zeros(1), jnp.array([step]))
    found = standard_errors(network, NoisyRegression(1, n, Fixed(0)), count)
    # Read before the first layer, w = 0: the variance of chi^2 with one degree, over 4.
    np.testing.assert_allclose(found, [math.sqrt(0.5 / count), expected], rtol=1e-5)


def test_eigenvalues_that_hardly_an_evaluation_contains_do_not_count():
    """A step that diverges far out: more sequences reach further, so the error falls slower."""
    network = GDPlusPlus(jnp.zeros(1), jnp.array([-1.0]))
    problem = NoisyRegression(1, 4, Fixed(0))
    few, many = (standard_errors(network, problem, count)[1] for count in (100, 10_000))
    assert few > many > few / 10


def test_only_gd_plus_plus_without_noise_is_given_the_error(monkeypatch):
    monkeypatch.setattr(evaluation, "standard_errors", lambda *_: np.array([7.0, 8.0]))
    network = GDPlusPlus(jnp.array([-0.01]), jnp.array([-0.05]))

    def errors(given, noise, levels):
        at = evaluation.Evaluation(NoisyRegression(3, 8, noise), 200, levels, 200, 0)
        return {
            (each.sigma, each.read): each.error
            for each in evaluation.of_network(given, at, profile=True)
        }

    silent = errors(network, Fixed(0), (0.0, 1.0))
    assert [silent[key] for key in [(None, 0), (None, 1), (0.0, 0), (0.0, 1)]] == [7, 8, 7, 8]
    assert max(silent[1.0, 0], silent[1.0, 1]) < 1
    assert errors(network, Uniform(2), ())[None, 1] < 1
    assert max(errors(network.omegas(), Fixed(0), ()).values()) < 1
