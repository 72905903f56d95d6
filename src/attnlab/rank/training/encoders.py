"""Train the paper's encoder on a problem: the experiments of Figures 1 to 4 in one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
from jaxtyping import PRNGKeyArray

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.rank.models.attention import RankAttention
from attnlab.rank.models.choices import LEARNED_ENCODINGS
from attnlab.rank.models.encoder_shape import EncoderShape
from attnlab.rank.models.encoder_start import start_at
from attnlab.rank.problem import Neighbours, SelfNeighbours
from attnlab.rank.training.losses import EncoderLoss
from attnlab.rank.training.populations import Population, train_population
from attnlab.rank.training.starting_points import random_encoders
from attnlab.training.population import member_keys


def train(
    problem: SelfNeighbours | Neighbours,
    rank: int,
    *,
    heads: int | None = None,
    layers: int = 1,
    mlp: int = 64,
    steps: int = 1500,
    batch: int = 128,
    rate: float = 0.01,
    seeds: int = 2,
    seed: int = 0,
    replay: int = 0,
    start: Sequence[RankAttention] | None = None,
    shape: dict[str, Any] | None = None,
    **watched: Any,
) -> Population:
    """Train encoders that find, for every point of a sequence, its neighbour among the others.

    Parameters
    ----------
    problem
        Dimension, number of points, and which neighbour. Of a `Neighbours` problem the points ask
        for each other, as in `SelfNeighbours`.
    rank, heads
        Rank r of every head, and heads per layer: a multiple of d / r, which is the default.
    layers, mlp
        Number of blocks, and the width of the perceptron (0 for none).
    steps, batch, rate
        Training steps, sequences per step, and the peak of the learning rate.
    seeds
        Number of encoders that are trained together from different random weights.
    seed
        Seed of everything random.
    replay
        Number of batches that are used again and again, as in the published experiment (100); 0
        for prompts that never repeat.
    start
        One attention layer per block at which all encoders start; None for random weights.
    shape
        Other fields of `EncoderShape`, such as {"norm": "rms"}.
    watched
        progress, checkpoint, stop and devices of `attnlab.training.population.train`.

    Returns
    -------
    The encoders, with their errors on held-out sequences as estimates (`Population.errors`).
    """
    every = _every_point_asks(problem)
    others = dict(shape or {})
    if others.get("encoding") in LEARNED_ENCODINGS:
        others.setdefault("length", every.N)
    sizes = EncoderShape(every.d, rank, layers, 1, mlp, **others)
    if heads is not None:
        group = sizes.group_heads
        if arguments.integer("heads", heads, 1) % group:
            raise UserError(f"heads must be a multiple of d / rank = {group}, got {heads}.")
        sizes = replace(sizes, width_multiplier=heads // group)
    key = jax.random.key(arguments.integer("seed", seed, 0))
    return train_encoders(
        every, sizes, key, steps=steps, batch=batch, rate=rate, seeds=seeds, replay=replay,
        start=start, **watched,
    )  # fmt: skip


def train_encoders(
    problem: SelfNeighbours,
    shape: EncoderShape,
    key: PRNGKeyArray,
    *,
    steps: int,
    batch: int,
    rate: float,
    seeds: int,
    replay: int = 0,
    start: Sequence[RankAttention] | None = None,
    **watched: Any,
) -> Population:
    """Train `seeds` encoders of one shape; the arguments are those of `train`.

    `watched` may also have `chunk`, the steps over which reported losses are averaged.
    """
    loss = EncoderLoss(problem, arguments.integer("batch", batch, 1))
    check_training(steps, seeds, replay, rate)
    keys = jax.random.split(key, 3)
    models = random_encoders(shape, member_keys(keys[0], seeds))
    if start is not None:
        models = jax.vmap(lambda model: start_at(model, start))(models)
    return train_population(loss, models, (keys[1], keys[2]), steps, rate, replay=replay, **watched)


def check_training(steps: int, seeds: int, replay: int, rate: float) -> None:
    """Refuse numbers of a training that make no sense."""
    arguments.integer("steps", steps, 1)
    arguments.integer("seeds", seeds, 1)
    arguments.integer("replay", replay, 0)
    arguments.positive("rate", rate)


def _every_point_asks(problem: SelfNeighbours | Neighbours) -> SelfNeighbours:
    if isinstance(problem, SelfNeighbours):
        return problem
    return SelfNeighbours(
        problem.d, problem.N, problem.kind, problem.points, problem.bias, problem.radius
    )
