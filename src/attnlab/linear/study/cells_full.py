"""The kinds of cells about FULL networks; `cells` has all others."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from attnlab.lab.cell import CellKind, Outcome, Tolerance
from attnlab.lab.needs import Needs
from attnlab.linear.study.questions_ablation import Ablation, AblationRow
from attnlab.linear.study.questions_full import (
    FullEvaluation,
    FullGrowth,
    FullLossRow,
    FullMatrices,
    FullStructure,
    FullTraining,
    GrownNetworkRow,
    ManyStarts,
    StartRow,
    StructureRow,
    TrainedNetworkRow,
)
from attnlab.linear.study.questions_networks import MatrixEntry

Training = TypeVar("Training", bound=FullTraining)


def run_training(config: FullTraining) -> Outcome[TrainedNetworkRow]:
    from attnlab.linear.study import compute_full_training

    return compute_full_training.training(config)


def run_growth(config: FullGrowth) -> Outcome[GrownNetworkRow]:
    from attnlab.linear.study import compute_full_training

    return compute_full_training.growth(config)


def run_evaluation(config: FullEvaluation) -> Outcome[FullLossRow]:
    from attnlab.linear.study import compute_full

    return compute_full.evaluation(config)


def run_structure(config: FullStructure) -> Outcome[StructureRow]:
    from attnlab.linear.study import compute_full

    return compute_full.structure(config)


def run_many_starts(config: ManyStarts) -> Outcome[StartRow]:
    from attnlab.linear.study import compute_full

    return compute_full.structure_of_many(config)


def run_matrices(config: FullMatrices) -> Outcome[MatrixEntry]:
    from attnlab.linear.study import compute_full

    return compute_full.matrices(config)


def run_ablation(config: Ablation) -> Outcome[AblationRow]:
    from attnlab.linear.study import compute_ablation

    return compute_ablation.ablation(config)


def needs_of_training(config: FullTraining) -> Needs:
    """The p x p matrices that the derivative keeps, in float32; more where many are held out.

    Without the fused kernel a layer keeps two of them per network and sequence.
    """
    networks = config.starts * len(config.laws.split())
    matrix = 4.0 * networks * (config.d + 1) ** 2
    # The sequences of the recorded loss are in float64, of one network at a time.
    held_out = max(3 * matrix * config.held_out, 6 * matrix / networks * config.fresh)
    return Needs(
        host_bytes=max((2 * config.depth + 2) * matrix * config.batch, held_out),
        device_bytes=max(2 * matrix * config.batch, held_out),
        reduce="d, laws, starts, batch or held_out",
    )


def first_steps(config: Training) -> Training:
    """The same training for twenty steps from one start on one law, on few sequences."""
    one = config.laws.split()[0]
    return replace(config, laws=one, starts=1, steps=20, chunk=10, held_out=1024, fresh=1024)


def first_layers(config: FullGrowth) -> FullGrowth:
    """The first steps of the first two depths."""
    return replace(first_steps(config), depth=min(config.depth, 2))


# Training is in float32.
full_training = CellKind(
    "linear_full",
    FullTraining,
    TrainedNetworkRow,
    run_training,
    version=2,
    device="gpu",
    needs=needs_of_training,
    tolerance=Tolerance(1e-3, 1e-9),
    shortened=first_steps,
    compiled_here=True,
)
many_starts = CellKind(
    "linear_full_starts",
    ManyStarts,
    StartRow,
    run_many_starts,
    device="gpu",
    needs=needs_of_training,
    tolerance=Tolerance(1e-3, 1e-9),
    shortened=first_steps,
    compiled_here=True,
)
full_growth = CellKind(
    "linear_full_growth",
    FullGrowth,
    GrownNetworkRow,
    run_growth,
    device="gpu",
    needs=needs_of_training,
    tolerance=Tolerance(1e-3, 1e-9),
    shortened=first_layers,
    compiled_here=True,
)
full_evaluation = CellKind(
    "linear_full_evaluation", FullEvaluation, FullLossRow, run_evaluation, version=2
)
full_structure = CellKind("linear_full_structure", FullStructure, StructureRow, run_structure)
full_matrices = CellKind("linear_full_matrices", FullMatrices, MatrixEntry, run_matrices)
ablation = CellKind("linear_ablation", Ablation, AblationRow, run_ablation)

FULL_KINDS = (
    full_training,
    full_growth,
    many_starts,
    full_evaluation,
    full_structure,
    full_matrices,
    ablation,
)
