"""Trained encoders with a hardmax in the place of their softmax, and what is claimed of them."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.rank.models.encoder_init import initialise
from attnlab.rank.study import grids
from attnlab.rank.study.cells import encoder, hardened
from attnlab.rank.study.compute_hardened import with_attention
from attnlab.rank.study.questions_encoder import EncoderRun
from attnlab.rank.study.questions_hardened import HardenedRun
from tests.rank.study import evidence
from tests.rank.study.changed_evidence import changed, entry

SMALL = {"d": 8, "N": 5, "rank": 8, "mlp": 16, "steps": 150, "batch": 64, "seeds": 2}


@pytest.fixture(scope="module")
def rows():
    return hardened.run(HardenedRun(**SMALL)).rows


def test_the_weights_are_those_of_the_encoder_with_the_same_fields(rows):
    """Other held-out prompts: the errors agree to what sampling leaves open."""
    for own, other in zip(rows, encoder.run(EncoderRun(**SMALL)).rows, strict=True):
        assert own.median_norm == pytest.approx(other.median_norm, rel=1e-4)
        assert own.test == pytest.approx(other.test, rel=0.1)


def test_answers_move_less_the_nearer_their_softmax_is_to_the_other(rows):
    for row in rows:
        # By the triangle inequality |sqrt(test) - sqrt(hard)| is at most sqrt(moved).
        assert abs(np.sqrt(row.test) - np.sqrt(row.hard)) <= np.sqrt(row.moved) + 1e-3
        assert 0 < row.moved_error < row.moved
        assert row.flat > 0


@pytest.fixture
def network(key):
    return initialise(EncoderRun(**SMALL).shape(), key)


@pytest.fixture
def key(seed):
    return jax.random.key(seed)


def test_large_scores_are_a_hardmax_and_none_equal_weights(network, key):
    x = jax.random.normal(jax.random.fold_in(key, 1), (8, 5, 3))
    sharp = with_attention(network, scale=1e6).columns(x)
    np.testing.assert_allclose(
        sharp, with_attention(network, scores="hardmax").columns(x), atol=1e-3
    )
    zeroed = with_attention(network, scale=0.0).columns(x)
    layer = network.blocks[0].attention
    blind = replace(layer, Q=0 * layer.Q, query_bias=jnp.zeros_like(layer.query_bias))
    plain = replace(network, blocks=(replace(network.blocks[0], attention=blind),)).columns(x)
    np.testing.assert_allclose(zeroed, plain, atol=1e-5)


def test_heads_that_are_not_stored_are_named():
    view = evidence.view("paper")
    (one, *others) = grids.hardened_heads("paper", 0)
    gone = {cell.key for cell in others}
    seen = replace(view, results={key: v for key, v in view.results.items() if key not in gone})
    found = entry("figure-2-norm", seen)
    assert (found.verdict, found.grade) == ("holds", "smaller setting")
    assert found.differs == "H = 1 of the statement's H = 1, 8, 64"
    assert one.config.shape().heads == 1


@pytest.mark.parametrize(("moved", "verdict"), [(0.1, "undecided at this scale"), (0.26, "fails")])
def test_one_network_that_moves_decides(moved, verdict):
    widest = evidence.view("paper"), "hardened", lambda c: c.width_multiplier == 64
    seen = changed(*widest, moved=moved)
    assert entry("figure-2-norm", seen).verdict == verdict


def test_a_seed_that_diverged_decides_nothing():
    fields = dict.fromkeys(("median_norm", "test", "hard", "moved", "moved_error", "flat"))
    seen = changed(evidence.view("paper"), "hardened", **fields)
    found = entry("figure-2-norm", seen)
    assert found.verdict == "undecided at this scale"
    assert "none" in found.measured
