import math
from itertools import product

import numpy as np
import pytest

from attnlab import memory
from attnlab.errors import UserError
from attnlab.separation import theory
from attnlab.separation.models import (
    NETWORKS,
    TIE,
    RegressionNetwork,
    normalise,
    regression_width,
)
from attnlab.separation.problem import RegressionPair
from attnlab.separation.simulation import sign_sums
from attnlab.stats import clopper_pearson
from tests.separation.paper_sweeps import regression_sweeps


def brute_force(problem, tau):
    """q, r, e and the three p from all 2^n sign vectors."""
    Y = np.array(list(product((-1.0, 1.0), repeat=problem.n)))
    (u,) = problem.draw(np.random.default_rng(0))
    data = (u, problem.spiked(u))
    scores = []
    for kind, label in NETWORKS:
        u = np.exp(data[label]) if kind == "softmax" else data[label]
        scores.append(Y @ (u / u.sum()))
    fires = np.array(scores) > tau + TIE
    quiet = ~fires[1:].any(axis=0)
    return [event.mean() for event in (quiet, quiet & ~fires[0], *fires)]


@pytest.mark.parametrize("n", [2, 3, 5, 8, 12])
@pytest.mark.parametrize("high", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("tau", [0.25, 0.37, 0.9])
def test_the_two_level_law_equals_all_sign_vectors(n, high, tau):
    for spike in (0, n - 1):
        problem = RegressionPair(n, "two-level", high, spike)
        law = theory.neuron_law(problem, RegressionNetwork(3, tau))
        np.testing.assert_allclose(
            [law.q, law.r, law.fire, *law.exceed], brute_force(problem, tau), rtol=0, atol=1e-15
        )


def test_reference_values_at_n_100():
    network = RegressionNetwork(regression_width(100))
    half = theory.success(RegressionPair(100, "two-level"), network).value
    tenth = theory.success(RegressionPair(100, "two-level", 0.1), network).value
    assert half == pytest.approx(0.85, abs=5e-3)
    assert tenth == pytest.approx(0.78, abs=5e-3)


def test_ties_of_two_level_data_are_found():
    # n = 100, half high: the D0 levels add up to 50 + 70 = 120, and a quarter of it, 30, is the sum
    # of 40 plus and 10 minus signs at level 1 while those at level 1.4 cancel.
    law = theory.neuron_law(RegressionPair(100, "two-level"), RegressionNetwork(4))
    assert law.tied
    assert law.margin > 100 * TIE


def test_one_neuron_fires_half_the_time_because_the_spike_decides():
    for n in (4, 10, 100, 1000):
        problem = RegressionPair(n, "two-level")
        u1 = problem.spiked(problem.draw(np.random.default_rng(0)))[0]
        assert theory.spike_decides(u1, 0.25)
        law = theory.neuron_law(problem, RegressionNetwork(4))
        assert law.fire == pytest.approx(0.5, abs=1e-14)
        f = normalise(u1, "softmax")
        assert 2 * f.max() - 1 >= theory.lemma_4_2_softmax(n) - 1e-15 >= 0.25


def test_uniform_data_has_no_exact_law_and_is_sent_to_the_bounds():
    with pytest.raises(UserError) as refused:
        theory.success(RegressionPair(100), RegressionNetwork(4))
    assert str(refused.value) == (
        "data must be 'two-level' for the exact law, got 'uniform'; use success_bounds or the "
        "Monte Carlo instead."
    )


@pytest.mark.parametrize("high", [0.1, 0.5])
@pytest.mark.parametrize("n", [30, 100, 400, 1000])
def test_chernoff_lies_above_the_exact_two_level_law(n, high):
    problem = RegressionPair(n, "two-level", high)
    for tau in (0.1, 0.25, 0.6):
        exact = theory.neuron_law(problem, RegressionNetwork(1, tau)).exceed
        bound = theory.success_bounds(problem, RegressionNetwork(1, tau)).exceed
        assert (np.array(bound) >= np.array(exact) - 1e-15).all()


@pytest.mark.parametrize(("kind", "label"), NETWORKS[1:])
def test_chernoff_lies_above_the_sampled_frequency(kind, label, seed):
    # 3 networks x 2 thresholds; each lower limit is one-sided at 5e-7, familywise 3e-6.
    problem = RegressionPair(60)
    sums = sign_sums(problem, label, kind, 20_000, seed)
    column = NETWORKS[1:].index((kind, label))
    for tau in (0.15, 0.25):
        low, _ = clopper_pearson(int((sums > tau).sum()), 20_000, 1 - 1e-6)
        network = RegressionNetwork(1, tau)
        assert theory.success_bounds(problem, network, seed=seed).exceed[column] >= low


def test_chernoff_is_the_minimum_over_theta(seed):
    f = np.random.default_rng(seed).uniform(0, 1, (3, 40))
    f /= f.sum(axis=1, keepdims=True)
    bound = theory.chernoff(f, 0.3)
    theta = np.linspace(1, 400, 40_001)[:, None]
    for row, value in zip(f, bound, strict=True):
        log = np.log(np.cosh(theta * row)).sum(axis=1) - 0.3 * theta[:, 0]
        assert value == pytest.approx(math.exp(log.min()), rel=1e-4)
        assert value <= math.exp(log.min()) * (1 + 1e-12)


def test_chernoff_of_an_unreachable_threshold_vanishes():
    assert theory.chernoff(np.full((1, 10), 0.1), 1.01)[0] < 1e-3
    assert np.isfinite(theory.chernoff(np.full((1, 10), 0.1), 5.0)).all()


def test_success_lies_between_the_bounds_on_two_level_data():
    for name, points in regression_sweeps("two-level").items():
        for problem, network in points[:: 10 if name == "n" else 7]:
            lower, upper, _ = theory.success_bounds(problem, network)
            assert lower.value <= theory.success(problem, network).value <= upper.value + 1e-15
            assert lower.exact
            assert upper.value == 1 - 0.5**network.width


def test_bounds_on_uniform_data_carry_the_error_of_their_draws():
    lower, upper, _ = theory.success_bounds(RegressionPair(1000), RegressionNetwork(6), draws=8)
    assert lower.samples == 8
    assert 0 < lower.standard_error < 1e-3
    assert 0.97 < lower.value < upper.value == 1 - 0.5**6
    single = theory.success_bounds(RegressionPair(1000), RegressionNetwork(6), draws=1)
    assert single.lower.standard_error == math.inf


def test_bounds_refuse_a_threshold_the_spike_does_not_reach():
    with pytest.raises(UserError, match=r"^tau must lie below f_spike - .* got 0\.9999\.$"):
        theory.success_bounds(RegressionPair(10), RegressionNetwork(2, tau=0.9999))


def test_bad_arguments_of_the_bounds_are_named():
    with pytest.raises(UserError, match=r"^draws must be an integer of at least 1, got 0\.$"):
        theory.success_bounds(RegressionPair(100), RegressionNetwork(4), draws=0)
    with pytest.raises(UserError, match=r"^seed must be an integer of at least 0, got -1\.$"):
        theory.success_bounds(RegressionPair(100), RegressionNetwork(4), seed=-1)


def test_laws_and_bounds_that_no_machine_can_hold_are_refused(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 16e9)
    network = RegressionNetwork(4)
    with pytest.raises(UserError, match=r"^The states of the exact law need [\d,.]+ GB of memory"):
        theory.success(RegressionPair(10**7, "two-level"), network)
    with pytest.raises(UserError, match=r"^The logits of the bounds need [\d,.]+ GB of memory"):
        theory.success_bounds(RegressionPair(10**9), network)
