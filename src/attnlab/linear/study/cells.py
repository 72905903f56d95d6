"""The cells that have networks: training of GD++ and DIAG, and the shipped FULL networks.

A training cell grows every depth of one family on one noise law, keeps the weights in the store and
evaluates them, because a cell sees no other cell's result. Every evaluation of a law uses the same
fresh sequences (`evaluation`). Predictors without layers are in `cells_ridges`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.lab.cell import CellKind, Outcome, stream
from attnlab.linear.models.weights import FullWeights
from attnlab.linear.noise import parse_noise
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.study.evaluation import Evaluation, Found, levels, of_network
from attnlab.linear.study.rare_eigenvalues import SELDOM
from attnlab.linear.study.table_1 import SEQUENCES
from attnlab.linear.training.growth import Effort, grow
from attnlab.linear.weights import shipped as reference

FAMILIES = {"gd++": "GD++", "diag": "DIAG", "omegas": "DIAG, free omegas"}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The problem and how it is evaluated."""

    noise: str = "uniform:5"
    """Law of the noise level: uniform:HIGH, categorical:LEVEL,... or fixed:SIGMA."""
    d: int = 10
    """Dimension of an input."""
    n: int = 20
    """Tokens in the context."""
    sequences: int = 8192
    """Fresh sequences that judge a model."""
    sigma_max: float = 0.0
    """Largest noise level of the profile; 0 for none."""
    sigma_points: int = 11
    """Levels of the profile, the first at 0."""
    level_sequences: int = 1024
    """Fresh sequences at each level."""
    profile: Literal["deepest", "every"] = "deepest"
    """Which depths have a profile."""
    seed: int = 0
    """Seed of everything random."""

    def problem(self) -> NoisyRegression:
        return NoisyRegression(self.d, self.n, parse_noise(self.noise))

    def evaluation(self) -> Evaluation:
        arguments.one_of("profile", self.profile, ("deepest", "every"))
        found = levels(self.sigma_max, self.sigma_points)
        return Evaluation(self.problem(), self.sequences, found, self.level_sequences, self.seed)


@dataclass(frozen=True, kw_only=True)
class Training(Setting):
    """Depths 1 to `depth` of one family on one law, each grown from the one before."""

    family: Literal["gd++", "diag", "omegas"] = "diag"
    """GD++, one-head DIAG, or DIAG with free omegas."""
    depth: int = 7
    """The deepest network."""
    run: int = 0
    """Number of the training run."""
    starts: int = 6
    """New layers that are tried at each place."""
    screening: int = 256
    """Sequences on which they are tried."""
    fitted: int = 4096
    """Sequences of a fit."""
    pool: int = 65536
    """Sequences from which those are taken, and of a check."""
    tail: int = 512
    """Worst sequences of the pool that a fit keeps."""
    rounds: int = 4
    """How often fresh sequences may join a fit."""
    fresh: int = 32768
    """Sequences that choose between runs."""

    def effort(self) -> Effort:
        sizes = self.starts, self.screening, self.fitted, self.pool, self.tail
        rarest = SELDOM / SEQUENCES if self.family == "gd++" else Effort.rarest
        return Effort(*sizes, rounds=self.rounds, fresh=self.fresh, rarest=rarest)


@dataclass(frozen=True, kw_only=True)
class Loss:
    """A loss read after `read` of `layers` layers, over the law or at one level sigma.

    None where a sequence overflowed, as the diagnosis says. A ridge has layers 0.
    """

    model: str
    layers: int
    read: int
    sigma: float | None
    loss: float | None
    error: float | None
    samples: int
    diagnosis: str


@dataclass(frozen=True, kw_only=True)
class TrainedLoss(Loss):
    """Also what training says of the network: its losses and why it stopped."""

    selection: float | None  # loss on the sequences that choose between runs
    training: float | None
    iterations: int
    stopped: str
    rounds_used: int
    tail_holds: bool


def columns(model: str, layers: int, found: Found) -> dict[str, Any]:
    """The fields of a row."""
    return {"model": model, "layers": layers, **vars(found)}


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def run_training(config: Training) -> Outcome[TrainedLoss]:
    arguments.integer("run", config.run, 0)
    model = FAMILIES[arguments.one_of("family", config.family, FAMILIES)]
    with jax.enable_x64(True):
        at = config.evaluation()
        key = jax.random.key(_training_seed(config))
        grown = grow(config.family, at.problem, key, config.depth, effort=config.effort())
        rows, weights = [], {}
        for each in grown:
            depth = each.weights.depth
            every = config.profile == "every" or depth == config.depth
            for name, part in vars(each.weights).items():
                weights[f"{depth}/{name}"] = np.asarray(part)
            for found in of_network(each.weights, at, profile=every):
                rows.append(
                    TrainedLoss(
                        **columns(model, depth, found),
                        selection=_finite(each.fresh.value),
                        training=_finite(each.training.value),
                        iterations=each.iterations,
                        stopped=each.diagnosis.value,
                        rounds_used=each.rounds,
                        tail_holds=bool(each.tail_holds),
                    )
                )
    return Outcome(rows, weights)


def _training_seed(config: Training) -> int:
    """The networks depend on what trains them, not on how they are evaluated."""
    told = (config.noise, config.d, config.n, config.family, config.run, config.seed)
    return stream((*told, config.effort())) >> 8


@dataclass(frozen=True, kw_only=True)
class Reference(Setting):
    """The shipped FULL networks of one law, evaluated afresh."""

    run: int | None = None
    """Which run of the reference; none for the best at every depth by its recorded loss."""
    weights: str = ""
    """Digest of the law's networks in the shipped file."""


def run_reference(config: Reference) -> Outcome[Loss]:
    law = config.noise
    if law not in reference.laws():
        accepted = ", ".join(reference.laws())
        raise UserError(f"noise must be one of {accepted} for the reference, got {law!r}.")
    if config.weights != reference.digest(law):
        raise UserError(
            f"weights must be the digest of the shipped networks, {reference.digest(law)!r}, "
            f"got {config.weights!r}."
        )
    if config.run is not None and config.run not in reference.runs(law):
        raise UserError(f"run must be one of {reference.runs(law)}, got {config.run!r}.")
    own = reference.runs(law) if config.run is None else [config.run]
    depths = sorted({depth for run in own for depth in reference.depths(law, run)})
    rows = []
    with jax.enable_x64(True):
        at = config.evaluation()
        for depth in depths:
            run = reference.best_run(law, depth) if config.run is None else config.run
            network = FullWeights(*map(jnp.asarray, reference.network(law, run, depth)))
            every = config.profile == "every" or depth == depths[-1]
            for found in of_network(network, at, profile=every):
                rows.append(Loss(**columns("FULL", depth, found)))
    return Outcome(rows)


@dataclass(frozen=True)
class Matrices:
    """P and Q of a shipped FULL network (Figure 4)."""

    noise: str = "categorical:1,3"
    """Law on which it was trained."""
    layers: int = 4
    """Its depth; the best run by recorded loss is taken."""
    weights: str = ""
    """Digest of the law's networks in the shipped file."""


@dataclass(frozen=True)
class Entry:
    matrix: str  # P or Q
    layer: int
    row: int
    column: int
    value: float


def run_matrices(config: Matrices) -> Outcome[Entry]:
    law, depth = config.noise, arguments.integer("layers", config.layers, 1)
    if law not in reference.laws():
        accepted = ", ".join(reference.laws())
        raise UserError(f"noise must be one of {accepted} for the reference, got {law!r}.")
    network = reference.network(law, reference.best_run(law, depth), depth)
    return Outcome(
        [
            Entry(name, layer + 1, row + 1, column + 1, float(value))
            for name, part in (("P", network.P), ("Q", network.Q))
            for (layer, _, row, column), value in np.ndenumerate(np.asarray(part))
        ]
    )


training = CellKind("linear_training", Training, TrainedLoss, run_training, version=3)
full = CellKind("linear_reference", Reference, Loss, run_reference, version=2)
matrices = CellKind("linear_matrices", Matrices, Entry, run_matrices)

KINDS = (training, full, matrices)
