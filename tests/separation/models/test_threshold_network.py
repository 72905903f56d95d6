import math

import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.separation.models import (
    KINDS,
    AttentionNetwork,
    RegressionNetwork,
    attention_features,
    attention_network_output,
    exceeds,
    paper_width,
    regression_network_output,
    regression_weights,
    regression_width,
    threshold_sum,
)
from attnlab.separation.problem import CrossAttentionPair, RegressionPair, SelfAttentionPair
from attnlab.separation.rademacher import rademacher
from tests.separation.paper_sweeps import attention_sweeps, regression_sweeps


def signs_of(seed, *shape):
    return rademacher(np.random.Generator(np.random.Philox(seed)), shape)


@pytest.mark.parametrize("pair_type", [SelfAttentionPair, CrossAttentionPair])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("label", [0, 1])
def test_output_from_distinct_rows_equals_output_from_all_rows(pair_type, kind, label, seed):
    pair, network = pair_type(60, 8, spike_row=17), AttentionNetwork(30, X="ones")
    tau = pair.threshold(network.offset)
    full = attention_features(pair, network, label, kind, full=True)
    for y in signs_of(seed, 20, 30, 8):
        expected = threshold_sum(full.rows, y, tau)
        output = attention_network_output(pair, network, label, kind, y)
        assert output == pytest.approx(expected, rel=1e-10, abs=1e-12)
        assert (expected > 1e-12) == bool(exceeds(full.rows @ y.T, tau).any())


def test_regression_output_is_the_definition_written_out(seed):
    rng = np.random.Generator(np.random.Philox(seed))
    u0, u1 = RegressionPair(12).sample(rng)
    network, y = RegressionNetwork(6, tau=0.2), rademacher(rng, (6, 12))
    for u in (u0, u1):
        for kind in KINDS:
            weights = np.exp(u) if kind == "softmax" else u
            f = weights / weights.sum()
            expected = sum(max(float(f @ y_l) - 0.2, 0.0) for y_l in y)
            output = regression_network_output(u, network, kind, y)
            assert output == pytest.approx(expected, rel=1e-12, abs=1e-14)


def test_a_score_equal_to_tau_does_not_fire(seed):
    # 50 coordinates at 1 and 50 at 1.4, with 40 and 25 plus signs: (30 + 0) / 120 is 1/4, and the
    # order of the sum decides on which side of it float64 lands.
    u, y = np.repeat([1.0, 1.4], 50), np.repeat([1, -1, 1, -1], [40, 10, 25, 25])
    rng = np.random.Generator(np.random.Philox(seed))
    orders = [rng.permutation(100) for _ in range(200)]
    scores = np.array([regression_weights(u[o], "linear") @ y[o] for o in orders])
    np.testing.assert_allclose(scores, 0.25, rtol=1e-14)
    assert not exceeds(scores, 0.25).any()
    assert exceeds(scores + 1e-12, 0.25).all()


def test_the_papers_widths():
    assert [paper_width(n) for n in (200, 256, 1000)] == [15, 15, 15]
    assert paper_width(10**6, 1e-4) == math.ceil(math.log(10**10)) == 24
    assert [regression_width(n) for n in (100, 1000, 2000)] == [4, 6, 7]


@pytest.mark.parametrize("X", ["identity", "ones"])
def test_the_papers_sweeps_have_409_points_each(X):
    sizes = {name: len(points) for name, points in attention_sweeps(X).items()}
    assert sizes == {"n": 81, "d": 6, "m": 80, "a1": 81, "a0": 80, "c": 81}
    c_sweep = attention_sweeps(X)["c"]
    assert (c_sweep[0][0].c, c_sweep[-1][0].c) == (0.5, 0.9)
    assert {pair.b for pair, _ in c_sweep} == {0.2}
    assert all(
        abs(pair.b + pair.c - 1) < 1e-9 for pair, _ in attention_sweeps(X, keep_b=False)["c"]
    )
    assert {name: len(points) for name, points in regression_sweeps().items()} == {
        "n": 191,
        "m": 100,
    }


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: AttentionNetwork(0), "width must be an integer of at least 1, got 0."),
        (lambda: AttentionNetwork(True), "width must be an integer of at least 1, got True."),
        (lambda: AttentionNetwork(X="one"), "X must be one of 'identity', 'ones', got 'one'."),
        (lambda: AttentionNetwork(V="ones"), "V must be one of 'identity', got 'ones'."),
        (
            lambda: AttentionNetwork(offset=-0.1),
            "offset must be a finite number of at least 0, got -0.1.",
        ),
        (
            lambda: AttentionNetwork(X=np.ones((2, 3))),
            "X must be a square matrix, got an array of shape (2, 3).",
        ),
        (
            lambda: AttentionNetwork(X=np.ones((2, 2), np.float32)),
            "X must hold finite float64 numbers, got float32 entries.",
        ),
        (
            lambda: AttentionNetwork(V=np.full((2, 2), math.nan)),
            "V must hold finite float64 numbers, got float64 entries that are not all finite.",
        ),
        (
            lambda: AttentionNetwork(X=np.eye(5)).matrices(6),
            "X must have shape (6, 6) to match d, got (5, 5).",
        ),
        (lambda: RegressionNetwork(0), "width must be an integer of at least 1, got 0."),
        (lambda: RegressionNetwork(tau=0.0), "tau must be a finite number above 0, got 0.0."),
        (
            lambda: paper_width(200, 1.0),
            "delta must be a number strictly between 0 and 1, got 1.0.",
        ),
        (lambda: paper_width(0), "n must be an integer of at least 1, got 0."),
        (lambda: regression_width(2), "n must be an integer of at least 3, got 2."),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_a_bad_network_argument_is_named(build, sentence):
    with pytest.raises(UserError) as refused:
        build()
    assert str(refused.value) == sentence
