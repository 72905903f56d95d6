"""The computation of the cells about FULL networks (`cells_full`)."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import jax
import numpy as np

from attnlab.errors import UserError
from attnlab.lab.cell import Outcome, seed_of
from attnlab.lab.watch import watched
from attnlab.linear.models.weights import FullWeights
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.study.compute_networks import EVALUATION, evaluation_of
from attnlab.linear.study.evaluation import of_network
from attnlab.linear.study.questions_full import (
    DIAGONAL,
    MODELS,
    FullEvaluation,
    FullLossRow,
    FullMatrices,
    FullStructure,
    FullTraining,
    StructureRow,
)
from attnlab.linear.study.questions_networks import MatrixEntry
from attnlab.linear.training.diagonal_networks import train_diagonal
from attnlab.linear.training.full_networks import RECIPES, evaluate, train_full
from attnlab.linear.weights.full import FullNetworks, full_networks

UNEVALUATED = tuple(name for name in EVALUATION if name != "depth")


def training(config: FullTraining) -> Outcome[FullLossRow]:
    """Train the networks of one law and depth and evaluate them."""
    at = evaluation_of(config)
    best = _trained(config, at.problem)
    # The best start is chosen on sequences that neither training nor the evaluation below uses.
    tails = evaluate(best, at.problem, at.problem.noise, config.held_out)
    weights: dict[str, np.ndarray] = {}
    rows: list[FullLossRow] = []
    for start, tail in enumerate(tails):
        network = jax.tree.map(lambda part, i=start: np.asarray(part[i], np.float64), best)
        weights |= {f"{start}/{name}": part for name, part in vars(network).items()}
        facts = {
            "start": start,
            "selection": tail.cautious,
            "steps_trained": config.steps,
            "steady_starts": sum(each.steady for each in tails),
            "trained_starts": config.starts,
        }
        model = MODELS.get(config.recipe, "FULL")
        rows += _losses(network, at, facts, profile=bool(config.sigma_max), model=model)
    return Outcome(rows, weights)


def _trained(config: FullTraining, problem: NoisyRegression) -> FullWeights:
    """The best weights of every start, as FULL networks."""
    family = DIAGONAL.get(config.recipe)
    recipe = replace(RECIPES["paper" if family else config.recipe], batch=config.batch)
    sizes: dict[str, Any] = {
        "seeds": config.starts,
        "steps": config.steps,
        "seed": seed_of(config, without=UNEVALUATED) % 2**31,
        "held_out": config.held_out,
        "chunk": config.chunk,
        **watched(),
    }
    if family:
        sizes["families"] = (family,)
        return train_diagonal(problem, problem.noise, config.depth, recipe, **sizes)[1]
    return train_full(problem, [problem.noise], config.depth, recipe, **sizes).best


def evaluation(config: FullEvaluation) -> Outcome[FullLossRow]:
    """Evaluate the shipped networks of one law."""
    law, held = config.noise, _held(config.noise, config.weights, config.recipe)
    depths = held.depths(law, config.recipe)
    at, rows = evaluation_of(config), []
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
                "steps_trained": record["steps"],
                "steady_starts": sum(
                    held.steady(law, depth, each, config.recipe) for each in starts
                ),
                "trained_starts": len(starts),
            }
            profile = config.profile == "every" or depth == deepest
            network = held.weights(law, depth, start, config.recipe)
            model = MODELS.get(config.recipe, "FULL")
            rows += _losses(network, at, facts, profile=profile, model=model)
    return Outcome(rows)


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
    law, held = config.noise, _held(config.noise, config.weights, "clipped")
    return Outcome(
        [
            StructureRow(
                layers=depth,
                start=start,
                best=start == held.best(law, depth),
                steady=held.steady(law, depth, start),
                matrix=name,
                layer=layer + 1,
                **shares(matrix),
            )
            for depth in held.depths(law)
            for start in held.seeds(law, depth)
            for name, part in vars(held.weights(law, depth, start)).items()
            for layer, matrix in enumerate(np.asarray(part)[:, 0])
        ]
    )


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
    law, held = config.noise, _held(config.noise, config.weights, "clipped")
    network = held.weights(law, config.layers, held.best(law, config.layers))
    return Outcome(
        [
            MatrixEntry(name, layer + 1, row + 1, column + 1, float(value))
            for name, part in (("P", network.P), ("Q", network.Q))
            for (layer, _, row, column), value in np.ndenumerate(np.asarray(part))
        ]
    )


def _held(law: str, digest: str, recipe: str) -> FullNetworks:
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
