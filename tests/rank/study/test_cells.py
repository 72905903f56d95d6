"""Cells of `rank`: the paper's grids, known answers, and one small training end to end."""

import dataclasses
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.lab.cell import seed_of
from attnlab.lab.part import compute, decode
from attnlab.rank.models.rank_one_heads import random_heads
from attnlab.rank.study import grids
from attnlab.rank.study.cells import built, encoder, pair
from attnlab.rank.study.cells_bounds import Bounds, RankOne, bounds, rank_one
from attnlab.rank.study.cells_theory import DecayCurve, decay
from attnlab.rank.study.compute_built import SHARED_DRAWS
from attnlab.rank.study.draws import key_of
from attnlab.rank.study.questions_built import Built
from attnlab.rank.study.questions_encoder import EncoderRun
from attnlab.rank.study.questions_pair import PairRun
from attnlab.rank.theory.upper_bound import exact_error
from attnlab.rank.training.forms import angle_and_norm
from attnlab.rank.training.populations import schedule
from attnlab.rank.training.starting_points import constructed_layer
from attnlab.stats import normal_threshold
from attnlab.training.schedule import warmup_cosine
from tests.rank.quickly import quickly

SMALL = EncoderRun(d=4, N=3, rank=2, mlp=8, steps=20, batch=8)


def test_the_papers_grids_are_those_of_its_table():
    cells = grids.figure_1_cells("paper", 0)
    assert len(cells) == 3 * 3 * 7
    shared = {(c.config.N, c.config.steps, c.config.batch, c.config.rate) for c in cells}
    assert shared == {(16, 100_000, 256, 0.01)}
    assert {(c.config.d, c.config.mlp, c.config.seeds, c.config.replay) for c in cells} == {
        (64, 2048, 5, 0)
    }
    assert sorted({c.config.width_multiplier for c in cells}) == [1, 8, 64]
    fourth = [cell.config for N in (4, 16, 64, 256) for cell in grids.figure_4("paper", N, 0)]
    assert {(c.layers, c.width_multiplier, c.rate, c.steps) for c in fourth} == {
        (2, 64, 0.005, 200_000)
    }
    assert [c.rank for c in fourth[:5]] == [1, 8, 16, 32, 64]
    third = [cell.config for cell in grids.figure_3("paper", 3, "concatenated", 0)]
    assert {(c.width_multiplier, c.rate, c.steps) for c in third} == {(8, 0.005, 200_000)}
    assert third[0].shape().width == 128


def test_cells_share_their_random_numbers_only_where_constructions_are_compared():
    cells = grids.cells("standard", 0)
    built_ones = [cell for cell in cells if cell.kind.name == "rank_built"]
    others = [cell for cell in cells if cell.kind.name != "rank_built"]
    assert len({seed_of(cell.config) for cell in others}) == len({cell.key for cell in others})
    sizes = {dataclasses.replace(cell.config, construction="uniform") for cell in built_ones}
    shared = {seed_of(cell.config, SHARED_DRAWS) for cell in built_ones}
    assert len(shared) == len(sizes) < len(built_ones)


def test_the_draws_of_a_cell_do_not_depend_on_the_precision_of_the_process():
    config, found = Built("full rank", 4, 3, scale=2.0, samples=16), []
    for double in (False, True):
        with jax.enable_x64(double):
            words = np.asarray(jax.random.key_data(key_of(config)))
            found.append((words.tolist(), built.run(config)))
    assert found[0] == found[1]
    assert words[0] > 0, "the upper bits count"


def test_the_rate_warms_up_over_a_twentieth_and_falls_to_zero():
    rates = [
        float(warmup_cosine(schedule(0.01, 1000), jnp.asarray(step)))
        for step in (0.0, 49.0, 525.0, 1000.0)
    ]
    np.testing.assert_allclose(rates, [0.01 / 50, 0.01, 0.005, 0.0], atol=1e-8)


def test_a_head_that_looks_for_the_farthest_point_has_angle_180():
    half = np.diag([1.0, 1.0, 0.0, 0.0])
    forms = jnp.asarray(np.stack([-3 * np.eye(4), half]), jnp.float32)
    angles, norms = quickly(angle_and_norm)(forms)
    # The angle of acos near its end is the root of twice the rounding of the cosine.
    np.testing.assert_allclose([angles[0], norms[0]], [180, 6], rtol=1e-3)
    np.testing.assert_allclose(angles[1], math.degrees(math.acos(math.sqrt(0.5))), rtol=1e-4)


@pytest.fixture(scope="module")
def small_rows(seed):
    return encoder.run(EncoderRun(**{**vars(SMALL), "seed": seed})).rows


def test_training_reports_every_seed(small_rows):
    assert [row.member for row in small_rows] == [0, 1]
    for row in small_rows:
        assert row.head_count == 2
        assert row.form_rank == 2
        assert row.status == "trained for 20 steps"
        # A unit vector guessed at random is off by 2 on average, and no answer is longer than 1.
        assert 0 < row.test < 4
        assert row.test_error > 0
    assert small_rows[0].test != small_rows[1].test


def test_a_trained_configuration_survives_the_store():
    cell = pair(PairRun(d=4, heads=2, steps=10, batch=8, start="construction"))
    rows = decode(cell, compute(cell).part)[cell.key]
    assert [row.head_count for row in rows] == [2, 2]
    assert [row.form_rank for row in rows] == [1, 1]
    assert rows == list(pair.run(cell.config).rows)


def test_the_constructed_start_has_heads_of_rank_one_and_scalar_values():
    layer = constructed_layer(d=5, heads=3, sharpness=2.0, seed=0)
    assert layer.rank == 1
    sizes = np.linalg.norm(layer.Q[:, 0], axis=1) * np.linalg.norm(layer.K[:, 0], axis=1)
    np.testing.assert_allclose(sizes, 10.0, rtol=1e-5)
    V = np.asarray(layer.V)
    np.testing.assert_array_equal(V, V[:, :1, :1] * np.eye(5))


def test_the_fit_on_samples_brackets_the_exact_error(seed):
    row = rank_one.run(RankOne(6, 12, samples=3000, seed=seed))
    z = normal_threshold(2)
    assert row.exact >= row.fitted - z * row.fitted_error
    assert row.exact <= row.fresh + z * row.fresh_error
    assert row.lower_b <= row.lower_c <= row.exact


def test_the_exact_error_of_a_cell_is_that_of_its_heads():
    heads = random_heads(8, 64, 3)
    # The specification's .39 is one draw of q and k; draws differ by a few hundredths.
    assert abs(exact_error(heads).value - 0.39) < 0.05
    assert abs(rank_one.run(RankOne(8, 256)).exact - 0.26) < 0.05


def test_the_vote_passes_below_the_bound_where_heads_are_many():
    for d, heads, passes in ((64, 4001, True), (16, 4001, True), (16, 255, False)):
        row = bounds.run(Bounds(d, 1, heads))
        assert (row.vote < row.lower_b_vote) == passes
    assert bounds.run(Bounds(64, 64, 2)).vote is None


def test_the_decay_has_one_row_per_rank():
    rows = decay.run(DecayCurve(8, checked=False)).rows
    assert [row.gap for row in rows] == [2, 3, 4, 5, 6, 7]
    assert all(b.correlation < a.correlation for a, b in itertools.pairwise(rows))


@pytest.mark.parametrize(
    ("kind", "config", "sentence"),
    [
        (encoder, EncoderRun(rank=3), "rank must divide the width, 16, got 3"),
        (encoder, EncoderRun(steps=0), "steps must be an integer of at least 1, got 0"),
        (encoder, EncoderRun(seeds=0), "seeds must be an integer of at least 1, got 0"),
        (encoder, EncoderRun(rate=0.0), "rate must be a finite number above 0"),
        (pair, PairRun(rank=9), "rank must be an integer from 1 to d = 8, got 9"),
        (pair, PairRun(rank=2, start="construction"), "rank must be 1 at the construction, got 2"),
        (pair, PairRun(heads=0), "heads must be an integer of at least 1, got 0"),
        (built, Built("magic"), "construction must be one of"),
        (built, Built("vote", heads=4), "heads must be odd"),
        (rank_one, RankOne(samples=-1), "samples must be an integer of at least 0, got -1"),
        (decay, DecayCurve(4), "d must be an integer of at least 8, got 4"),
    ],
)
def test_bad_input_is_one_sentence(kind, config, sentence):
    with pytest.raises(UserError, match=sentence):
        kind.run(config)
