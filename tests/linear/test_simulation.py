import math
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.linear import simulation as loss
from attnlab.linear.models import predictors as predictors
from attnlab.linear.models.bayes import Bayes
from attnlab.linear.models.tuned_ridge import tune_ridge
from attnlab.linear.models.weights import GDPlusPlus
from attnlab.linear.noise import Categorical, Fixed, Uniform
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.theory.constructions import gradient_descent

pytestmark = pytest.mark.usefixtures("double_precision")


Z = 5.0
U5, TWO = NoisyRegression(noise=Uniform(5)), NoisyRegression(noise=Categorical((1, 3)))


def near(estimate, published, rounding=6e-5):
    """Within Z standard errors; the published digit and its own error of 200,000 sequences add."""
    error = math.hypot(estimate.standard_error, estimate.standard_error * math.sqrt(0.1))
    return abs(estimate.value - published) < Z * error + rounding


@pytest.mark.parametrize(
    ("problem", "const", "ada", "tuned", "bayes"),
    [
        (U5, 0.3614, (0.0684, 0.0701), 0.0496, 0.0388),
        (TWO, 0.2192, (0.0516, 0.0516), 0.0213, 0.0058),
    ],
    ids=["U(0,5)", "{1,3}"],
)
def test_the_baselines_have_their_known_losses(seed, problem, const, ada, tuned, bayes):
    key, fresh = jax.random.split(jax.random.key(seed))

    def measured(predictor):
        return loss.adjusted_loss(predictor, problem, key, 20_000)

    assert near(measured(predictors.ConstRidge.optimal(problem.noise)), const, 6e-4)
    adaptive = measured(predictors.AdaRidge())
    assert near(adaptive, np.clip(adaptive.value, *ada), 3e-4)
    # Tuning on 20,000 sequences costs less than a tenth of a standard error.
    assert near(measured(tune_ridge(problem, fresh)), tuned, 2e-4)
    floor = measured(Bayes(problem.noise))
    assert near(floor, bayes, 2e-4)
    assert floor.value < adaptive.value


def test_a_hundred_iterations_do_what_inverses_do(seed):
    key = jax.random.key(seed)
    exact, few, many = (
        loss.losses(predictor, U5, key, 20_000)
        for predictor in (
            predictors.AdaRidge(),
            predictors.IterativeAdaRidge(20),
            predictors.IterativeAdaRidge(100),
        )
    )
    assert abs(loss.estimate(many - exact).value) < 0.003
    assert loss.estimate(few - exact).value > 0.01


@pytest.mark.parametrize("predictor", [predictors.AdaRidge(), predictors.ConstRidge(8.0)])
def test_sampling_the_query_has_the_same_mean_and_a_larger_error(seed, predictor):
    key, other = jax.random.split(jax.random.key(seed))
    closed = loss.adjusted_loss(predictor, U5, key, 20_000)
    sampled = loss.sampled_query_loss(predictor, U5, other, 20_000)
    error = math.hypot(closed.standard_error, sampled.standard_error)
    assert abs(closed.value - sampled.value) < Z * error
    assert 2 < sampled.standard_error / closed.standard_error < 12


def test_unadjusted_minus_the_oracle_is_adjusted(seed):
    problem = NoisyRegression(4, 9, Fixed(1.5), variance=(0.5, 1.0, 2.0, 4.0))
    key = jax.random.key(seed)
    parts = [
        loss.losses(predictor, problem, key, 20_000, kind=kind)
        for predictor, kind in (
            (predictors.OLS(), "unadjusted"),
            (predictors.Ridge(1.5), "unadjusted"),
            (predictors.OLS(), "adjusted"),
        )
    ]
    gap = loss.estimate(parts[0] - parts[1] - parts[2])
    assert abs(gap.value) < Z * gap.standard_error
    sampled = loss.sampled_query_loss(predictors.OLS(), problem, key, 20_000)
    closed = loss.estimate(parts[2])
    assert abs(sampled.value - closed.value) < Z * math.hypot(
        sampled.standard_error, closed.standard_error
    )


def test_ada_ridge_is_perfect_without_noise_and_worse_as_it_grows(seed):
    profile = loss.loss_profile(predictors.AdaRidge(), U5, [0, 1, 2, 4], jax.random.key(seed), 5000)
    values = [estimate.value for estimate in profile]
    assert values[0] < 1e-20
    assert values == sorted(values)


def test_the_profile_of_the_true_sigma_is_zero(seed):
    oracle = predictors.Ridge(2.0)
    at, off = loss.loss_profile(oracle, U5, [2.0, 3.0], jax.random.key(seed), 2000)
    assert at.value < 1e-20
    assert off.value > 10 * off.standard_error


def test_neither_the_block_nor_its_remainder_changes_the_losses(seed):
    key = jax.random.key(seed)
    whole, parts = (
        loss.losses(predictors.AdaRidge(), U5, key, 300, block=block) for block in (8192, 128)
    )
    np.testing.assert_allclose(parts, whole, rtol=1e-9, atol=1e-12)


def test_every_layer_is_the_network_cut_there(seed):
    key, network = jax.random.key(seed), gradient_descent(3, 0.01)
    stages = loss.adjusted_loss_by_layer(network, U5, key, 500)
    for steps in (1, 3):
        cut = predictors.LinearTransformer(gradient_descent(steps, 0.01))
        assert stages[steps].value == pytest.approx(loss.adjusted_loss(cut, U5, key, 500).value)
    assert len(stages) == 4


def test_a_network_that_overflows_has_an_infinite_loss_and_no_nan(seed):
    huge = GDPlusPlus(jnp.full(9, 1e3), jnp.full(9, -1e3))
    found = loss.adjusted_loss(predictors.LinearTransformer(huge), U5, jax.random.key(seed), 50)
    assert (found.value, found.standard_error, found.samples) == (math.inf, math.inf, 50)


def test_single_precision_has_the_same_loss(seed):
    found = loss.adjusted_loss(
        predictors.ConstRidge.optimal(U5.noise), U5, jax.random.key(seed), 20_000, dtype="float32"
    )
    assert near(found, 0.3614, 6e-4)


@pytest.fixture
def compilations() -> Iterator[list[str]]:
    """The names of what XLA compiles from here on."""
    names = []

    def listen(name: str, *_, **__) -> None:
        if name == "/jax/core/compile/backend_compile_duration":
            names.append(name)

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield names
    jax.monitoring.unregister_event_duration_listener(listen)


def test_new_weights_a_new_key_and_a_new_sigma_compile_nothing(compilations):
    problem = NoisyRegression(3, 7, Uniform(1))
    counts = []
    for other in range(3):
        network = predictors.LinearTransformer(gradient_descent(2, 0.01 * (other + 1)))
        before = len(compilations)
        loss.loss_profile(network, problem, [0.5 + other], jax.random.key(other), 64)
        counts.append(len(compilations) - before)
    assert counts[0] > 0
    assert counts[1:] == [0, 0]


def test_wrong_arguments_are_named(unchecked):
    key = jax.random.key(0)
    with pytest.raises(UserError, match=r"^samples must be an integer of at least 1, got 0\.$"):
        loss.adjusted_loss(predictors.OLS(), U5, key, 0)
    with pytest.raises(UserError, match=r"^kind must be one of 'adjusted', 'unadjusted', 'sampled"):
        loss.losses(predictors.OLS(), U5, key, 5, kind="other")
    with pytest.raises(
        UserError, match=r"^sigmas must be a finite number of at least 0, got -1\.$"
    ):
        loss.loss_profile(predictors.OLS(), U5, [-1], key, 5)
    with pytest.raises(UserError, match=r"^n must be at least d \+ 1 = 11 for the noise estimate"):
        loss.adjusted_loss(predictors.AdaRidge(), NoisyRegression(10, 10), key, 5)
