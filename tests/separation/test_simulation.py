import tracemalloc

import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.separation import simulation, theory
from attnlab.separation.models import (
    NETWORKS,
    AttentionNetwork,
    RegressionNetwork,
    attention_network_output,
    regression_network_output,
)
from attnlab.separation.problem import CrossAttentionPair, RegressionPair, SelfAttentionPair
from attnlab.separation.rademacher import rademacher
from attnlab.separation.simulation import (
    regression_indicators,
    success_indicators,
    success_indicators_full,
)
from attnlab.stats.binomial import agreement, clopper_pearson
from tests.separation.paper_sweeps import attention_sweeps


def count(estimate):
    return round(estimate.value * estimate.samples)


def agree(points, trials, seed):
    """Monte Carlo counts against exact probabilities, Bonferroni at familywise level 1e-6."""
    counts = [count(simulation.success(*point, trials=trials, seed=seed)) for point in points]
    return agreement(counts, trials, [theory.success(*point).value for point in points], 1e-6)


@pytest.mark.parametrize("shared", [True, False])
def test_monte_carlo_agrees_with_the_attention_law(shared, seed):
    points = [
        (pair_type(20 * (d - 2), d, spike_row=d), AttentionNetwork(15, X=X, shared_signs=shared))
        for pair_type in (SelfAttentionPair, CrossAttentionPair)
        for X in ("identity", "ones")
        for d in (4, 9, 22, 40)
    ]
    answer = agree(points, 1000, seed)
    assert answer.comparisons == 16
    assert answer.agrees, answer


def test_monte_carlo_agrees_with_the_law_along_a_sweep(seed):
    answer = agree(attention_sweeps()["c"][::8], 1000, seed)
    assert answer.comparisons == 11
    assert answer.agrees, answer


@pytest.mark.parametrize("shared", [True, False])
def test_monte_carlo_agrees_with_the_two_level_law(shared, seed):
    points = [
        (RegressionPair(n, "two-level", high), RegressionNetwork(m, shared_signs=shared))
        for n in (20, 100)
        for high in (0.1, 0.5)
        for m in (2, 12)
    ]
    answer = agree(points, 1000, seed)
    assert answer.comparisons == 8
    assert answer.agrees, answer


def test_a_wrong_law_would_be_noticed(seed):
    # The same test with .763 replaced by the value for independent signs, .593.
    point = (SelfAttentionPair(200, 22), AttentionNetwork())
    answer = agreement([count(simulation.success(*point, trials=2000, seed=seed))], 2000, [0.593])
    assert not answer.agrees


def test_uniform_regression_succeeds_about_as_often_as_the_reference(seed):
    # .88 has two digits: the count must agree with some probability in [.875, .885].
    estimate = simulation.success(RegressionPair(100), RegressionNetwork(4), trials=4000, seed=seed)
    low, high = clopper_pearson(count(estimate), 4000, 1 - 1e-6)
    assert low <= 0.885
    assert high >= 0.875


@pytest.mark.parametrize("pair_type", [SelfAttentionPair, CrossAttentionPair])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(("n", "d"), [(4, 6), (60, 8), (200, 22)])
def test_distinct_rows_succeed_exactly_when_all_rows_do(pair_type, shared, n, d, seed):
    rng = np.random.Generator(np.random.Philox(seed))
    groups = () if shared else (4,)
    signs = rademacher(rng, (300, *groups, 9, d))
    # No symmetry is needed here, so X and V are not exchangeable.
    X, V = np.eye(d) + 0.1 * rng.uniform(0, 1, (d, d)), np.eye(d) + 0.01 * rng.uniform(0, 1, (d, d))
    for network in (
        AttentionNetwork(9, X="ones", shared_signs=shared),
        AttentionNetwork(9, X=X, V=V, shared_signs=shared),
    ):
        pair = pair_type(n, d, spike_row=n // 2)
        np.testing.assert_array_equal(
            success_indicators(pair, network, signs), success_indicators_full(pair, network, signs)
        )


def test_indicators_are_the_signs_of_the_network_outputs(seed):
    rng = np.random.Generator(np.random.Philox(seed))
    pair, network = SelfAttentionPair(60, 8), AttentionNetwork(9)
    signs = rademacher(rng, (60, 9, 8))
    outputs = np.array(
        [[attention_network_output(pair, network, b, k, y) for k, b in NETWORKS] for y in signs]
    )
    expected = (outputs[:, 0] > 1e-12) & (outputs[:, 1:] <= 1e-12).all(axis=1)
    np.testing.assert_array_equal(success_indicators(pair, network, signs), expected)
    assert 0 < expected.sum() < 60


def test_regression_indicators_are_the_signs_of_the_network_outputs(seed):
    rng = np.random.Generator(np.random.Philox(seed))
    problem, network = RegressionPair(40), RegressionNetwork(5)
    data, signs = problem.sample(rng, 60), rademacher(rng, (60, 5, 40))
    outputs = np.array(
        [
            [regression_network_output(data[b][i], network, k, signs[i]) for k, b in NETWORKS]
            for i in range(60)
        ]
    )
    expected = (outputs[:, 0] > 1e-12) & (outputs[:, 1:] <= 1e-12).all(axis=1)
    np.testing.assert_array_equal(regression_indicators(data, network, signs), expected)
    apart = RegressionNetwork(5, shared_signs=False)
    repeated = np.repeat(signs[:, None], 4, axis=1)
    np.testing.assert_array_equal(regression_indicators(data, apart, repeated), expected)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("problem", [SelfAttentionPair(60, 8), RegressionPair(50)])
def test_the_block_size_changes_nothing(problem, shared, seed):
    network_type = AttentionNetwork if isinstance(problem, SelfAttentionPair) else RegressionNetwork
    network = network_type(5, shared_signs=shared)
    answers = {
        simulation.success(problem, network, trials=137, seed=seed, block=block)
        for block in (1, 5000, 70_000, 2**24)
    }
    assert len(answers) == 1


def test_memory_stays_bounded():
    tracemalloc.start()
    simulation.success(RegressionPair(2000), RegressionNetwork(100), trials=40)
    _, regression = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    simulation.success(SelfAttentionPair(2000, 1002), AttentionNetwork(100), trials=20)
    _, attention = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert max(regression, attention) < 200 * 2**20


def test_the_seed_fixes_the_answer_and_another_seed_changes_it():
    point = (SelfAttentionPair(60, 8), AttentionNetwork(5))
    first, again, other = (simulation.success(*point, trials=2000, seed=seed) for seed in (3, 3, 4))
    assert first == again
    assert first != other


def test_the_standard_error_is_the_binomial_one():
    estimate = simulation.success(SelfAttentionPair(60, 8), AttentionNetwork(5), trials=500)
    p = estimate.value
    assert estimate.standard_error == pytest.approx((p * (1 - p) / 500) ** 0.5)
    assert (estimate.samples, estimate.exact) == (500, False)
    certain = simulation.success(RegressionPair(2000), RegressionNetwork(40), trials=20)
    assert (certain.value, certain.standard_error) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"trials": 0}, "trials must be an integer of at least 1, got 0."),
        ({"trials": True}, "trials must be an integer of at least 1, got True."),
        ({"trials": 10.0}, "trials must be an integer of at least 1, got 10.0."),
        ({"seed": -1}, "seed must be an integer of at least 0, got -1."),
        ({"block": 0}, "block must be an integer of at least 1, got 0."),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_a_bad_monte_carlo_argument_is_named(arguments, sentence):
    with pytest.raises(UserError) as refused:
        simulation.success(SelfAttentionPair(60, 8), AttentionNetwork(5), **arguments)
    assert str(refused.value) == sentence


def test_signs_of_the_wrong_shape_are_refused():
    pair, signs = SelfAttentionPair(60, 8), np.ones((3, 5, 7), np.int8)
    with pytest.raises(UserError) as refused:
        success_indicators(pair, AttentionNetwork(5), signs)
    assert str(refused.value) == "signs must have shape (trials, 5, 8), got (3, 5, 7)."
    with pytest.raises(UserError, match=r"^signs must have shape \(trials, 4, 5, 8\), got"):
        success_indicators_full(pair, AttentionNetwork(5, shared_signs=False), signs)


def test_a_network_of_the_wrong_kind_is_refused_by_the_monte_carlo():
    with pytest.raises(UserError, match=r"^network must be an AttentionNetwork for attention"):
        simulation.success(SelfAttentionPair(60, 8), RegressionNetwork(4))


def test_sign_sums_are_symmetric_and_bounded(seed):
    sums = simulation.sign_sums(RegressionPair(30), 0, "linear", 5000, seed)
    assert np.abs(sums).max() <= 1
    assert agreement([int((sums > 0).sum())], 5000, [0.5]).agrees
    with pytest.raises(UserError, match=r"^label must be 0"):
        simulation.sign_sums(RegressionPair(30), 2, "linear", 10)
