"""Datasets that linear attention cannot tell apart, and those of the paper, which it can."""

import warnings

import jax
import numpy as np
import pytest

from attnlab.separation.models import attention_output
from attnlab.separation.models.drawn_network import DrawnAttentionNetwork, draw_signs
from attnlab.separation.problem import AttentionPrompt, DefinitionWarning, SelfAttentionPair
from attnlab.separation.study import cells_hypothesis
from attnlab.separation.study.cells_hypothesis import (
    COLUMNS,
    TAU,
    EqualMoments,
    LinearOnSpikes,
    equal_moments,
    linear_on_spikes,
)


def inputs(d=4):
    return [np.outer(column, np.eye(d)[0]) for column in COLUMNS]


def network(kind, key, m, tau, X, V):
    return DrawnAttentionNetwork(kind, draw_signs(jax.random.key(key), m, len(X)), tau, X, V)


def test_linear_attention_is_the_same_for_all_weights_and_queries(seed):
    rng = np.random.Generator(np.random.Philox(seed))
    zero, one = inputs()
    for X, V in rng.normal(size=(20, 2, 4, 4)):
        for queries in ((zero, one), (zero, zero)):  # self-attention, and one cross-attention
            outputs = [
                attention_output(query, keys, keys, X, V, "linear")
                for query, keys in zip(queries, (zero, one), strict=True)
            ]
            np.testing.assert_allclose(outputs[0], outputs[1], rtol=1e-12)
            np.testing.assert_allclose(outputs[0], np.tile(62 / 12 * V[0], (3, 1)), rtol=1e-12)


@pytest.mark.parametrize("key", range(20))
def test_networks_with_softmax_attention_tell_them_apart(key):
    """With 15 neurons all but one of 2^15 networks do; those with linear attention never."""
    identity, m = np.eye(4), 15
    answers = {
        kind: [
            float(
                network(kind, key, m, TAU, identity, identity)(AttentionPrompt(A, A, np.int32(0)))
            )
            for A in inputs()
        ]
        for kind in ("softmax", "linear")
    }
    assert answers["softmax"][0] == 0 < answers["softmax"][1]
    assert answers["linear"][0] == answers["linear"][1]


def test_columns_with_other_moments_are_noticed(monkeypatch):
    monkeypatch.setattr(cells_hypothesis, "COLUMNS", ((1, 5, 6), (2, 3, 8)))
    row = equal_moments.run(EqualMoments())
    assert (row.sum_difference, row.square_difference) == (1, 15)
    assert row.linear_difference > 1e-3


def test_a_threshold_that_is_not_between_the_scores_fails(monkeypatch):
    monkeypatch.setattr(cells_hypothesis, "TAU", 5.5)
    assert equal_moments.run(EqualMoments()).failure == 1
    for tau in (0.005, 3.0):
        assert linear_on_spikes.run(LinearOnSpikes(tau=tau)).failure == 1


@pytest.mark.parametrize("key", range(10))
def test_linear_attention_separates_the_datasets_of_the_theorem(key):
    """The cell's scores are those of the full attention, and the network behaves as it says."""
    config = LinearOnSpikes()
    row = linear_on_spikes.run(config)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DefinitionWarning)
        pair = SelfAttentionPair(config.n, config.d)
    X, V = np.ones((22, 22)), np.zeros((22, 22))
    V[0, 0] = 1
    tops = [
        attention_output(pair.keys(label), pair.keys(label), pair.keys(label), X, V, "linear").max()
        for label in (0, 1)
    ]
    assert tops == pytest.approx([row.score_on_d0, row.score_on_d1], rel=1e-12)
    linear = network("linear", key, config.m, row.threshold, X, V)
    assert float(linear(pair.prompt(0))) == 0 < float(linear(pair.prompt(1)))
    assert row.failure == 0.5**15
