"""The computation of the cells that evaluate FULL networks and look at their weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

import jax
import numpy as np

from attnlab.errors import UserError
from attnlab.lab.cell import Outcome
from attnlab.lab.units import in_units
from attnlab.linear.models.weights import FullWeights
from attnlab.linear.noise import parse_noise
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.study.compute_full_training import trained_networks
from attnlab.linear.study.compute_networks import evaluation_of
from attnlab.linear.study.evaluation import of_network
from attnlab.linear.study.questions_full import (
    MODELS,
    FullEvaluation,
    FullLossRow,
    FullMatrices,
    FullStructure,
    ManyStarts,
    StartRow,
    StructureRow,
)
from attnlab.linear.study.questions_networks import MatrixEntry
from attnlab.linear.training.full_networks import (
    evaluate,
)
from attnlab.linear.weights.full import FullNetworks, full_networks


def evaluation(config: FullEvaluation) -> Outcome[FullLossRow]:
    """Evaluate the shipped networks of one law."""
    law, held = config.noise, shipped_networks(config.noise, config.weights, config.recipe)
    depths = held.depths(law, config.recipe)
    at = evaluation_of(config)
    parts: list[Callable[[], list[FullLossRow]]] = []
    deepest = min(7, max(depths))
    for depth in depths:
        starts = held.seeds(law, depth, config.recipe)
        records = [held.record(law, depth, start, config.recipe) for start in starts]
        kept = starts if config.networks == "every" else [held.best(law, depth, config.recipe)]
        for start in kept:
            record = records[starts.index(start)]
            facts = {
                "start": start,
                "selection": held.selection(law, depth, start, config.recipe),
                "steady": held.steady(law, depth, start, config.recipe),
                "steps_trained": record["steps"],
                "steady_starts": sum(
                    held.steady(law, depth, each, config.recipe) for each in starts
                ),
                "trained_starts": len(starts),
            }
            profile = config.profile == "every" or depth == deepest
            network = held.weights(law, depth, start, config.recipe)
            model = MODELS.get(config.recipe, "FULL")
            parts.append(partial(_losses, network, at, facts, profile=profile, model=model))
    return Outcome(in_units("network", FullLossRow, parts))


def _losses(
    network: FullWeights, at: Any, facts: dict[str, Any], *, profile: bool, model: str = "FULL"
) -> list[FullLossRow]:
    with jax.enable_x64(True):
        found = of_network(network, at, profile=profile)
    return [
        FullLossRow(model=model, layers=network.depth, **asdict(each), **facts) for each in found
    ]


def structure(config: FullStructure) -> Outcome[StructureRow]:
    """Shares of the diagonal and of a low-rank part, for every matrix of every network."""
    law, held = config.noise, shipped_networks(config.noise, config.weights, "clipped")
    return Outcome(
        [
            row
            for depth in held.depths(law)
            for start in held.seeds(law, depth)
            for row in _structure_of(
                held.weights(law, depth, start),
                start=start,
                best=start == held.best(law, depth),
                steady=held.steady(law, depth, start),
            )
        ]
    )


def structure_of_many(config: ManyStarts) -> Outcome[StartRow]:
    """Train networks from many starts and describe the matrices of each."""
    problem, law = NoisyRegression(config.d, config.n), parse_noise(config.laws)
    _, networks = trained_networks(config, problem, [law])
    tails = list(evaluate(networks, problem, law, config.fresh))
    worth = [math.inf if tail.cautious is None else tail.cautious for tail in tails]
    rows = []
    for start, tail in enumerate(tails):
        recorded = tail.record()
        network = jax.tree.map(lambda part, at=start: np.asarray(part[at]), networks)
        best = math.isfinite(worth[start]) and worth[start] == min(worth)
        rows += [
            StartRow(
                **asdict(row),
                loss=recorded["loss"],
                error=recorded["standard_error"],
                samples=tail.samples,
            )
            for row in _structure_of(network, start=start, best=best, steady=tail.steady)
        ]
    return Outcome(rows)


def _structure_of(
    network: FullWeights, *, start: int, best: bool, steady: bool
) -> list[StructureRow]:
    """The rows of one network, one per matrix."""
    return [
        StructureRow(
            layers=network.depth,
            start=start,
            best=best,
            steady=steady,
            matrix=name,
            layer=layer + 1,
            **shares(matrix),
        )
        for name, part in vars(network).items()
        for layer, matrix in enumerate(np.asarray(part)[:, 0])
    ]


def shares(matrix: np.ndarray) -> dict[str, float]:
    """The shares of `StructureRow` for one matrix."""
    x = matrix[:-1, :-1]
    off = matrix - np.diag(np.diag(matrix))
    singular = np.square(np.linalg.svd(off, compute_uv=False))
    return {
        "diagonal": _share(np.square(np.diag(matrix)).sum(), np.square(matrix).sum()),
        "x_diagonal": _share(np.square(np.diag(x)).sum(), np.square(x).sum()),
        "x_identity": _share(len(x) * np.diag(x).mean() ** 2, np.square(x).sum()),
        "rank_one": _share(singular[0], singular.sum()),
        "rank_two": _share(singular[:2].sum(), singular.sum()),
    }


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole > 0 else 0.0


def matrices(config: FullMatrices) -> Outcome[MatrixEntry]:
    """The entries of P and Q of the best network of a law and depth."""
    law, held = config.noise, shipped_networks(config.noise, config.weights, "clipped")
    network = held.weights(law, config.layers, held.best(law, config.layers))
    return Outcome(
        [
            MatrixEntry(name, layer + 1, row + 1, column + 1, float(value))
            for name, part in (("P", network.P), ("Q", network.Q))
            for (layer, _, row, column), value in np.ndenumerate(np.asarray(part))
        ]
    )


def shipped_networks(law: str, digest: str, recipe: str) -> FullNetworks:
    """The shipped networks, if they are those of the digest."""
    held = full_networks()
    if law not in held.laws(recipe):
        accepted = ", ".join(held.laws(recipe)) or "none"
        raise UserError(f"noise must be one of {accepted} for the FULL networks, got {law!r}.")
    if digest != held.digest(law, recipe):
        raise UserError(
            f"weights must be the digest of the FULL networks, {held.digest(law, recipe)!r}, "
            f"got {digest!r}."
        )
    return held
