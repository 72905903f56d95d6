"""The networks of Theorems 7 and 34 return the point that most of their heads choose."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.rank.models import vote_by_mlp as mlp
from attnlab.rank.models.attention import score_matrices, value_matrices
from attnlab.rank.models.majority_vote import majority_vote, random_directions
from attnlab.rank.models.vote_by_mlp import vote_by_mlp
from attnlab.rank.problem import NeighbourPrompt, Neighbours
from attnlab.rank.simulation import random_network_error, random_vote
from attnlab.rank.theory.majority_vote import majority_vote_error
from attnlab.stats import agree
from tests.rank.quickly import quickly
from tests.rank.theory.test_majority_vote import prompts

LEVEL = 1e-6  # of a comparison, for each of 100 seeds


def test_a_network_with_an_mlp_has_the_error_of_the_law(seed):
    """The network of two layers has it in test_simulation."""
    d, heads = 6, 31
    build = partial(random_vote, vote_by_mlp, d, heads, math.inf)
    found = random_network_error(build, Neighbours(d, 2), seed, 4000, chunk=500)
    assert agree(found, majority_vote_error(d, heads), level=LEVEL, slack=1e-5).agrees


def test_both_networks_return_the_point_that_most_heads_choose(seed):
    d, heads, count = 6, 31, 200
    rng = np.random.default_rng(seed)
    x, other, y = prompts(rng, d, count)
    q = rng.standard_normal((heads, d)).astype("float32")
    votes = (np.sign((x - other) @ q.T) * np.sign(y @ q.T)).sum(1)
    expected = np.where((votes > 0)[:, None], x, other)
    X = np.stack([x, other], 1).astype("float32")
    asked = NeighbourPrompt(*map(jnp.asarray, (X, y.astype("float32"), y.astype("float32"))))
    exchanged = asked._replace(X=asked.X[:, ::-1])

    @quickly
    def run(asked, exchanged, q):
        # A large finite scale does what the hardmax does.
        networks = (majority_vote(q), majority_vote(q, scale=1e9), vote_by_mlp(q))
        return [jax.vmap(network)(asked) for network in networks], jax.vmap(networks[2])(exchanged)

    answers, again = run(asked, exchanged, jnp.asarray(q))
    for found in map(np.asarray, answers):
        # A head whose score is 0 to float32 may vote either way, and a vote of 1 may turn on it.
        close = np.abs(found - expected).max(1) < 1e-4
        assert close[np.abs(votes) > 1].all()
        assert close.mean() > 0.98
    # Theorem 34's claim about our own network: the points are a set.
    np.testing.assert_allclose(again, answers[2], atol=1e-5)


def test_every_matrix_of_theorem_7_has_rank_one():
    d, heads = 5, 9
    directions = np.random.default_rng(0).standard_normal((heads, d)).astype("float32")

    @quickly
    def run(directions):
        built = majority_vote(directions)
        layers = (built.first, built.second)
        return [(score_matrices(layer), value_matrices(layer)) for layer in layers]

    (M, V), (second_M, second_V) = run(directions)
    assert M.shape == (heads, d + 2, d + 2)
    assert second_V.shape == (d, d + 2, d + 2)
    for matrices in (M, V, second_M, second_V):
        assert (np.linalg.matrix_rank(np.asarray(matrices)) == 1).all()
    np.testing.assert_allclose(M, np.swapaxes(M, 1, 2), rtol=1e-6)


def test_the_mlp_is_logarithmically_deep_and_the_median_of_entries_with_two_values(seed):
    rng = np.random.default_rng(seed)
    for heads in (1, 3, 7, 9, 16 + 1, 255):
        low, high = np.sort(rng.uniform(-1, 1, 2))
        hidden = np.where(rng.random((heads, 50)) < rng.random(50), low, high)
        expected = np.median(hidden, axis=0)
        layers = mlp.vote_layers(heads)
        assert len(layers) == 2 + math.ceil(math.log2(heads))
        for W, b in layers[:-1]:
            hidden = np.maximum(W @ hidden + b[:, None], 0)
        W, b = layers[-1]
        np.testing.assert_allclose((W @ hidden + b[:, None])[0], expected, atol=1e-10)


def test_wrong_arguments_are_named(unchecked):
    directions = jnp.ones((4, 5))
    three = NeighbourPrompt(jnp.ones((3, 5)), jnp.ones(5), jnp.ones(5))
    for build in (majority_vote, vote_by_mlp):
        with pytest.raises(UserError, match=r"^heads must be odd, or a vote can be tied, got 4\.$"):
            build(directions)
        with pytest.raises(UserError, match=r"^X must hold 2 points of dimension 5, got shape \(3"):
            build(directions[:3])(three)
    with pytest.raises(UserError, match=r"^heads must be an integer of at least 1, got 0\.$"):
        random_directions(jax.random.key(0), 5, 0)
