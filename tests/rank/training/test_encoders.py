"""`rank.train`: the study's training in one call, with errors as estimates.

The sizes are those of the trained cell in `test_cells`, so that one program serves both.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab import rank
from attnlab.errors import UserError
from attnlab.rank.models.encoder import with_float32_products
from attnlab.rank.training.losses import EncoderLoss

PROBLEM = rank.SelfNeighbours(d=4, N=3)
OPTIONS = {"mlp": 8, "steps": 20, "batch": 8, "shape": {"products": "dot"}}


@pytest.fixture(scope="module")
def trained(seed):
    return rank.train(PROBLEM, rank=2, seed=seed, **OPTIONS)


def test_every_encoder_has_a_held_out_error(trained):
    assert len(trained) == 2
    for error in trained.errors:
        assert error.samples == 256
        # A unit vector guessed at random is off by 2 on average, and no answer is longer than 1.
        assert 0 < error.value < 4
    assert repr(trained.member(0)) == "Encoder(1 layer of 2 heads of rank 2, d = 4, mlp = 8)"
    assert len(repr(trained)) < 100
    assert trained._repr_html_().count("<tr>") == 3
    assert trained.trained.status == ("trained for 20 steps",) * 2


def test_the_points_of_a_crossed_problem_ask_for_each_other(trained, seed):
    """The same seed gives the same bits in one program."""
    crossed = rank.Neighbours(d=4, N=3, kind="farthest")
    again = rank.train(crossed, rank=2, heads=2, seed=seed, **OPTIONS)
    assert again.errors == trained.errors


def test_training_can_be_watched_and_can_start_at_a_construction(trained, seed):
    """One head that looks for the farthest point, far from what 20 steps find."""
    reports = []
    rng = np.random.default_rng(seed)
    eye = jnp.asarray(np.eye(4, 2)[None] + 0.1 * rng.standard_normal((1, 4, 2)), jnp.float32)
    layer = rank.from_matrices(-3 * eye, eye, eye, eye)
    found = rank.train(
        PROBLEM, rank=2, seed=seed, start=[layer], progress=lambda *s: reports.append(s), **OPTIONS
    )
    assert found.errors != trained.errors
    assert [report[:2] for report in reports] == [(20, 20)]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"heads": 3}, "heads must be a multiple of d / rank = 2, got 3"),
        ({"rank": 3}, "rank must divide the width, 4, got 3"),
        ({"steps": 0}, "steps must be an integer of at least 1, got 0"),
        ({"seeds": 0}, "seeds must be an integer of at least 1, got 0"),
        ({"rate": -1.0}, "rate must be a finite number above 0, got -1.0"),
        ({"shape": {"norm": "layer"}}, "norm must be one of 'scalar', 'rms', 'none', got 'layer'"),
    ],
)
def test_wrong_arguments_are_named(options, sentence, unchecked):
    with pytest.raises(UserError, match=sentence):
        rank.train(PROBLEM, **({"rank": 2} | OPTIONS | options))


def test_encoders_of_lower_precision_are_evaluated_in_float32(seed):
    """Their errors are those of the same weights with float32 products, to float32's rounding."""
    options = OPTIONS | {"steps": 1, "shape": {"products": "dot", "matmul": "bfloat16"}}
    found = rank.train(PROBLEM, rank=2, seed=seed, **options)
    encoder = jax.tree.map(jnp.asarray, found.member(0))
    prompts = PROBLEM.sample_batch(jax.random.key(seed), 8, jnp.float32)
    exact = with_float32_products(encoder)
    assert exact.shape.matmul == exact.blocks[0].attention.matmul == "float32"
    low, high = (np.asarray(each.encode_batch(prompts.X)) for each in (encoder, exact))
    assert np.abs(low - high).max() > 1e-5  # eight bits of a mantissa against 24

    def error(encoder, key):
        return EncoderLoss(PROBLEM, 8)(encoder, key, None)

    key = jax.random.split(jax.random.split(jax.random.key(seed), 3)[2], 256)
    values = jax.vmap(lambda one: error(exact, one))(key)
    assert found.errors[0].value == pytest.approx(float(values.mean()), rel=1e-5)
