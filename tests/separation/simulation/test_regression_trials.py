"""Sums in float32 decide as sums in float64 do, and say where they cannot."""

import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.separation.models import NETWORKS, RegressionNetwork, normalise
from attnlab.separation.problem import RegressionPair
from attnlab.separation.rademacher import generators, random_bits
from attnlab.separation.simulation.regression_trials import (
    Buffers,
    RegressionTrials,
    float32_error,
)


def drawn(trials, count, seed):
    data, signs = generators(seed, 2)
    levels = trials.problem.draw_levels(data, count)
    return levels, random_bits(signs, count, int(np.prod(trials.shape))).reshape(
        count, *trials.shape
    )


def plain_scores(trials, levels, bits):
    """<f, y> in float64, network by network, from normalised weights."""
    u = levels.astype(np.float64) * trials.problem.unit
    data, y = (u, trials.problem.spiked(u)), 2.0 * bits - 1
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
    levels, bits = drawn(trials, 20, seed)
    expected = plain_scores(trials, levels, bits)
    assert np.abs(expected).max() <= 1 + 1e-12
    for dtype, bound in ((np.float32, float32_error(n)), (np.float64, 2.0**-29 * float32_error(n))):
        buffers = Buffers.of(25, trials.shape, dtype)  # larger than needed, as in a last block
        found = trials._scores(levels, bits, buffers)
        assert np.abs(found - expected).max() <= bound


def test_a_score_close_to_tau_is_decided_in_float64(seed):
    """tau lies between two neighbouring scores, nearer to both than float32 can tell."""
    pair = RegressionPair(60)
    first = RegressionTrials(pair, RegressionNetwork(4))
    levels, bits = drawn(first, 50, seed)
    scores = plain_scores(first, levels, bits)
    exact, rounded = (
        first._scores(levels, bits, Buffers.of(50, first.shape, dtype))
        for dtype in (np.float64, np.float32)
    )
    differs = np.argwhere((rounded != exact) & (exact > 0.05))
    for i, network, neuron in differs[:40]:
        between = (rounded[i, network, neuron] + exact[i, network, neuron]) / 2
        if abs(between - scores[i, network, neuron]) < 1e-12:
            continue  # the plain sum itself could land on either side
        tau = float(between)
        trials = RegressionTrials(pair, RegressionNetwork(4, tau=tau))
        top = scores[i].max(axis=1) > tau
        (found,) = trials.outcomes(levels[i : i + 1], bits[i : i + 1])
        assert found == (top[0] and not top[1:].any())
    assert len(differs) > 40


def test_exact_ties_of_two_level_data_do_not_fire():
    # 49 low and 50 high coordinates beside a low spike, whose levels add up to 120: 40 plus signs
    # at the low ones and 25 at the high ones score 30 / 120, which is tau.
    trials = RegressionTrials(RegressionPair(100, "two-level"), RegressionNetwork(1))
    plus = np.zeros((1, 1, 100), np.uint8)
    plus[..., :40] = plus[..., 50:75] = 1
    levels = trials.problem.draw_levels(np.random.default_rng(0))
    scores = trials._scores(levels, plus, Buffers.of(1, trials.shape, np.float64))
    linear_on_d0 = NETWORKS.index(("linear", 0))
    assert scores[0, linear_on_d0, 0] == pytest.approx(0.25, abs=1e-14)
    assert trials.outcomes(levels, plus).tolist() == [bool((scores[0, 1:3] <= 0.25).all())]


def test_bits_of_the_wrong_shape_are_refused():
    trials = RegressionTrials(RegressionPair(7), RegressionNetwork(5))
    levels = trials.problem.draw_levels(np.random.default_rng(0), 3)
    with pytest.raises(UserError) as refused:
        trials.outcomes(levels, np.ones((3, 5, 8), np.uint8))
    assert str(refused.value) == "bits must have shape (trials, 5, 7), got (3, 5, 8)."
