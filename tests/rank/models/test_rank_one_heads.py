import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.rank.models.rank_one_heads import RankOneHeads, optimised_heads, random_heads
from attnlab.rank.problem import NeighbourPrompt, Neighbours
from attnlab.rank.simulation import error
from attnlab.rank.theory.lower_bound import lower_bound
from attnlab.rank.theory.upper_bound import exact_error
from attnlab.stats import agree, normal_threshold
from tests.rank.models.test_constructions import prompt_of
from tests.rank.quickly import quickly

LEVEL = 1e-6  # of a comparison, for each of 100 seeds
PAIR = Neighbours(5, 2, points="orthonormal")


def test_rank_one_heads_have_their_exact_error_and_stay_above_variant_c(seed):
    heads = random_heads(5, 8, seed)
    for given in (heads, optimised_heads(heads, steps=40)):
        # The same program serves both.
        found = error(given, PAIR, seed, 20_000, chunk=20_000)
        assert agree(found, exact_error(given), level=LEVEL).agrees
        allowed = normal_threshold() * found.standard_error
        assert found.value > lower_bound(5, 1, 8, "C").value - allowed


def test_a_softmax_of_large_scale_is_the_hardmax(seed):
    prompt, hard = prompt_of(seed, 3, 5), random_heads(5, 4, seed)
    soft = RankOneHeads(hard.q, hard.k, hard.c, 1e9)
    found, expected = quickly(lambda prompt: (soft(prompt), hard(prompt)))(prompt)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_wrong_arguments_are_named(unchecked):
    prompt = NeighbourPrompt(jnp.ones((3, 5)), jnp.ones(5), jnp.ones(5))
    with pytest.raises(UserError, match=r"^the heads' dimension must match the 5 coordinates of"):
        random_heads(4, 2, 0)(prompt)
    with pytest.raises(UserError, match=r"^heads must be an integer of at least 1, got 0\.$"):
        random_heads(4, 0, 0)
