import math
from dataclasses import replace
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.linear.models.transformer import spectral_form
from attnlab.linear.models.weights import GDPlusPlus
from attnlab.linear.noise import Fixed, Uniform
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.study import compute_noiseless, evaluation
from attnlab.linear.study.questions_noiseless import CUTS, FIRST, NoiselessEvaluations
from attnlab.linear.study.rare_eigenvalues import standard_errors
from attnlab.linear.theory.laws import frequent_eigenvalues
from attnlab.linear.training.families import SpectralLeastSquares, missing_share
from attnlab.stats import Estimate, agree

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


def test_the_share_that_a_network_misses_is_one_less_its_spectral_form(seed):
    rng = np.random.default_rng(seed)
    network = GDPlusPlus(*(-rng.uniform(0.01, 0.03, (2, 3))))
    s = rng.uniform(1, 40, 50)
    expected = 1 - spectral_form(network, jnp.asarray(s)).f[-1]
    np.testing.assert_allclose(missing_share(network, s), expected, atol=1e-12)


def test_evaluations_are_the_same_twice_and_other_parts_have_other_sequences(seed):
    config = NoiselessEvaluations(
        d=2, n=12, depth=FIRST, starts=2, sequences=400, evaluations=6, seed=seed
    )
    rows = compute_noiseless.evaluations(config).rows
    assert {(row.layers, row.rarest) for row in rows} == {(FIRST, cut) for cut in CUTS}
    assert compute_noiseless.evaluations(config).rows == rows
    other = compute_noiseless.evaluations(replace(config, part=1)).rows
    assert other[0].mean != rows[0].mean
    assert len(rows) == config.evaluations * len(CUTS)


def test_an_evaluation_has_the_mean_of_the_law(monkeypatch, seed):
    """One gradient step, whose loss has no heavy tail: 1/2 sum_i E (1 + omega s_i)^2."""
    config = NoiselessEvaluations(d=3, n=9, depth=1, sequences=500, evaluations=40, seed=seed)
    network = GDPlusPlus(np.zeros(1), np.array([-0.08]))
    grown = (SimpleNamespace(weights=network),) * FIRST
    monkeypatch.setattr(compute_noiseless, "_fitted", lambda *_: [grown] * len(CUTS))
    found = Estimate.of(row.mean for row in compute_noiseless.evaluations(config).rows[::2])
    s, r = frequent_eigenvalues(3, 9, 0.0)
    exact = SpectralLeastSquares(s, np.zeros_like(s), r).objective(network)
    assert agree(found, exact).agrees
