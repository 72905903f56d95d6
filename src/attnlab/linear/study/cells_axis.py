"""The kind of cell that trains AXIS networks; `cells` has the one that evaluates the shipped."""

from __future__ import annotations

from dataclasses import replace

from attnlab.lab.cell import CellKind, Outcome, Tolerance
from attnlab.lab.needs import Needs
from attnlab.linear.study.questions_axis import AxisDepthRow, AxisTraining


def run_training(config: AxisTraining) -> Outcome[AxisDepthRow]:
    from attnlab.linear.study import compute_axis

    return compute_axis.training(config)


def needs_of_training(config: AxisTraining) -> Needs:
    """The Jacobians of all proposals, or the sequences on which the network of a depth is chosen.

    On a processor, sequences have a few Gram matrices for every network, in the Jacobian for each
    of the d answers. The factors are those of a run of four layers whose memory was measured.
    """
    size = 4 if config.precision == "float32" else 8
    matrix = (config.d + 1) ** 2 * size
    numbers = 2 * config.depth * ((config.axes + 1) ** 2 + 1)
    proposals = 12 * config.draws + 2  # see `attnlab.linear.training.layer_proposals`
    answers = config.d * max(proposals * config.coarse_chunk, config.kept * config.fine_chunk)
    jacobian = answers * numbers * (3.0 * size + 40.0)  # the equations are summed in float64
    chosen = 8.0 * matrix * (2 * config.kept + 2) * config.evaluated
    return Needs(
        host_bytes=max(jacobian + 7.0 * matrix * answers, chosen),
        device_bytes=jacobian,
        reduce="d, depth, draws, kept, coarse_chunk, fine_chunk or evaluated",
    )


def two_layers(config: AxisTraining) -> AxisTraining:
    """The same training of two layers with few steps and sequences, from no shipped network.

    A shipped network would be better than what so few steps find, and hide it.
    """
    steps = {"screening": 3, "refinement": 3, "final": 2, "final_pools": 1, "draws": 1, "kept": 2}
    chosen = {"parents": 2, "evaluations": 2, "evaluated": 1024, "weights": ""}
    coarse = {"coarse_chunk": 128, "coarse_pool": 512, "coarse_worst": 16, "coarse_compared": 512}
    fine = {name.replace("coarse", "fine"): size for name, size in coarse.items()}
    return replace(config, depth=min(config.depth, 2), **steps, **chosen, **coarse, **fine)


# Training is in float32.
axis_training = CellKind(
    "linear_axis_training",
    AxisTraining,
    AxisDepthRow,
    run_training,
    device="gpu",
    needs=needs_of_training,
    tolerance=Tolerance(1e-3, 1e-9),
    shortened=two_layers,
)

AXIS_KINDS = (axis_training,)
