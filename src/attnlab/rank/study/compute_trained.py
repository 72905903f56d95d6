"""What the cells with training compute; `questions_encoder` and `questions_pair` describe them."""

from __future__ import annotations

import jax

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.lab.cell import seed_of
from attnlab.lab.watch import watched
from attnlab.rank.problem import Neighbours, SelfNeighbours
from attnlab.rank.study.draws import in_single_precision, key_of
from attnlab.rank.study.questions_encoder import EncoderRun
from attnlab.rank.study.questions_pair import PairRun
from attnlab.rank.study.trained_rows import TrainedRow, rows_of
from attnlab.rank.training.encoders import check_training, train_encoders
from attnlab.rank.training.losses import LayerLoss
from attnlab.rank.training.populations import Population, train_population
from attnlab.rank.training.starting_points import constructed_layer, random_layers, stacked
from attnlab.training.population import member_keys


@in_single_precision
def encoder_rows(config: EncoderRun) -> list[TrainedRow]:
    """A population of encoders, one row per member."""
    found = trained_encoders(config)
    return rows_of(found, found.models.blocks[0].attention, config.d)


def trained_encoders(config: EncoderRun) -> Population:
    """The trained population of a configuration."""
    return train_encoders(
        SelfNeighbours(config.d, config.N, config.target),
        config.shape(),
        key_of(config),
        steps=config.steps,
        batch=config.batch,
        rate=config.rate,
        seeds=config.seeds,
        replay=config.replay,
        **watched(),
    )


@in_single_precision
def pair_rows(config: PairRun) -> list[TrainedRow]:
    """A population of bare layers, one row per member."""
    problem = Neighbours(config.d, config.N, points="orthonormal")
    loss = LayerLoss(problem, arguments.integer("batch", config.batch, 1))
    arguments.integer("heads", config.heads, 1)
    arguments.one_of("start", config.start, ("random", "construction"))
    if not 1 <= arguments.integer("rank", config.rank, 1) <= config.d:
        raise UserError(f"rank must be an integer from 1 to d = {config.d}, got {config.rank}.")
    if config.start == "construction" and config.rank != 1:
        raise UserError(f"rank must be 1 at the construction, got {config.rank}.")
    check_training(config.steps, config.seeds, config.replay, config.rate)
    keys = jax.random.split(key_of(config), 3)
    if config.start == "random":
        draws = member_keys(keys[0], config.seeds)
        start = random_layers(config.heads, config.rank, config.d, draws)
    else:
        seeds = (seed_of(config) + i for i in range(config.seeds))
        start = stacked(
            [constructed_layer(config.d, config.heads, config.sharpness, seed) for seed in seeds]
        )
    draws = keys[1], keys[2]
    found = train_population(
        loss, start, draws, config.steps, config.rate, replay=config.replay, **watched()
    )
    return rows_of(found, found.models, config.d)
