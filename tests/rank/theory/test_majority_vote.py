"""The law of the majority vote against votes that are counted by signs, without any network."""

import math
from functools import lru_cache

import numpy as np
import pytest
from scipy import stats as laws

from attnlab.errors import UserError
from attnlab.rank.theory import majority_vote as vote
from attnlab.rank.theory.lower_bound import lower_bound
from attnlab.stats import Estimate, agree, rate, student_threshold

LEVEL = 1e-6  # of the comparisons of a test, for each of 100 seeds
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
    """The vote's error over independent networks, by signs alone: no attention layer."""
    rng = np.random.default_rng([seed, d, heads])
    errors = []
    for _ in range(NETWORKS):
        x, other, y = prompts(rng, d, PROMPTS, orthonormal)
        q = rng.standard_normal((heads, d))
        gap = x - other
        votes = (np.sign(gap @ q.T) * np.sign(y @ q.T)).sum(1)
        wrong = np.sign(votes) != np.sign((gap * y).sum(1))
        errors.append(((gap**2).sum(1) * wrong).mean())
    return Estimate.of(errors)


def test_the_law_is_a_binomial_tail_and_one_head_has_its_probability(seed):
    for d in (3, 8, 64):
        one = vote.single_head_probability(d).value
        assert vote.majority_vote_error(d, 1).value == pytest.approx(2 * (1 - one), abs=1e-10)
        rng = np.random.default_rng(seed)
        t = np.abs(prompts(rng, d, 50_000)[0][:, 0])
        tails = Estimate.of(2 * laws.binom.cdf(10, 21, 0.5 + np.arcsin(t) / math.pi))
        assert agree(tails, vote.majority_vote_error(d, 21), 6, LEVEL).agrees
        assert agree(sampled_vote(seed, d, 1), 2 * (1 - one), 6, LEVEL).agrees
    # 1/2 + Omega(1/sqrt(d)): the excess over 1/2 has the slope -1/2.
    sizes = [64, 256, 1024]
    excess = [vote.single_head_probability(d).value - 0.5 for d in sizes]
    assert rate(sizes, excess).slope == pytest.approx(-0.5, abs=0.005)
    np.testing.assert_allclose(excess, [vote.single_head_rate(d) - 0.5 for d in sizes], rtol=1 / 64)


def test_millions_of_heads_vote_as_the_normal_law_says():
    """SciPy's `bdtr` is off by 1e-4 at ten million heads, and has no answer from 2^31 on."""
    for d, heads in ((1000, 10**7 + 1), (64, 2**31 + 1), (64, 10**12 + 1)):
        # The number of right votes is normal up to 1 / H; so is its mean in the tail.
        slope = math.pi / 2 * math.sqrt(d / heads)
        exact = vote.majority_vote_error(d, heads).value
        assert abs(exact / (2 / math.pi * math.atan(slope)) - 1) < 1.5 / d
        assert abs(vote.majority_vote_error(d, heads + 2).value / exact - 1) < 4 / heads + 1e-5


def test_theorem_7_needs_d_over_eps_squared_heads(seed):
    d_values, H_values = (8, 16, 32), (63, 255, 1023)
    by_heads = [(8, H) for H in H_values]
    by_dimension = [(d, 1023) for d in d_values]
    for d, H in {*by_heads, *by_dimension}:
        found = sampled_vote(seed, d, H)
        compared = agree(found, vote.majority_vote_error(d, H), 5, LEVEL)
        assert compared.agrees
        # The arctangent replaces asin by its argument and t by a normal: 1 / d each.
        off = abs(vote.majority_vote_rate(d, H) - found.value)
        assert off <= 2 / d * found.value + compared.allowed
    for sizes, cells, exponent in ((H_values, by_heads, -0.5), (d_values, by_dimension, 0.5)):
        found = [sampled_vote(seed, *cell) for cell in cells]
        line = rate(sizes, [one.value for one in found], [one.standard_error for one in found])
        # At these sizes the law itself, whose limit is the exponent, has another slope.
        expected = rate(
            sizes,
            [vote.majority_vote_error(*cell).value for cell in cells],
            [one.standard_error for one in found],
        ).slope
        allowed = student_threshold(NETWORKS - 1, 2, LEVEL) * line.slope_error
        assert abs(line.slope - expected) < allowed
        assert expected == pytest.approx(exponent, abs=0.08)


def test_the_exponents_of_the_law_are_a_half_in_the_limit():
    heads = [10**4 + 1, 10**5 + 1, 10**6 + 1]
    errors = [vote.majority_vote_error(16, H).value for H in heads]
    assert rate(heads, errors).slope == pytest.approx(-0.5, abs=0.002)
    dimensions = [32, 64, 128]
    errors = [vote.majority_vote_error(d, 10**6 + 1).value for d in dimensions]
    assert rate(dimensions, errors).slope == pytest.approx(0.5, abs=0.02)


def test_the_vote_passes_below_the_bound_of_single_layers(seed):
    d, heads = 64, 4001
    bound = lower_bound(d, 1, heads + d, "B").value
    assert vote.majority_vote_error(d, heads).value < bound - 0.03
    found = sampled_vote(seed, d, 1001, orthonormal=True)
    assert agree(found, vote.majority_vote_error(d, 1001), level=LEVEL).agrees


def test_independent_queries_and_keys_do_not_vote_better_than_chance(seed):
    rng = np.random.default_rng(seed)
    d, right = 8, []
    for _ in range(200):
        x, other, y = prompts(rng, d, 100)
        q, k = rng.standard_normal((2, 101, d))
        votes = (np.sign((x - other) @ k.T) * np.sign(y @ q.T)).sum(1)
        right.append((np.sign(votes) == np.sign(((x - other) * y).sum(1))).mean())
    assert agree(Estimate.of(right), 0.5, level=LEVEL).agrees


def test_wrong_arguments_are_named(unchecked):
    with pytest.raises(UserError, match=r"^heads must be odd, or a vote can be tied, got 4\.$"):
        vote.majority_vote_error(8, 4)
    with pytest.raises(UserError, match=r"^heads must be an integer of at least 1, got 0\.$"):
        vote.majority_vote_error(8, 0)
