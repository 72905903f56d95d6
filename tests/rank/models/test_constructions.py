"""Facts 1 and 3: heads of full rank find the neighbour; the printed sign of Fact 3 does not."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.rank.models import constructions
from attnlab.rank.problem import NeighbourPrompt, Neighbours, SelfNeighbours
from attnlab.rank.simulation import error
from attnlab.rank.theory.full_rank import full_rank_error
from attnlab.stats import agree
from tests.conftest import in_double_precision
from tests.rank.quickly import quickly

LEVEL = 1e-6  # of a comparison, for each of 100 seeds
PAIR = Neighbours(5, 2, points="orthonormal")


def prompt_of(seed, N, d):
    """N points and a source, drawn by NumPy."""
    v = np.random.default_rng(seed).standard_normal((N + 1, d))
    v = (v / np.linalg.norm(v, axis=1, keepdims=True)).astype("float32")
    return NeighbourPrompt(*map(jnp.asarray, (v[:-1], v[-1], v[0])))


def test_fact_1_is_exact_with_a_hardmax_for_any_number_of_points(seed):
    # In double precision two scores of so many are never equal to rounding.
    with in_double_precision():
        found = error(constructions.FullRankHead(), Neighbours(5, 33), seed, 500, chunk=500)
        assert found.value < 1e-12
        head = constructions.EveryPoint(constructions.FullRankHead(-math.inf))
        assert error(head, SelfNeighbours(5, 8), seed, 200, chunk=200).value < 1e-12


@pytest.mark.parametrize("c", [1.0, 20.0])
def test_fact_1_s_error_at_a_finite_scale_is_its_law(seed, c):
    found = error(constructions.FullRankHead(c), PAIR, seed, 20_000, chunk=20_000)
    assert agree(found, full_rank_error(5, c), level=LEVEL).agrees


def test_fact_3_is_exact_as_corrected_and_nearly_always_wrong_as_printed(seed):
    # The paper's sizes with biases from U(0, 1): the printed form is right in .58(1)% of 300,000
    # draws.
    rng = np.random.default_rng(seed)
    draws, known = 2000, 0.0058
    points = rng.standard_normal((draws, 17, 64))
    points = (points / np.linalg.norm(points, axis=2, keepdims=True)).astype("float32")
    X, y, b = points[:, :16], points[:, 16], rng.random((draws, 16)).astype("float32")
    distances = ((X - y[:, None]) ** 2).sum(2) + b
    target = np.take_along_axis(X, distances.argmin(1)[:, None, None], axis=1)[:, 0]

    @quickly
    def answers(X, y, b):
        def one(X, y, b):
            corrected, printed = (
                constructions.offsets_of(b, sign) for sign in ("corrected", "printed")
            )
            heads = (
                constructions.BiasedHead(corrected),
                constructions.ConcatenatedHead(corrected),
                constructions.BiasedHead(printed),
            )
            return [head(NeighbourPrompt(X, y, y)) for head in heads]

        return jax.vmap(one)(X, y, b)

    inside, outside, printed = (
        (np.abs(np.asarray(found) - target).max(1) < 1e-5).mean() for found in answers(X, y, b)
    )
    # A near tie may fall either way in float32.
    assert min(inside, outside) > 1 - 3 / draws
    assert abs(printed - known) < 5 * math.sqrt(known / draws) + 5e-4


def test_concatenated_encodings_are_the_biased_head(seed):
    prompt = prompt_of(seed, 4, 6)
    b = jnp.array([0.3, -0.2, 0.1, 0.0])

    @quickly
    def both(prompt, b):
        return [
            [head(constructions.offsets_of(b, sign), scale)(prompt) for sign in SIGNS]
            for head in (constructions.BiasedHead, constructions.ConcatenatedHead)
            for scale in (3.0, math.inf)
        ]

    found = np.asarray(both(prompt, b))
    np.testing.assert_allclose(found[:2], found[2:], atol=1e-6)


SIGNS = ("corrected", "printed")


def test_uniform_attention_has_error_one_half(seed):
    X = np.linalg.qr(np.random.default_rng(seed).standard_normal((5, 2)))[0].T.astype("float32")
    prompt = NeighbourPrompt(*map(jnp.asarray, (X, X[0], X[0])))
    answer = np.asarray(constructions.UniformAttention()(prompt))
    np.testing.assert_allclose(((X - answer[None]) ** 2).sum(1), 0.5, atol=1e-6)


def test_wrong_arguments_are_named(unchecked):
    prompt = NeighbourPrompt(jnp.ones((3, 5)), jnp.ones(5), jnp.ones(5))
    with pytest.raises(UserError, match=r"^offsets must match the 3 points of the prompt, got 2"):
        constructions.BiasedHead(jnp.zeros(2))(prompt)
    with pytest.raises(UserError, match=r"^sign must be one of 'corrected', 'printed', got 'plus'"):
        constructions.offsets_of(jnp.zeros(3), "plus")
