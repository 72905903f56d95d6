import tracemalloc

import numpy as np
import pytest

from attnlab import memory
from attnlab.errors import UserError
from attnlab.separation import theory
from attnlab.separation.models import AttentionNetwork, RegressionNetwork
from attnlab.separation.problem import CrossAttentionPair, RegressionPair, SelfAttentionPair
from attnlab.separation.simulation import simulate
from attnlab.separation.simulation.attention_trials import AttentionTrials
from attnlab.stats import agreement, clopper_pearson
from tests.separation.paper_sweeps import attention_sweeps


def count(estimate):
    return round(estimate.value * estimate.samples)


def agree(points, trials, seed):
    """Monte Carlo counts against exact probabilities, Bonferroni at familywise level 1e-6."""
    counts = [count(simulate(*point, trials=trials, seed=seed)) for point in points]
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


def test_monte_carlo_agrees_with_the_law_where_the_spikes_sit_in_different_rows(seed):
    points = [
        (SelfAttentionPair(200, 22, a0, zero_row=1), AttentionNetwork(15, X=X))
        for X, a0 in (("identity", 0.01), ("identity", 0.09), ("ones", 0.01), ("ones", 0.09))
    ]
    answer = agree(points, 1000, seed)
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
    answer = agreement([count(simulate(*point, trials=2000, seed=seed))], 2000, [0.593])
    assert not answer.agrees


def test_uniform_regression_succeeds_about_as_often_as_the_reference(seed):
    # .88 has two digits: the count must agree with some probability in [.875, .885].
    estimate = simulate(RegressionPair(100), RegressionNetwork(4), trials=4000, seed=seed)
    low, high = clopper_pearson(count(estimate), 4000, 1 - 1e-6)
    assert low <= 0.885
    assert high >= 0.875


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("problem", [SelfAttentionPair(60, 8), RegressionPair(50)])
def test_the_block_size_changes_nothing(problem, shared, seed):
    network_type = AttentionNetwork if isinstance(problem, SelfAttentionPair) else RegressionNetwork
    network = network_type(5, shared_signs=shared)
    answers = {
        simulate(problem, network, trials=137, seed=seed, block=block)
        for block in (1, 5000, 70_000, 2**24)
    }
    assert len(answers) == 1


def test_memory_stays_bounded():
    tracemalloc.start()
    simulate(RegressionPair(2000), RegressionNetwork(50), trials=20)
    _, regression = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    simulate(SelfAttentionPair(600, 302), AttentionNetwork(50), trials=60)
    _, attention = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # Two blocks at most: one is held while the next is drawn. All trials would take five times it.
    assert max(regression, attention) < 20 * 2**20


@pytest.mark.parametrize(
    ("problem", "network"),
    [
        (SelfAttentionPair(200, 22), AttentionNetwork(10**9)),
        (SelfAttentionPair(10**6, 10**6 + 2), AttentionNetwork()),
        (RegressionPair(10**11), RegressionNetwork()),
        (RegressionPair(1000), RegressionNetwork(10**9, shared_signs=False)),
    ],
)
def test_a_trial_that_no_machine_can_hold_is_refused(problem, network, monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 16e9)
    with pytest.raises(
        UserError, match=r"^The numbers of one trial need [\d,.]+ GB of memory, and"
    ):
        simulate(problem, network)


def test_the_seed_fixes_the_answer_and_another_seed_changes_it():
    point = (SelfAttentionPair(60, 8), AttentionNetwork(5))
    first, again, other = (simulate(*point, trials=2000, seed=seed) for seed in (3, 3, 4))
    assert first == again
    assert first != other


def test_the_standard_error_is_the_binomial_one():
    estimate = simulate(SelfAttentionPair(60, 8), AttentionNetwork(5), trials=500)
    p = estimate.value
    assert estimate.standard_error == pytest.approx((p * (1 - p) / 500) ** 0.5)
    assert (estimate.samples, estimate.exact) == (500, False)
    certain = simulate(RegressionPair(2000), RegressionNetwork(40), trials=20)
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
        simulate(SelfAttentionPair(60, 8), AttentionNetwork(5), **arguments)
    assert str(refused.value) == sentence


def test_signs_of_the_wrong_shape_are_refused():
    pair, signs = SelfAttentionPair(60, 8), np.ones((3, 5, 7), np.int8)
    with pytest.raises(UserError) as refused:
        AttentionTrials(pair, AttentionNetwork(5)).outcomes(signs)
    assert str(refused.value) == "signs must have shape (trials, 5, 8), got (3, 5, 7)."
    with pytest.raises(UserError, match=r"^signs must have shape \(trials, 4, 5, 8\), got"):
        AttentionTrials(pair, AttentionNetwork(5, shared_signs=False)).outcomes(signs)


def test_a_network_of_the_wrong_kind_is_refused_by_the_monte_carlo():
    with pytest.raises(UserError, match=r"^network must be an AttentionNetwork for attention"):
        simulate(SelfAttentionPair(60, 8), RegressionNetwork(4))
