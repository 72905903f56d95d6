"""Depth growth of FULL: a new layer changes nearly nothing, and every depth builds on the last."""

import jax
import numpy as np

from attnlab.linear.models.transformer import final_weights
from attnlab.linear.noise import Categorical, Uniform
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.training.full_growth import grow_full, with_new_layer
from attnlab.linear.training.full_networks import FullRecipe, train_full

PROBLEM = NoisyRegression(3, 8)
LAWS = (Uniform(2), Categorical((1.0, 3.0)))
RECIPE = FullRecipe(scale=0.004, batch=32, learning_rate=1e-2)
SIZES = {"seeds": 2, "steps": 12, "held_out": 64, "chunk": 4}


def arrays(weights):
    return [np.asarray(part) for part in jax.tree.leaves(weights)]


def test_a_new_layer_of_zeros_leaves_every_answer_as_it_is(seed):
    shallow = with_new_layer(None, LAWS, 2, 3, 0.1)
    deep = with_new_layer(shallow, LAWS, 2, 3, 0.0)
    tokens = np.random.default_rng(seed).standard_normal((8, 4)).astype(np.float32)
    G = tokens.T @ tokens
    for member in range(4):
        one, other = (
            jax.tree.map(lambda part, at=member: part[at], each) for each in (shallow, deep)
        )
        np.testing.assert_array_equal(final_weights(one, G), final_weights(other, G))


def test_a_new_layer_depends_on_law_seed_and_depth_and_not_on_the_others():
    both = with_new_layer(with_new_layer(None, LAWS, 2, 3, 0.1), LAWS, 2, 3, 0.1)
    alone = with_new_layer(with_new_layer(None, LAWS[1:], 1, 3, 0.1), LAWS[1:], 1, 3, 0.1)
    for every, one in zip(arrays(both), arrays(alone), strict=True):
        np.testing.assert_array_equal(every[2], one[0])
        layers = every.reshape(-1, 16)
        assert len(np.unique(layers, axis=0)) == len(layers) == 8


def test_each_depth_is_trained_from_the_best_weights_of_the_last():
    first = train_full(PROBLEM, LAWS, 1, RECIPE, **SIZES)
    begin = with_new_layer(first.best, LAWS, 2, 3, RECIPE.scale)
    np.testing.assert_array_equal(np.asarray(begin.P)[:, 0], np.asarray(first.best.P)[:, 0])
    second = train_full(PROBLEM, LAWS, 2, RECIPE, **SIZES, begin=begin)
    grown = grow_full(PROBLEM, LAWS, 2, RECIPE, **SIZES)
    assert len(grown) == 2
    for alone, part in zip((first, second), grown, strict=True):
        for one, other in zip(arrays(alone.best), arrays(part.best), strict=True):
            np.testing.assert_array_equal(one, other)


def test_steps_of_all_depths_are_reported():
    seen = []
    grow_full(
        PROBLEM, LAWS[:1], 2, RECIPE, **SIZES,
        watched=lambda depth: {"reached": lambda step, steps: seen.append((depth, step, steps))},
    )  # fmt: skip
    assert {(depth, step > 12, steps) for depth, step, steps in seen} == {
        (1, False, 24),
        (2, True, 24),
    }
    assert seen[-1] == (2, 24, 24)
