"""What the explorers of trained networks show is what the networks and predictors compute."""

from __future__ import annotations

import numpy as np
import pytest

from attnlab import linear
from attnlab.errors import UserError
from attnlab.lab.cell import seed_of
from attnlab.linear.models.weights import FullWeights
from attnlab.linear.study.compute_explorers import network_of, noise_profile, one_context
from attnlab.linear.study.questions_explorers import LONGEST, NoiseProfile, OneContext


def value(rows, model, part, layer=0):
    found = [row for row in rows if (row.model, row.part, row.layer) == (model, part, layer)]
    return np.array([row.value for row in found], float)


@pytest.mark.parametrize("family", ["AXIS", "FULL", "DIAG", "GD++"])
def test_the_network_of_the_knobs_is_the_one_that_runs(family):
    config = OneContext(family=family, noise="uniform:5", depth=2, n=14, sigma=0.5)
    rows = one_context(config).rows
    weights = network_of(config).weights
    w = value(rows, "truth", "w")
    R = np.empty((11, 11))
    R[:-1, :-1] = value(rows, "network", "M", 2).reshape(10, 10)
    R[:-1, -1], R[-1, -1] = value(rows, "network", "u", 2), value(rows, "network", "a", 2)[0]
    R[-1, :-1] = -value(rows, "network", "w", 2)
    # The same context again, from its definition.
    seed = seed_of(config, without=("family", "noise", "depth", "n", "sigma"))
    rng = np.random.default_rng(seed)
    again, query = rng.standard_normal((2, 10))
    tokens = rng.standard_normal((LONGEST, 11))[:14]
    X, y = tokens[:, :-1], tokens[:, :-1] @ again + 0.5 * tokens[:, -1]
    np.testing.assert_array_equal(again, w)
    G = np.column_stack([X, y]).T @ np.column_stack([X, y])
    full = weights if isinstance(weights, FullWeights) else weights.full(10)
    product = np.eye(11)
    for P, Q in zip(full.P, full.Q, strict=True):
        T = np.eye(11) + sum(p @ G @ q for p, q in zip(P, Q, strict=True))
        product, G = T @ product, T @ G @ T.T
    np.testing.assert_allclose(R, product, rtol=1e-6, atol=1e-9)
    predicted = value(rows, "network", "prediction", 2)[0]
    np.testing.assert_allclose(predicted, -product[-1, :-1] @ query, rtol=1e-6)


def test_the_predictors_beside_it_are_those_of_the_library():
    config = OneContext(depth=1, n=15, sigma=2.0, noise="categorical:1,3")
    rows = one_context(config).rows
    query_free = {name: value(rows, name, "w") for name in ("OLS", "ridge", "Bayes")}
    assert all(np.isfinite(found).all() for found in query_free.values())
    longer = one_context(OneContext(depth=1, n=100, sigma=2.0, noise="categorical:1,3")).rows
    w = value(rows, "truth", "w")
    np.testing.assert_array_equal(value(longer, "truth", "w"), w)  # the same context, longer
    for name, short in query_free.items():
        assert np.linalg.norm(value(longer, name, "w") - w) < np.linalg.norm(short - w)
    few = one_context(OneContext(depth=1, n=5)).rows
    assert np.isnan(value(few, "OLS", "w")).all()
    assert np.isfinite(value(few, "Bayes", "w")).all()


def test_a_profile_agrees_with_the_loss_of_the_network():
    config = NoiseProfile(depth=2, points=2, largest=3.0, sequences=512)
    rows = {(row.model, row.sigma): row for row in noise_profile(config).rows}
    network = network_of(config)
    expected = linear.loss(network, network.problem, 4096, sigma=3.0)
    found = rows["AXIS", 3.0]
    error = np.hypot(found.standard_error, expected.standard_error)
    assert abs(found.loss - expected.value) < 5 * error
    assert rows["OLS", 0.0].loss == pytest.approx(0, abs=1e-12)
    assert rows["Bayes", 3.0].loss < rows["OLS", 3.0].loss


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"depth": 9}, "depth must be at most 7"),
        ({"n": LONGEST + 1}, "n must be at most"),
        ({"family": "RNN"}, "family must be one of"),
        ({"sigma": -1.0}, "sigma must be"),
    ],
)
def test_what_no_network_is_gets_a_sentence(wrong, sentence):
    with pytest.raises(UserError, match=sentence):
        OneContext(**wrong)


def test_an_unknown_law_gets_a_sentence():
    with pytest.raises(UserError, match="noise must be one of uniform:0"):
        one_context(OneContext(noise="uniform:99"))
