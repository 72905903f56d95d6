import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.linear import simulation
from attnlab.linear.models import predictors
from attnlab.linear.models.bayes import Bayes
from attnlab.linear.models.network import Network
from attnlab.linear.models.tuned_ridge import RidgeSample, fit_tuned_ridge
from attnlab.linear.models.weights import GDPlusPlus
from attnlab.linear.noise import Categorical, Fixed, Uniform
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.simulation import loss, loss_by_layer, loss_profile, losses, prompt_losses
from attnlab.linear.theory.constructions import gradient_descent_network
from attnlab.linear.training.fixed_sample import draw
from attnlab.stats import Estimate, agree

pytestmark = pytest.mark.usefixtures("double_precision")


SAMPLES = 16_384
U5, TWO = NoisyRegression(noise=Uniform(5)), NoisyRegression(noise=Categorical((1, 3)))


def near(found, published, rounding):
    """Agreement with a number that 200,000 sequences gave, and that was rounded."""
    other = Estimate(published, found.standard_error * math.sqrt(SAMPLES / 200_000), 200_000)
    return agree(found, other, comparisons=10, slack=rounding).agrees


@pytest.mark.parametrize(
    ("problem", "const", "ada", "tuned", "bayes"),
    [
        (U5, 0.3614, (0.0684, 0.0701), 0.0496, 0.0388),
        (TWO, 0.2192, (0.0516, 0.0516), 0.0213, 0.0058),
    ],
    ids=["U(0,5)", "{1,3}"],
)
def test_the_baselines_have_their_known_losses(seed, problem, const, ada, tuned, bayes):
    def found(predictor):
        return loss(predictor, problem, SAMPLES, seed=seed)

    assert near(found(predictors.ConstRidge(jnp.array(problem.noise.second_moment()))), const, 6e-4)
    adaptive = found(predictors.AdaRidge())
    assert near(adaptive, np.clip(adaptive.value, *ada), 3e-4)
    # Tuning on 5,000 sequences costs much less than a standard error.
    other = draw(problem, jax.random.key(seed + 1), 5000)
    sample = RidgeSample.of(other.G, other.oracle, problem.n)
    best = fit_tuned_ridge(sample, problem.noise.second_moment())
    assert near(found(predictors.TunedRidge(jnp.array(best.m), jnp.array(best.t))), tuned, 2e-4)
    floor = found(Bayes(problem.noise))
    assert near(floor, bayes, 2e-4)
    assert floor.value < adaptive.value


def test_a_hundred_iterations_do_what_inverses_do(seed):
    key = jax.random.key(seed)
    exact, few, many = (
        losses(predictor, U5, key, 4096, block=4096)
        for predictor in (
            predictors.AdaRidge(),
            predictors.IterativeAdaRidge(20),
            predictors.IterativeAdaRidge(100),
        )
    )
    assert abs(Estimate.of(many - exact).value) < 0.003
    assert Estimate.of(few - exact).value > 0.01


OTHER = NoisyRegression(4, 9, Fixed(1.5), variance=(0.5, 1.0, 2.0, 4.0))
BLOCK = 512  # one size for all tests of this problem, so that its programs are shared


def values_of(predictor, seed, kind, samples=SAMPLES):
    return losses(predictor, OTHER, jax.random.key(seed), samples, kind=kind, block=BLOCK)


def test_sampling_the_query_has_the_same_mean_and_a_larger_standard_error(seed):
    predictor = predictors.ConstRidge(jnp.array(0.1))
    closed = Estimate.of(values_of(predictor, seed, "adjusted"))
    sampled = Estimate.of(values_of(predictor, seed + 1, "sampled query"))
    assert agree(closed, sampled).agrees
    assert 2 < sampled.standard_error / closed.standard_error < 12


def test_unadjusted_minus_the_oracle_is_adjusted(seed):
    ours, oracle, adjusted = (
        values_of(predictors.ConstRidge(jnp.array(penalty)), seed, kind)
        for penalty, kind in ((0.1, "unadjusted"), (2.25, "unadjusted"), (0.1, "adjusted"))
    )
    assert agree(Estimate.of(ours - oracle - adjusted), 0.0).agrees


def test_a_function_of_a_prompt_is_evaluated_as_a_predictor_on_sampled_queries(seed):
    predictor = predictors.ConstRidge(jnp.array(0.1))
    known = values_of(predictor, seed, "sampled query", 64)

    def found(function, kind="adjusted"):
        return prompt_losses(function, OTHER, jax.random.key(seed), 64, kind=kind, block=BLOCK)

    np.testing.assert_allclose(found(predictor.__call__), known, rtol=1e-8, atol=1e-10)

    def in_numpy(prompt):
        """The same in NumPy, which JAX cannot trace."""
        X, y = np.asarray(prompt.X), np.asarray(prompt.y)
        return prompt.query @ np.linalg.solve(X.T @ X + 0.1 * np.eye(4), X.T @ y)

    np.testing.assert_allclose(found(in_numpy), known, rtol=1e-8, atol=1e-8)
    assert (found(in_numpy, "unadjusted") >= 0).all()
    with pytest.raises(UserError, match=r"^predictor must answer a prompt with one number, got an"):
        found(lambda prompt: prompt.query)


def test_ada_ridge_is_exact_without_noise_and_worse_as_it_grows(seed):
    profile = loss_profile(predictors.AdaRidge(), U5, [0, 1, 2, 4], 5000, seed=seed)
    values = [estimate.value for estimate in profile]
    assert values[0] < 1e-20
    assert values == sorted(values)


def test_the_profile_of_the_true_sigma_is_zero(seed):
    oracle = predictors.ConstRidge(jnp.array(4.0))
    at, off = loss_profile(oracle, U5, [2.0, 3.0], 2000, seed=seed)
    assert at.value < 1e-20
    assert not agree(off, 0.0).agrees


def test_neither_the_block_nor_its_remainder_changes_the_losses(seed):
    key, predictor = jax.random.key(seed), predictors.ConstRidge(jnp.array(0.1))
    whole, parts = (losses(predictor, OTHER, key, 300, block=block) for block in (BLOCK, 128))
    np.testing.assert_allclose(parts, whole, rtol=1e-9, atol=1e-12)


def test_every_layer_is_the_network_cut_there(seed):
    network = gradient_descent_network(3, 0.01)
    stages = loss_by_layer(network, U5, 500, seed=seed)
    for steps in (1, 3):
        cut = Network(gradient_descent_network(steps, 0.01))
        assert stages[steps].value == pytest.approx(loss(cut, U5, 500, seed=seed).value)
    assert len(stages) == 4


def test_a_network_that_overflows_has_an_infinite_loss_and_no_nan(seed):
    huge = GDPlusPlus(np.full(3, 1e150), np.full(3, -1e150))
    found = loss(huge, U5, 50, seed=seed)
    assert (found.value, found.standard_error, found.samples) == (math.inf, math.inf, 50)


def test_single_precision_has_the_same_loss(seed):
    predictor = predictors.ConstRidge(jnp.array(25 / 3, "float32"))
    values = losses(predictor, U5, jax.random.key(seed), SAMPLES, dtype="float32")
    assert near(Estimate.of(values), 0.3614, 6e-4)


def test_new_weights_a_new_key_and_a_new_sigma_compile_nothing(compilations, monkeypatch):
    monkeypatch.setattr(simulation, "BLOCK", 64)
    problem = NoisyRegression(3, 7, Uniform(1))
    counts = []
    for other in range(3):
        network = gradient_descent_network(2, 0.01 * (other + 1))
        before = len(compilations)
        loss_profile(network, problem, [0.5 + other], 64, seed=other)
        counts.append(len(compilations) - before)
    assert counts[0] > 0
    assert counts[1:] == [0, 0]


def test_wrong_arguments_are_named(unchecked):
    with pytest.raises(UserError, match=r"^samples must be an integer of at least 1, got 0\.$"):
        loss(predictors.OLS(), U5, 0)
    with pytest.raises(UserError, match=r"^kind must be one of 'adjusted', 'unadjusted', 'sampled"):
        loss(predictors.OLS(), U5, 5, kind="other")
    with pytest.raises(UserError, match=r"^predictor must answer a prompt, got int\.$"):
        loss(3, U5)
    with pytest.raises(
        UserError, match=r"^sigmas must be a finite number of at least 0, got -1\.$"
    ):
        loss_profile(predictors.OLS(), U5, [-1], 5)
    with pytest.raises(UserError, match=r"^n must be at least d \+ 1 = 11 for the noise estimate"):
        loss(predictors.AdaRidge(), NoisyRegression(10, 10), 5)
