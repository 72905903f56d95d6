"""The computation of the cells that have networks (`cells`)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from functools import partial
from typing import Any

import jax
import numpy as np

from attnlab.errors import UserError
from attnlab.lab.cell import Outcome, config_values, seed_of
from attnlab.lab.units import Units, in_units
from attnlab.linear.noise import parse_noise
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.study.evaluation import Evaluation, MeanLoss, noise_levels, of_network
from attnlab.linear.study.questions_networks import (
    FAMILIES,
    AxisLossRow,
    Matrices,
    MatrixEntry,
    Reference,
    Setting,
    TrainedLossRow,
    Training,
)
from attnlab.linear.study.rare_eigenvalues import SELDOM
from attnlab.linear.study.table_1 import SEQUENCES
from attnlab.linear.training.growth import GrowthEffort, TrainedDepth, grow
from attnlab.linear.training.levenberg_marquardt import Diagnosis
from attnlab.linear.training.starting_points import DiagonalFamily, empty_network
from attnlab.linear.weights.shipped import ShippedNetworks, shipped
from attnlab.stats.estimate import Estimate

# Networks depend on these fields of a training cell in no way: the same networks are evaluated.
TAIL = ("largest", "worst_share")
EVALUATION = ("sequences", "sigma_max", "sigma_points", "level_sequences", "profile", "depth")


def evaluation_of(config: Setting) -> Evaluation:
    """The evaluation that a configuration describes."""
    problem = NoisyRegression(config.d, config.n, parse_noise(config.noise))
    levels = noise_levels(config.sigma_max, config.sigma_points)
    return Evaluation(problem, config.sequences, levels, config.level_sequences, config.seed)


def columns(model: str, layers: int, found: MeanLoss) -> dict[str, Any]:
    """The columns of a row, without its tail."""
    own = {name: value for name, value in asdict(found).items() if name not in TAIL}
    return {"model": model, "layers": layers, **own}


def tail(found: MeanLoss) -> dict[str, Any]:
    """The columns that describe the tail of a loss."""
    return {name: getattr(found, name) for name in TAIL}


def effort_of(config: Training) -> GrowthEffort:
    """The effort that a configuration describes."""
    sizes = config.starts, config.screening, config.fitted, config.pool, config.tail
    rarest = SELDOM / SEQUENCES if config.family == "gd++" else GrowthEffort.rarest
    return GrowthEffort(*sizes, rounds=config.rounds, fresh=config.fresh, rarest=rarest)


def training_seed(config: Training) -> int:
    """The seed of the training, which does not depend on the evaluation."""
    return seed_of(config, without=EVALUATION)


def training(config: Training) -> Outcome[TrainedLossRow]:
    """Train all depths and evaluate them."""
    model = FAMILIES[config.family]
    at = evaluation_of(config)
    with jax.enable_x64(True):  # a key of more than 32 bits needs it, too
        key = jax.random.key(training_seed(config))
        units = Units("depth", config.depth)
        rows = [TrainedLossRow(**values) for values in units.notes or ()]
        weights = dict(units.arrays)

        def evaluate(each: TrainedDepth) -> None:
            depth = each.weights.depth
            every = config.profile == "every" or depth == config.depth
            for name, part in vars(each.weights).items():
                weights[f"{depth}/{name}"] = np.asarray(part)
            for found in of_network(each.weights, at, profile=every):
                rows.append(TrainedLossRow(**columns(model, depth, found), **_progress(each)))
            units.finish(lambda: ([config_values(row) for row in rows], weights))

        trained = [_continued(config.family, weights, depth + 1) for depth in range(units.done)]
        effort = effort_of(config)
        grow(config.family, at.problem, key, config.depth, trained, effort, progress=evaluate)
    return Outcome(rows, weights)


def _continued(
    family: DiagonalFamily, weights: Mapping[str, np.ndarray], depth: int
) -> TrainedDepth:
    """A depth that an earlier sitting has trained and evaluated: growth needs its weights alone."""
    kind = type(empty_network(family))
    parts = {item.name: weights[f"{depth}/{item.name}"] for item in fields(kind)}
    unknown = Estimate(math.nan)
    return TrainedDepth(kind(**parts), unknown, unknown, 0, Diagnosis.NO_PROGRESS, 0, True)


def _progress(trained: TrainedDepth) -> dict[str, Any]:
    return {
        "selection": _finite(trained.fresh.value),
        "training": _finite(trained.training.value),
        "iterations": trained.iterations,
        "stopped": trained.diagnosis.value,
        "rounds_used": trained.rounds,
        "tail_holds": bool(trained.tail_holds),
    }


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def reference(config: Reference) -> Outcome[AxisLossRow]:
    """Evaluate the shipped networks of one law."""
    law, held = config.noise, shipped()
    _check_law(law, held)
    if config.weights != held.digest(law):
        raise UserError(
            f"weights must be the digest of the shipped networks, {held.digest(law)!r}, "
            f"got {config.weights!r}."
        )
    if config.run is not None and config.run not in held.runs(law):
        raise UserError(f"run must be one of {held.runs(law)}, got {config.run!r}.")
    own = held.runs(law) if config.run is None else [config.run]
    depths = sorted({depth for run in own for depth in held.depths(law, run)})
    with jax.enable_x64(True):
        at = evaluation_of(config)

        def losses(depth: int) -> list[AxisLossRow]:
            run = held.best_run(law, depth) if config.run is None else config.run
            every = config.profile == "every" or depth == depths[-1]
            return [
                AxisLossRow(**columns("AXIS", depth, found), **tail(found))
                for found in of_network(held.weights(law, run, depth), at, profile=every)
            ]

        return Outcome(in_units("depth", AxisLossRow, [partial(losses, each) for each in depths]))


def matrices(config: Matrices) -> Outcome[MatrixEntry]:
    """The entries of P and Q of a shipped network."""
    law, held = config.noise, shipped()
    _check_law(law, held)
    network = held.weights(law, held.best_run(law, config.layers), config.layers)
    return Outcome(
        [
            MatrixEntry(name, layer + 1, row + 1, column + 1, float(value))
            for name, part in (("P", network.P), ("Q", network.Q))
            for (layer, _, row, column), value in np.ndenumerate(np.asarray(part))
        ]
    )


def _check_law(law: str, held: ShippedNetworks) -> None:
    if law not in held.laws:
        accepted = ", ".join(held.laws)
        raise UserError(f"noise must be one of {accepted} for the shipped networks, got {law!r}.")
