"""Every problem draws prompts from a key, every predictor answers them, and fast paths agree."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.protocols import Predictor, Problem
from attnlab.rank.models import constructions as built
from attnlab.rank.models.attention import from_matrices
from attnlab.rank.models.encoder_shape import EncoderShape
from attnlab.rank.models.generalised_heads import random_generalised_heads
from attnlab.rank.models.majority_vote import majority_vote
from attnlab.rank.models.rank_one_heads import random_heads
from attnlab.rank.models.vote_by_mlp import vote_by_mlp
from attnlab.rank.problem import NeighbourPrompt, Neighbours, SelfNeighbours, SelfPrompt
from tests.rank.models.numpy_encoder import generator, matrices, perturbed
from tests.rank.quickly import quickly

D, POINTS, BATCH = 6, 2, 3
CROSS, SELF = Neighbours(D, POINTS), SelfNeighbours(D, POINTS)
EPS = float(jnp.finfo(jnp.float32).eps)


def predictors(problem, seed):
    """Every model of the paper that answers the prompts of a problem."""
    layer = from_matrices(*matrices(seed, d=D))
    if problem == SELF:
        encoder = perturbed(EncoderShape(d=D, rank=2, mlp=7), seed)
        return [layer, encoder, built.EveryPoint(built.FullRankHead(-1.0))]
    directions = jnp.asarray(generator(seed).standard_normal((3, D)))
    offsets = built.offsets_of(jnp.array([0.1, 0.3]))
    adversary = quickly(lambda key: random_generalised_heads(key, D, 2, 3))
    return [
        layer,
        built.UniformAttention(),
        built.FullRankHead(),
        built.BiasedHead(offsets),
        built.ConcatenatedHead(offsets),
        random_heads(D, 4, seed),
        majority_vote(directions),
        vote_by_mlp(directions),
        adversary(jax.random.key(seed)),
    ]


@pytest.mark.parametrize("problem", [CROSS, SELF], ids=["cross", "self"])
def test_a_problem_draws_the_same_prompt_from_the_same_key(problem, seed):
    assert isinstance(problem, Problem)

    @quickly
    def run(key):
        prompts = problem.sample_batch(key, BATCH)
        given = prompts[:-1]  # without the targets
        return problem.sample(key), prompts, jax.vmap(problem.ask)(*given)

    key = jax.random.key(seed)
    once, prompts, asked = run(key)
    assert isinstance(once, NeighbourPrompt if problem == CROSS else SelfPrompt)
    assert prompts.X.shape == (BATCH, POINTS, D)
    # A program may compute the points twice, and round them apart.
    np.testing.assert_allclose(asked.target, prompts.target, atol=4 * EPS)
    for left, right in zip(once, run(key)[0], strict=True):
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("problem", [CROSS, SELF], ids=["cross", "self"])
def test_every_predictor_answers_a_prompt_with_a_short_repr(problem, seed):
    models = predictors(problem, seed)
    prompt = quickly(problem.sample)(jax.random.key(seed))
    answers = quickly(lambda prompt: [model(prompt) for model in models])(prompt)
    for model, answer in zip(models, answers, strict=True):
        assert isinstance(model, Predictor)
        assert answer.shape == prompt.target.shape
        assert np.isfinite(answer).all()
        assert len(repr(model)) < 100


def test_answers_to_a_batch_are_the_answers_one_by_one(seed):
    """Sums of a dozen products of numbers of size about 10, in another order."""
    layer, encoder = predictors(CROSS, seed)[0], predictors(SELF, seed)[1]

    @quickly
    def run(key):
        cross, every = CROSS.sample_batch(key, BATCH), SELF.sample_batch(key, BATCH)
        fast = layer.answer_batch(cross), encoder.encode_batch(every.X)
        return fast, (jax.vmap(layer)(cross), jax.vmap(encoder)(every))

    for found, expected in zip(*run(jax.random.key(seed)), strict=True):
        np.testing.assert_allclose(found, expected, atol=12 * 100 * EPS)


def test_each_point_asks_in_turn(seed):
    problem = SelfNeighbours(D, 5)

    @quickly
    def run(key):
        prompt = problem.sample(key)
        return built.EveryPoint(built.FullRankHead(-jnp.inf))(prompt), prompt.target

    np.testing.assert_allclose(*run(jax.random.key(seed)), atol=4 * EPS)
