import math

import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.separation.models import (
    KINDS,
    AttentionNetwork,
    DrawnAttentionNetwork,
    DrawnRegressionNetwork,
    RegressionNetwork,
    exceeds,
    normalise,
    paper_width,
    regression_width,
)
from attnlab.separation.problem import CrossAttentionPair, RegressionPair, RegressionPrompt
from attnlab.separation.rademacher import generators, rademacher
from tests.separation.paper_sweeps import attention_sweeps, regression_sweeps

# A sum of a few hundred numbers of order one is exact to this.
ROUNDING = 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_a_drawn_attention_network_is_the_definition_written_out(kind, seed):
    pair, X, V = CrossAttentionPair(12, 6, spike_row=5), np.ones((6, 6)), np.eye(6)
    (rng,), tau = generators(seed, 1), 0.9 * math.sqrt(math.log(12))
    y = rademacher(rng, 8, 6)
    network = DrawnAttentionNetwork(kind, y, tau, X, V)
    for label in (0, 1):
        queries, keys, _ = pair.prompt(label)
        expected = 0.0
        for query in queries:
            u = np.array([query @ X @ key for key in keys])
            u = np.exp(u) if kind == "softmax" else u
            expected += np.maximum(y @ (u / u.sum() @ keys) - tau, 0.0).sum()
        assert float(network(pair.prompt(label))) == pytest.approx(expected, abs=ROUNDING)


@pytest.mark.parametrize("kind", KINDS)
def test_a_drawn_regression_network_is_the_definition_written_out(kind, seed):
    (rng,), problem = generators(seed, 1), RegressionPair(40)
    y = rademacher(rng, 5, 40)
    network = DrawnRegressionNetwork(kind, y, 0.2)
    for u in problem.draw(rng, 5):
        weights = np.exp(u) if kind == "softmax" else u
        expected = np.maximum(y @ (weights / weights.sum()) - 0.2, 0.0).sum()
        assert float(network(RegressionPrompt(u, 0))) == pytest.approx(expected, abs=ROUNDING)


def test_a_score_equal_to_tau_does_not_fire(seed):
    # 50 coordinates at 1 and 50 at 1.4, with 40 and 25 plus signs: (30 + 0) / 120 is 1/4, and the
    # order of the sum decides on which side of it float64 lands.
    u, y = np.repeat([1.0, 1.4], 50), np.repeat([1, -1, 1, -1], [40, 10, 25, 25])
    rng = np.random.Generator(np.random.Philox(seed))
    orders = [rng.permutation(100) for _ in range(200)]
    scores = np.array([normalise(u[o], "linear") @ y[o] for o in orders])
    np.testing.assert_allclose(scores, 0.25, rtol=1e-13)  # 100 roundings and more
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
