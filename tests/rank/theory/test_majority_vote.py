import math
from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from attnlab.errors import UserError
from attnlab.rank.problem import Neighbours
from attnlab.rank.simulation import paired_squared_error
from attnlab.rank.theory import majority_vote as vote
from attnlab.rank.theory.constructions import numerical_rank
from attnlab.rank.theory.lower_bound import lower_bound

Z = 5.0  # below 20 comparisons and 100 seeds: familywise below 1e-3
NETWORKS, PROMPTS = 24, 1500


def prompts(rng, d, count, orthonormal=False):
    x, other, y = rng.standard_normal((3, count, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    if orthonormal:
        other -= (other * x).sum(1, keepdims=True) * x
    other /= np.linalg.norm(other, axis=1, keepdims=True)
    return x, other, y / np.linalg.norm(y, axis=1, keepdims=True)


@lru_cache
def sampled_vote(seed, d, heads, orthonormal=False):
    """The vote's error and its standard error over networks, by signs alone: no attention layer."""
    rng = np.random.default_rng([seed, d, heads])
    errors = []
    for _ in range(NETWORKS):
        x, other, y = prompts(rng, d, PROMPTS, orthonormal)
        q = rng.standard_normal((heads, d))
        gap = x - other
        votes = (np.sign(gap @ q.T) * np.sign(y @ q.T)).sum(1)
        wrong = np.sign(votes) != np.sign((gap * y).sum(1))
        errors.append(((gap**2).sum(1) * wrong).mean())
    return np.mean(errors), np.std(errors, ddof=1) / math.sqrt(NETWORKS)


def network(build, d, heads, key):
    return build(vote.random_directions(key, d, heads))


@pytest.mark.parametrize("build", [vote.majority_vote, vote.vote_by_mlp])
def test_both_networks_have_the_error_of_the_law(seed, build):
    d, heads = 6, 31
    given = partial(network, build, d, heads)
    found = paired_squared_error(given, Neighbours(d, 2), jax.random.key(seed), 4000, chunk=500)
    law = vote.majority_vote_error(d, heads).value
    assert abs(found.value - law) < Z * found.standard_error + 1e-5


def test_both_networks_return_the_point_that_most_heads_choose(seed):
    d, heads, count = 6, 31, 200
    rng = np.random.default_rng(seed)
    x, other, y = prompts(rng, d, count)
    directions = vote.random_directions(jax.random.key(seed), d, heads)
    q = np.asarray(directions)
    votes = (np.sign((x - other) @ q.T) * np.sign(y @ q.T)).sum(1)
    expected = np.where((votes > 0)[:, None], x, other)
    X = jnp.asarray(np.stack([x, other], 1), float)
    asked = jnp.asarray(y, float)
    # A large finite scale does what the hardmax does.
    soft = partial(vote.majority_vote, scale=1e9)
    for build in (vote.majority_vote, soft, vote.vote_by_mlp):
        found = np.asarray(jax.jit(jax.vmap(build(directions)))(X, asked))
        # A head whose score is 0 to float32 may vote either way, and a vote of 1 may turn on it.
        close = np.abs(found - expected).max(1) < 1e-4
        assert close[np.abs(votes) > 1].all()
        assert close.mean() > 0.98
    # Theorem 34's claim of our own network: the points are a set.
    mlp = jax.jit(jax.vmap(vote.vote_by_mlp(directions)))
    np.testing.assert_allclose(mlp(X[:, ::-1], asked), mlp(X, asked), atol=1e-5)


def test_every_matrix_of_theorem_7_has_rank_one_and_the_mlp_is_logarithmically_deep():
    d, heads = 5, 9
    directions = np.random.default_rng(0).standard_normal((255, d))
    directions = jnp.asarray(directions / np.linalg.norm(directions, axis=1, keepdims=True), float)
    built = vote.majority_vote(directions[:heads])
    assert built.first.M().shape == (heads, d + 2, d + 2)
    assert built.second.V().shape == (d, d + 2, d + 2)
    for layer in (built.first, built.second):
        for matrix in (*layer.M(), *layer.V()):
            assert numerical_rank(matrix) == 1
    np.testing.assert_allclose(built.first.M(), np.swapaxes(built.first.M(), 1, 2), atol=1e-7)
    for count in (1, 3, 9, 255):
        depth = len(vote._vote_layers(count))
        assert depth == 2 + math.ceil(math.log2(count))


def test_the_mlp_is_the_median_of_any_entries_with_two_values(seed):
    rng = np.random.default_rng(seed)
    for heads in (1, 3, 7, 16 + 1, 255):
        low, high = np.sort(rng.uniform(-1, 1, 2))
        hidden = np.where(rng.random((heads, 50)) < rng.random(50), low, high)
        expected = np.median(hidden, axis=0)
        layers = vote._vote_layers(heads)
        for W, b in layers[:-1]:
            hidden = np.maximum(W @ hidden + b[:, None], 0)
        W, b = layers[-1]
        np.testing.assert_allclose((W @ hidden + b[:, None])[0], expected, atol=1e-10)


def test_the_law_is_a_binomial_tail_and_one_head_has_its_probability(seed):
    for d in (3, 8, 64):
        one = vote.single_head_probability(d).value
        assert vote.majority_vote_error(d, 1).value == pytest.approx(2 * (1 - one), abs=1e-10)
        rng = np.random.default_rng(seed)
        t = np.abs(prompts(rng, d, 50_000)[0][:, 0])
        tails = 2 * stats.binom.cdf(10, 21, 0.5 + np.arcsin(t) / math.pi)
        error = Z * tails.std() / math.sqrt(len(t))
        assert abs(vote.majority_vote_error(d, 21).value - tails.mean()) < error
        error, found = sampled_vote(seed, d, 1)[::-1]
        assert abs(found - 2 * (1 - one)) < Z * error
    # 1/2 + Omega(1/sqrt(d)): the excess over 1/2 has the slope -1/2.
    sizes = np.array([64, 256, 1024])
    excess = [vote.single_head_probability(int(d)).value - 0.5 for d in sizes]
    assert np.polyfit(np.log(sizes), np.log(excess), 1)[0] == pytest.approx(-0.5, abs=0.005)
    rates = [vote.single_head_rate(int(d)) - 0.5 for d in sizes]
    np.testing.assert_allclose(excess, rates, rtol=1 / 64)


def test_theorem_7_needs_d_over_eps_squared_heads(seed):
    d_values, H_values = (8, 16, 32), (63, 255, 1023)
    by_heads = [sampled_vote(seed, 8, H) for H in H_values]
    by_dimension = [sampled_vote(seed, d, 1023) for d in d_values]
    for (d, H), (found, error) in zip(
        [*((8, H) for H in H_values), *((d, 1023) for d in d_values)],
        by_heads + by_dimension,
        strict=True,
    ):
        assert abs(found - vote.majority_vote_error(d, H).value) < Z * error
        # The arctangent replaces asin by its argument and t by a normal: 1 / d each.
        assert vote.majority_vote_rate(d, H) == pytest.approx(found, rel=2 / d, abs=Z * error)
    for sizes, points, exponent in ((H_values, by_heads, -0.5), (d_values, by_dimension, 0.5)):
        logs, x = np.log([p[0] for p in points]), np.log(sizes)
        weights = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
        noise = math.sqrt(sum((w * e / v) ** 2 for w, (v, e) in zip(weights, points, strict=True)))
        # At these sizes the law itself, whose limit is the exponent, has the slope in `expected`.
        values = [
            vote.majority_vote_error(*((8, s) if exponent < 0 else (s, 1023))).value for s in sizes
        ]
        expected = weights @ np.log(values)
        assert abs(weights @ logs - expected) < Z * noise
        assert expected == pytest.approx(exponent, abs=0.08)


def test_the_exponents_of_the_law_are_a_half_in_the_limit():
    heads = [10**4 + 1, 10**5 + 1, 10**6 + 1]
    errors = [vote.majority_vote_error(16, H).value for H in heads]
    assert np.polyfit(np.log(heads), np.log(errors), 1)[0] == pytest.approx(-0.5, abs=0.002)
    dimensions = [32, 64, 128]
    errors = [vote.majority_vote_error(d, 10**6 + 1).value for d in dimensions]
    assert np.polyfit(np.log(dimensions), np.log(errors), 1)[0] == pytest.approx(0.5, abs=0.02)


def test_the_vote_passes_below_the_bound_of_single_layers(seed):
    d, heads = 64, 4001
    bound = lower_bound(d, 1, heads + d, "B").value
    assert vote.majority_vote_error(d, heads).value < bound - 0.03
    found, error = sampled_vote(seed, d, 1001, orthonormal=True)
    assert abs(found - vote.majority_vote_error(d, 1001).value) < Z * error


def test_independent_queries_and_keys_do_not_vote_better_than_chance(seed):
    rng = np.random.default_rng(seed)
    d, right = 8, []
    for _ in range(200):
        x, other, y = prompts(rng, d, 100)
        q, k = rng.standard_normal((2, 101, d))
        votes = (np.sign((x - other) @ k.T) * np.sign(y @ q.T)).sum(1)
        right.append((np.sign(votes) == np.sign(((x - other) * y).sum(1))).mean())
    assert abs(np.mean(right) - 0.5) < Z * np.std(right, ddof=1) / math.sqrt(200)


def test_wrong_arguments_are_named(unchecked):
    key, directions = jax.random.key(0), jnp.ones((4, 5))
    even = r"^heads must be odd, or a vote can be tied, got 4\.$"
    for build in (vote.majority_vote, vote.vote_by_mlp):
        with pytest.raises(UserError, match=even):
            build(directions)
        with pytest.raises(UserError, match=r"^X must hold 2 points of dimension 5, got shape \(3"):
            build(directions[:3])(jnp.ones((3, 5)), jnp.ones(5))
    with pytest.raises(UserError, match=even):
        vote.majority_vote_error(8, 4)
    with pytest.raises(UserError, match=r"^heads must be an integer of at least 1, got 0\.$"):
        vote.random_directions(key, 5, 0)
