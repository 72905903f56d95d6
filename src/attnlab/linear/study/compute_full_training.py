"""The computation of the cells that train FULL networks (`cells_full`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from attnlab.errors import UserError
from attnlab.lab.cell import Outcome, seed_of
from attnlab.lab.watch import watched
from attnlab.linear.models.weights import DiagWeights, FullWeights
from attnlab.linear.noise import NoiseLaw, parse_noise
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.study.questions_full import (
    DIAGONAL,
    MODELS,
    FullGrowth,
    FullTraining,
    GrownNetworkRow,
    TrainedNetworkRow,
)
from attnlab.linear.training.diagonal_networks import start_near, train_diagonal
from attnlab.linear.training.full_growth import grow_full
from attnlab.linear.training.full_networks import (
    RECIPES,
    evaluate,
    kept,
    recipe_of,
    train_full,
)
from attnlab.linear.weights.diagonal import DIMENSION, TOKENS, diagonal_networks
from attnlab.training.outcome import Trained


def training(config: FullTraining) -> Outcome[TrainedNetworkRow]:
    """Train the networks of one depth and record the loss of each."""
    problem = NoisyRegression(config.d, config.n)
    laws = [parse_noise(name) for name in config.laws.split()]
    trained, best = trained_networks(config, problem, laws)
    model = MODELS.get(config.recipe, "FULL")
    last = np.full(len(trained.status), config.steps)
    chosen = (last if recipe_of(config.recipe).literal else trained.best_step).tolist()
    rows: list[TrainedNetworkRow] = []
    weights: dict[str, np.ndarray] = {}
    for law in laws:
        first = len(rows)
        own = jax.tree.map(lambda part, at=first: np.asarray(part[at : at + config.starts]), best)
        for start, facts in enumerate(_recorded(own, problem, law, config.fresh)):
            member = first + start
            seen = {"chosen_at_step": chosen[member], "status": trained.status[member]}
            rows.append(TrainedNetworkRow(model=model, **facts, **seen))
            weights |= {
                f"{law.name}/{start}/{name}": part[start] for name, part in vars(own).items()
            }
    return Outcome(rows, weights)


def growth(config: FullGrowth) -> Outcome[GrownNetworkRow]:
    """Grow the networks of all depths and record the loss of each."""
    problem, law = NoisyRegression(config.d, config.n), parse_noise(config.laws)
    grown = grow_full(
        problem,
        [law],
        config.depth,
        replace(RECIPES["grown"], batch=config.batch),
        watched=lambda depth: watched(f"depth-{depth}"),
        seeds=config.starts,
        steps=config.steps,
        # Networks of a depth do not depend on how many depths follow.
        seed=seed_of(config, without=("fresh", "depth")) % 2**31,
        held_out=config.held_out,
        chunk=config.chunk,
    )
    rows: list[GrownNetworkRow] = []
    weights: dict[str, np.ndarray] = {}
    for layers, trained in enumerate(grown, 1):
        own = jax.tree.map(np.asarray, trained.best)
        for start, facts in enumerate(_recorded(own, problem, law, config.fresh)):
            chosen = (layers - 1) * config.steps + int(trained.best_step[start])
            seen = {"chosen_at_step": chosen, "status": trained.status[start]}
            rows.append(GrownNetworkRow(model="FULL", layers=layers, **facts, **seen))
            for name, part in vars(own).items():
                weights[f"{law.name}/{layers}/{start}/{name}"] = part[start]
    return Outcome(rows, weights)


def _recorded(
    networks: FullWeights, problem: NoisyRegression, law: NoiseLaw, fresh: int
) -> Iterator[dict[str, Any]]:
    """What a row says about the loss of each network on its law.

    The best start is chosen on these sequences, which neither training nor any evaluation uses.
    """
    for start, tail in enumerate(evaluate(networks, problem, law, fresh)):
        recorded = tail.record()
        yield {
            "noise": law.name,
            "start": start,
            "loss": recorded["loss"],
            "error": recorded["standard_error"],
            "body": recorded["body"],
            "largest": recorded["largest"],
            "worst_share": recorded["share"],
            "overflowed": tail.overflowed,
            "samples": tail.samples,
        }


def trained_networks(
    config: FullTraining, problem: NoisyRegression, laws: list[NoiseLaw]
) -> tuple[Trained, FullWeights]:
    """The weights of every law and start that are kept, as FULL networks, and how training went."""
    family = DIAGONAL.get(config.recipe)
    recipe = replace(recipe_of(config.recipe), batch=config.batch)
    sizes: dict[str, Any] = {
        "seeds": config.starts,
        "steps": config.steps,
        "seed": seed_of(config, without=("fresh",)) % 2**31,
        "held_out": config.held_out,
        "chunk": config.chunk,
        **watched(),
    }
    if family:
        sizes["families"] = (family,)
        return train_diagonal(problem, laws[0], config.depth, recipe, **sizes)
    if config.recipe == "from-diag":
        begin = diagonal_networks().weights("diag", laws[0].name, config.depth)
        assert isinstance(begin, DiagWeights)
        if (config.d, config.n) != (DIMENSION, TOKENS):
            raise UserError(
                f"d and n must be {DIMENSION} and {TOKENS}, those of the shipped DIAG networks, "
                f"for the recipe 'from-diag', got {config.d} and {config.n}."
            )
        sizes["begin"] = start_near(begin, laws[0], config.starts, config.d)
    trained = train_full(problem, laws, config.depth, recipe, **sizes)
    return trained, kept(trained, recipe)
