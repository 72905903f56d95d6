"""Counts of bits decide trials as sums in float64 do, and say where they cannot."""

import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.separation.models import KINDS, NETWORKS, RegressionNetwork, normalise
from attnlab.separation.problem import RegressionPair
from attnlab.separation.rademacher import generators, packed, random_words, unpacked
from attnlab.separation.simulation.regression_trials import RegressionTrials
from attnlab.separation.simulation.silent_neurons import cut_weights, silent_neurons


def drawn(trials, count, seed):
    data, signs = generators(seed, 2)
    return trials.problem.draw_levels(data, count), random_words(signs, count, *trials.shape)


def plain_scores(trials, levels, signs):
    """<f, y> in float64, network by network, from normalised weights."""
    u = levels.astype(np.float64) * trials.problem.unit
    data, y = (u, trials.problem.spiked(u)), 2.0 * unpacked(signs, trials.problem.n) - 1
    by_network = []
    for g, (kind, label) in enumerate(NETWORKS):
        own = y if trials.network.shared_signs else y[:, g]
        by_network.append((own @ normalise(data[label], kind)[..., None])[..., 0])
    return np.stack(by_network, axis=1)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("data", ["uniform", "two-level"])
@pytest.mark.parametrize("n", [5, 1000])
def test_scores_are_those_of_the_plain_sums(n, data, shared, seed):
    trials = RegressionTrials(
        RegressionPair(n, data, spike=n - 2), RegressionNetwork(6, shared_signs=shared)
    )
    levels, signs = drawn(trials, 20, seed)
    expected = plain_scores(trials, levels, signs)
    assert np.abs(expected).max() <= 1 + 1e-12
    # A weight has a relative error of at most (8 + log n) eps, and adding n of them n eps.
    bound = 5 * (n + 8 + np.log(n)) * 2.0**-53
    assert np.abs(trials.scores(levels, unpacked(signs, n)) - expected).max() <= bound


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("data", ["uniform", "two-level"])
@pytest.mark.parametrize(
    ("n", "tau"), [(2, 0.05), (5, 0.25), (60, 0.25), (200, 0.1), (1000, 0.25), (70, 0.98), (9, 2.0)]
)
def test_outcomes_are_those_of_the_plain_sums(n, tau, data, shared, seed):
    trials = RegressionTrials(
        RegressionPair(n, data, spike=n // 2), RegressionNetwork(4, tau, shared_signs=shared)
    )
    levels, signs = drawn(trials, 300, seed)
    fires = plain_scores(trials, levels, signs).max(axis=2) > tau + 1e-13
    expected = fires[:, 0] & ~fires[:, 1:].any(axis=1)
    np.testing.assert_array_equal(trials.outcomes(levels, signs), expected)


@pytest.mark.parametrize("data", ["uniform", "two-level"])
@pytest.mark.parametrize("n", [2, 3, 30, 1000])
def test_a_neuron_called_silent_is_silent(n, data, seed):
    """At thresholds all through its scores, where a count that promised too much would show."""
    trials = RegressionTrials(RegressionPair(n, data), RegressionNetwork(50))
    levels, signs = drawn(trials, 20, seed)
    linear_d1, softmax_d0, linear_d0 = plain_scores(trials, levels, signs)[:, 1:].swapaxes(0, 1)
    most = {"softmax": softmax_d0, "linear": np.maximum(linear_d0, linear_d1)}
    for tau in np.quantile(most["softmax"], np.linspace(0.5, 1, 21)) + 1e-9:
        silent = silent_neurons(trials.problem, max(float(tau), 1e-9), levels, signs)
        for kind in KINDS:
            scores = most[kind]
            assert not (silent[kind] & (scores > max(tau, 1e-9))).any()


@pytest.mark.parametrize("kind", ["softmax", "linear"])
@pytest.mark.parametrize("n", [2, 100, 10**6])
def test_weights_lie_where_they_are_said_to(n, kind, seed):
    problem = RegressionPair(n)
    ends = np.array([1.0, np.nextafter(np.float32(1.4), 0), 1.4], np.float32)
    levels = np.concatenate([ends, 1 + 0.4 * np.random.default_rng(seed).random(997)])
    levels = levels.astype(np.float32)[:, None]
    cut = cut_weights(problem, levels, kind)
    q = sum(2**k * (mask[0] & np.uint64(1)).astype(float) for k, mask in enumerate(cut.masks))
    weights = levels[:, 0].astype(np.float64)
    if kind == "softmax":
        weights = np.exp((weights - 1.4) * problem.unit)
    least = cut.low + cut.step * q
    assert (least <= weights).all()
    assert (weights <= least + cut.width).all()


@pytest.mark.parametrize(("n", "m"), [(1000, 1), (1000, 100), (2000, 7)])
def test_counts_decide_nearly_every_trial_of_figure_3(n, m, seed):
    trials = RegressionTrials(RegressionPair(n), RegressionNetwork(m))
    levels, signs = drawn(trials, 200, seed)
    _, decided = trials._counted(levels, signs)
    assert decided.mean() > 0.95


def test_exact_ties_of_two_level_data_do_not_fire():
    # 49 low and 50 high coordinates beside a low spike, whose levels add up to 120: 40 plus signs
    # at the low ones and 25 at the high ones score 30 / 120, which is tau.
    trials = RegressionTrials(RegressionPair(100, "two-level"), RegressionNetwork(1))
    plus = np.zeros((1, 1, 100), np.uint8)
    plus[..., :40] = plus[..., 50:75] = 1
    levels = trials.problem.draw_levels(np.random.default_rng(0))
    scores = trials.scores(levels, plus)
    linear_on_d0 = NETWORKS.index(("linear", 0))
    assert scores[0, linear_on_d0, 0] == pytest.approx(0.25, abs=1e-14)
    assert trials.outcomes(levels, packed(plus)).tolist() == [bool((scores[0, 1:3] <= 0.25).all())]


def test_signs_of_the_wrong_shape_are_refused():
    trials = RegressionTrials(RegressionPair(7), RegressionNetwork(5))
    levels = trials.problem.draw_levels(np.random.default_rng(0), 3)
    with pytest.raises(UserError) as refused:
        trials.outcomes(levels, np.ones((3, 5, 2), np.uint64))
    assert str(refused.value) == "signs must have shape (trials, 5, 1), got (3, 5, 2)."
