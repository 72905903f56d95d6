import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.maths.harmonics import marginal_quadrature
from attnlab.rank.problem import Neighbours
from attnlab.rank.simulation import self_squared_error, squared_error
from attnlab.rank.theory import constructions as constructions
from attnlab.rank.theory.lower_bound import lower_bound
from attnlab.rank.theory.upper_bound import exact_error, optimised_heads, random_heads

Z = 5.0  # below 20 comparisons and 100 seeds: familywise below 1e-3
PAIR = Neighbours(5, 2, points="orthonormal")


def points(seed, N, d):
    """N points and a source."""
    v = np.random.default_rng(seed).standard_normal((N + 1, d))
    v = jnp.asarray(v / np.linalg.norm(v, axis=1, keepdims=True), float)
    return v[:-1], v[-1]


def test_fact_1_is_exact_with_a_hardmax_for_any_number_of_points(seed):
    key, head = jax.random.key(seed), constructions.FullRankHead()
    found = squared_error(head, Neighbours(5, 33), key, 500, chunk=500)
    assert found.value < 1e-12  # rounding in float32
    farthest = Neighbours(5, 8, "farthest")
    head = constructions.FullRankHead(-math.inf)
    assert self_squared_error(head, farthest, key, 200, chunk=200).value < 1e-12


@pytest.mark.parametrize("c", [1.0, 20.0])
def test_fact_1_s_error_at_a_finite_scale_is_its_law(seed, c):
    head = constructions.FullRankHead(c)
    measured = squared_error(head, PAIR, jax.random.key(seed), 20_000, chunk=20_000)
    law = constructions.full_rank_error(5, c).value
    assert abs(measured.value - law) < Z * measured.standard_error


def test_fact_1_s_law_is_a_quadrature_and_falls_like_one_over_c():
    for d in (3, 8, 64):
        t, weights = marginal_quadrature(d, 400)
        wrong = 1 / (1 + np.exp(math.sqrt(2) * np.abs(t)))
        # |t| has a kink that a Gauss rule meets with an error of 1 / points^2.
        expected = 2 * weights @ wrong**2
        assert constructions.full_rank_error(d, 1).value == pytest.approx(expected, rel=1e-4)
        assert constructions.full_rank_error(d, 0).value == pytest.approx(0.5)
        scales = np.array([1e2, 1e3, 1e4]) * math.sqrt(d)
        laws = [constructions.full_rank_error(d, c).value for c in scales]
        rates = [constructions.full_rank_rate(d, c) for c in scales]
        np.testing.assert_allclose(laws, rates, rtol=1e-3)


def test_fact_3_is_exact_as_corrected_and_nearly_always_wrong_as_printed(seed):
    # The paper's sizes with biases from U(0, 1): the printed form is right in .58(1)% of 300,000
    # draws.
    rng = np.random.default_rng(seed)
    draws = 2000
    points = rng.standard_normal((draws, 17, 64))
    points = (points / np.linalg.norm(points, axis=2, keepdims=True)).astype("float32")
    X, y, b = points[:, :16], points[:, 16], rng.random((draws, 16)).astype("float32")
    distances = ((X - y[:, None]) ** 2).sum(2) + b
    target = np.take_along_axis(X, distances.argmin(1)[:, None, None], axis=1)[:, 0]

    def right(head, sign):
        answers = jax.jit(jax.vmap(lambda X, y, b: head(b, sign)(X, y)))(X, y, b)
        return (np.abs(np.asarray(answers) - target).max(1) < 1e-5).mean()

    for head in (constructions.BiasedHead, constructions.ConcatenatedHead):
        # A near tie may fall either way in float32.
        assert right(head, "corrected") > 1 - 3 / draws
    printed = right(constructions.BiasedHead, "printed")
    assert abs(printed - 0.0058) < Z * math.sqrt(0.0058 / draws) + 5e-4


def test_concatenated_encodings_are_the_biased_head(seed):
    X, y = points(seed, 4, 6)
    b = jnp.array([0.3, -0.2, 0.1, 0.0])
    for sign in ("corrected", "printed"):
        for scale in (3.0, math.inf):
            inside = constructions.BiasedHead(b, sign, scale)(X, y)
            outside = constructions.ConcatenatedHead(b, sign, scale)(X, y)
            np.testing.assert_allclose(inside, outside, atol=1e-6)


def test_uniform_attention_has_error_one_half(seed):
    X = jnp.asarray(np.linalg.qr(np.random.default_rng(seed).standard_normal((5, 2)))[0].T, float)
    answer = constructions.UniformAttention()(X, X[0])
    np.testing.assert_allclose(jnp.sum((X - answer[None]) ** 2, axis=1), 0.5, atol=1e-6)


def test_rank_one_heads_have_their_exact_error_and_stay_above_variant_c(seed):
    heads = random_heads(5, 8, seed)
    for given in (heads, optimised_heads(heads, steps=40)):
        layer = constructions.best_rank_one_heads(given)
        found = squared_error(layer, PAIR, jax.random.key(seed), 20_000, chunk=20_000)
        assert abs(found.value - exact_error(given).value) < Z * found.standard_error
        assert found.value > lower_bound(5, 1, 8, "C").value - Z * found.standard_error


def test_a_softmax_of_large_scale_is_the_hardmax(seed):
    prompt = points(seed, 3, 5)
    given = constructions.best_rank_one_heads(random_heads(5, 4, seed))
    soft = constructions.RankOneHeads(given.q, given.k, given.c, 1e9)
    np.testing.assert_allclose(soft(*prompt), given(*prompt), atol=1e-5)


def test_wrong_arguments_are_named(unchecked):
    X, y = jnp.ones((3, 5)), jnp.ones(5)
    with pytest.raises(UserError, match=r"^bias must match the 3 points of the prompt, got 2\.$"):
        constructions.BiasedHead(jnp.zeros(2))(X, y)
    layer = constructions.best_rank_one_heads(random_heads(4, 2, 0))
    with pytest.raises(UserError, match=r"^the heads' dimension must match the 5 coordinates of"):
        layer(X, y)
    with pytest.raises(UserError, match=r"^sign must be one of 'corrected', 'printed', got 'plus'"):
        constructions.BiasedHead(jnp.zeros(3), "plus")(X, y)
