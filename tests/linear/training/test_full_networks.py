"""FULL by Adam: the loss, the fused path, tails, and a run that can be stopped anywhere."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.errors import Stopped
from attnlab.linear.kernels.cuda import compiled
from attnlab.linear.noise import Categorical, Uniform
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.training import full_loss
from attnlab.linear.training.full_loss import FullLoss, mean_loss
from attnlab.linear.training.full_networks import (
    FullRecipe,
    equal_members,
    evaluate,
    kept,
    loss_tail,
    start,
    train_full,
)
from attnlab.linear.training.recipes import RegressionLoss
from attnlab.training.checkpoint import CheckpointFile
from tests.linear.kernels.cuda_on_host import needs_compiler

PROBLEM = NoisyRegression(3, 8)
LAWS = (Uniform(2), Categorical((1.0, 3.0)))
RECIPE = FullRecipe(batch=32, learning_rate=1e-2)
SIZES = {"seeds": 2, "steps": 12, "held_out": 64, "chunk": 4}


def sequences(seed, count=16, side=4):
    tokens = np.random.default_rng(seed).standard_normal((count, 8, side)).astype(np.float32)
    G = np.einsum("bni,bnj->bij", tokens, tokens)
    return jnp.asarray(G), jnp.asarray(tokens[:, 0, : side - 1])


def same(one, other):
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(np.array_equal(np.asarray(a), np.asarray(b)) for a, b in pairs)


def test_a_run_that_was_stopped_continues_bit_for_bit(tmp_path):
    whole = train_full(PROBLEM, LAWS, 2, RECIPE, **SIZES)
    kept = CheckpointFile(tmp_path / "running.checkpoint", 1)
    with pytest.raises(Stopped):
        train_full(PROBLEM, LAWS, 2, RECIPE, **SIZES, checkpoint=kept, stop=lambda: True)
    continued = train_full(PROBLEM, LAWS, 2, RECIPE, **SIZES, checkpoint=kept)
    assert same(whole.params, continued.params)
    assert same(whole.best, continued.best)
    assert np.isfinite(whole.losses).all()


def test_over_queries_the_loss_at_one_has_the_loss_as_its_mean(seed):
    """The queries are sqrt(d) times every unit vector, which has the second moments of N(0, I)."""
    weights = jax.tree.map(lambda part: part[0], start(LAWS[:1], 1, 2, 3, 0.1))
    G, targets = sequences(seed)
    queries = np.sqrt(3) * np.tile(np.eye(3, dtype=np.float32), (len(G), 1))
    every = (jnp.repeat(part, 3, axis=0) for part in (G, targets))
    loss, gradient = full_loss.loss_at_queries(weights, *every, jnp.asarray(queries))
    expected, other = jax.value_and_grad(mean_loss)(weights, G, targets)
    np.testing.assert_allclose(loss, expected, rtol=1e-4)
    for one, two in zip(jax.tree.leaves(gradient), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-3, atol=1e-3 * np.abs(two).max())


def test_the_loss_at_a_query_is_that_of_labels(seed):
    """`RegressionLoss` of the label on the same sequences, one network at a time."""
    weights = jax.tree.map(lambda part: part[0], start(LAWS[:1], 1, 2, 3, 0.1))
    member = jax.tree.map(lambda part: part[0], equal_members(LAWS[:1], RECIPE, 1))
    losses = (FullLoss(PROBLEM, 32, query=True), RegressionLoss(PROBLEM, 32, "label"))
    one, other = (loss(weights, jax.random.key(seed), member) for loss in losses)
    np.testing.assert_allclose(one, other, rtol=1e-4)


def test_the_printed_recipe_keeps_the_last_weights_and_loses_what_diverges():
    printed = FullRecipe(batch=32, learning_rate=1e-2, clip=None, final=1.0, literal=True)
    trained = train_full(PROBLEM, LAWS, 2, printed, **SIZES)
    assert same(kept(trained, printed), trained.params)
    assert not same(trained.params, trained.best)
    assert same(kept(trained, RECIPE), trained.best)
    # Weights that overflow at once: no update of theirs is finite.
    begin = start(LAWS, 2, 2, 3, 0.003)
    begin = jax.tree.map(lambda part: part.at[1].set(1e30), begin)
    weights = kept(train_full(PROBLEM, LAWS, 2, printed, **SIZES, begin=begin), printed)
    assert [bool(np.isfinite(part).all()) for part in weights.P] == [True, False, True, True]
    assert np.isnan(weights.Q[1]).all()
    losses = evaluate(jax.tree.map(np.asarray, weights), PROBLEM, LAWS[0], 64)
    assert [tail.diverged for tail in losses] == [False, True, False, False]


def test_a_member_does_not_depend_on_the_laws_that_are_trained_with_it():
    both = start(LAWS, 2, 2, 3, 0.003)
    alone = start(LAWS[1:], 2, 2, 3, 0.003)
    assert same(jax.tree.map(lambda part: part[2:], both), alone)


@needs_compiler
def test_the_fused_kernel_trains_the_same_networks(monkeypatch):
    monkeypatch.setattr(full_loss.gram_native, "serves", lambda *given: False)
    jax.clear_caches()
    plain = train_full(PROBLEM, LAWS, 2, RECIPE, **SIZES)
    monkeypatch.setattr(compiled, "available", lambda: True)
    used = []
    kernel = full_loss.gram_cuda.loss_and_gradient
    monkeypatch.setattr(
        full_loss.gram_cuda,
        "loss_and_gradient",
        lambda *given: used.append(1) or kernel(*given),
    )
    # Another batch size compiles anew.
    other = FullRecipe(batch=32, learning_rate=1e-2)
    jax.clear_caches()
    fused = train_full(PROBLEM, LAWS, 2, other, **SIZES)
    jax.clear_caches()
    assert used
    # Adam divides by the gradient's own size, so that rounding shows where an entry is near 0.
    assert np.abs(np.asarray(plain.params.P) - np.asarray(fused.params.P)).max() < 1e-3
    assert np.allclose(plain.losses, fused.losses, rtol=1e-4)


def test_an_overflow_counts_as_a_large_loss_and_has_no_gradient():
    G, targets = sequences(0)
    weights = jax.tree.map(lambda part: 1e30 + part[0], start(LAWS, 1, 2, 3, 0.1))
    loss, gradient = jax.value_and_grad(mean_loss)(weights, G, targets)
    assert loss == np.float32(full_loss.OVERFLOW)
    assert not np.isfinite(np.asarray(gradient.P)).any()


def test_the_tail_of_a_loss_is_told():
    losses = np.ones(4000)
    plain = loss_tail(losses)
    assert (plain.loss, plain.body, plain.largest, plain.diverged) == (1.0, 1.0, 1.0, False)
    assert plain.share == pytest.approx(1e-3)
    losses[7] = 1e200
    heavy = loss_tail(losses)
    assert (heavy.body, heavy.share) == (1.0, 1.0)
    assert heavy.standard_error == pytest.approx(heavy.loss)
    losses[8] = np.nan
    lost = loss_tail(losses)
    assert (lost.diverged, lost.body, lost.record()["loss"]) == (True, 1.0, None)


def test_zero_weights_have_the_loss_of_answering_zero():
    zero = jax.tree.map(jnp.zeros_like, start(LAWS[:1], 1, 1, 3, 1.0))
    (found,) = evaluate(zero, PROBLEM, Uniform(0), 4096)
    # Without noise the oracle is w, and 1/2 E |w|^2 = d / 2.
    assert abs(found.loss - 1.5) < 5 * found.standard_error < 0.2
