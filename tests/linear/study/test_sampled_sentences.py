"""The cells of the adjusted loss and of the proofs: independent answers, and bad input."""

import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.linear.noise import Uniform
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.study import compute_appendix, compute_readings
from attnlab.linear.study.questions_appendix import Appendix
from attnlab.linear.study.questions_readings import Adjustment
from attnlab.linear.theory import laws
from attnlab.linear.theory.constructions import two_level_network
from attnlab.stats import normal_threshold


@pytest.fixture(scope="module")
def adjusted(seed):
    return list(compute_readings.adjustment(Adjustment(contexts=8000, seed=seed)).rows)


def test_the_best_constant_has_the_floor_of_gd_and_no_slope(adjusted, seed):
    """Ridge with the constant E sigma^2 = 25 / 3 is the best of its kind."""
    (best,) = [row for row in adjusted if row.predictor == "ridge" and 8 < row.parameter < 9]
    floor = laws.gd_plus_plus_floor(NoisyRegression(d=10, n=20, noise=Uniform(5))).value
    assert best.adjusted == pytest.approx(floor, rel=0.1)
    assert abs(best.slope) < 0.1 * best.slope_scale


def test_the_oracle_on_sampled_queries_has_the_loss_of_its_law(adjusted):
    oracle = laws.oracle_loss(NoisyRegression(d=10, n=20, noise=Uniform(5))).value
    assert adjusted[0].oracle == pytest.approx(oracle, rel=0.15)


def test_an_oracle_that_is_not_the_posterior_mean_would_be_noticed(seed):
    """With a quarter of the variance in ridge the cross term does not vanish."""
    rng = np.random.default_rng(seed)
    X, w = rng.standard_normal((4000, 20, 10)), rng.standard_normal((4000, 10))
    y = np.einsum("cnd,cd->cn", X, w) + 3 * rng.standard_normal((4000, 20))
    Sigma, alpha = X.transpose(0, 2, 1) @ X, np.einsum("cn,cnd->cd", y, X)
    wrong = np.linalg.solve(Sigma + 1.5**2 * np.eye(10), alpha[..., None])[..., 0]
    excess = np.square(0 - w).sum(1) - np.square(wrong - w).sum(1) - np.square(wrong).sum(1)
    mean, error = excess.mean() / 2, excess.std() / 2 / 4000**0.5
    assert abs(mean) > normal_threshold(12) * error


def test_the_signs_of_the_proof_are_those_of_the_network_of_theorem_5_2():
    network = two_level_network(0.5, 1.5, 20)
    for sigma in (0.5, 1.5):
        factor = (1 + 20 * sigma**2 * network.yy[1]) * network.yx[0]
        assert -factor == pytest.approx(1 / (1 + sigma**2))
    found = compute_appendix.appendix(Appendix(networks=3))
    assert found.first_weights < 1e-12
    assert found.first_weights_printed == pytest.approx(2)
    assert found.equations_printed == pytest.approx(2)


def test_the_state_of_random_networks_bends_along_a_ray_of_inputs():
    assert compute_appendix.appendix(Appendix(networks=3)).bend > 0.1


@pytest.mark.parametrize(
    ("config", "given", "sentence"),
    [
        (Appendix, {"sigma_1": 1.0, "sigma_2": 1.0}, "sigma_1 and sigma_2 must differ"),
        (Appendix, {"networks": 0}, "networks must be"),
        (Adjustment, {"sigma_max": 0.0}, "sigma_max must be"),
        (Adjustment, {"contexts": 1}, "contexts must be"),
    ],
)
def test_a_wrong_argument_is_refused_in_one_sentence_that_names_it(config, given, sentence):
    with pytest.raises(UserError, match=f"^{sentence}"):
        config(**given)
