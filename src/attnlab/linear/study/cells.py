"""The cells of the study: each question with the function that answers it.

Questions and the rows of their answers are described in `questions_networks`, `questions_ridges`,
`questions_state` and `questions_constructions`. They are answered in the modules `compute_*`, which
need JAX and are imported when a cell runs.
"""

from __future__ import annotations

from dataclasses import replace

from attnlab.lab.cell import CellKind, Outcome, Tolerance
from attnlab.linear.study.questions_appendix import Appendix, AppendixFound
from attnlab.linear.study.questions_constructions import (
    LeastSquaresFound,
    LeastSquaresNetwork,
    OrderRow,
    Orders,
    Rates,
    RatesFound,
    Rescaling,
    RescalingFound,
    StepSize,
    StepSizeFound,
)
from attnlab.linear.study.questions_layers import LastLayers, LayersRow
from attnlab.linear.study.questions_networks import (
    AxisLossRow,
    LossRow,
    Matrices,
    MatrixEntry,
    Reference,
    TrainedLossRow,
    Training,
)
from attnlab.linear.study.questions_noiseless import (
    Noiseless,
    NoiselessEvaluations,
    NoiselessFound,
    NoiselessMean,
)
from attnlab.linear.study.questions_readings import (
    Adjustment,
    AdjustmentFound,
    KnownNoise,
    KnownNoiseFound,
    Readings,
    ReadingsFound,
    Rescaled,
    RescaledFound,
)
from attnlab.linear.study.questions_ridges import (
    Baselines,
    Iterations,
    IterationsFound,
)
from attnlab.linear.study.questions_state import (
    Cosine,
    CosineFound,
    StateCheck,
    StateFound,
)


def run_training(config: Training) -> Outcome[TrainedLossRow]:
    from attnlab.linear.study import compute_networks

    return compute_networks.training(config)


def run_reference(config: Reference) -> Outcome[AxisLossRow]:
    from attnlab.linear.study import compute_networks

    return compute_networks.reference(config)


def run_matrices(config: Matrices) -> Outcome[MatrixEntry]:
    from attnlab.linear.study import compute_networks

    return compute_networks.matrices(config)


def run_least_squares(config: LeastSquaresNetwork) -> LeastSquaresFound:
    from attnlab.linear.study import compute_constructions

    return compute_constructions.least_squares(config)


def run_rates(config: Rates) -> RatesFound:
    from attnlab.linear.study import compute_constructions

    return compute_constructions.rates(config)


def run_orders(config: Orders) -> Outcome[OrderRow]:
    from attnlab.linear.theory.orders import STEPS

    return Outcome(
        [
            OrderRow(method, digits, steps(config.kappa, digits))
            for method, steps in STEPS.items()
            for digits in (10, 100, 1000, 10_000, 100_000)
        ]
    )


def run_rescaling(config: Rescaling) -> RescalingFound:
    from attnlab.linear.study import compute_constructions

    return compute_constructions.rescaling(config)


def run_step_size(config: StepSize) -> StepSizeFound:
    from attnlab.linear.study import compute_constructions

    return compute_constructions.step_size(config)


def run_baselines(config: Baselines) -> Outcome[LossRow]:
    from attnlab.linear.study import compute_ridges

    return compute_ridges.baselines(config)


def run_iterations(config: Iterations) -> Outcome[IterationsFound]:
    from attnlab.linear.study import compute_ridges

    return compute_ridges.iterations(config)


def run_noiseless(config: Noiseless) -> Outcome[NoiselessFound]:
    from attnlab.linear.study import compute_noiseless

    return compute_noiseless.noiseless(config)


def run_noiseless_evaluations(config: NoiselessEvaluations) -> Outcome[NoiselessMean]:
    from attnlab.linear.study import compute_noiseless

    return compute_noiseless.evaluations(config)


def run_last_layers(config: LastLayers) -> Outcome[LayersRow]:
    from attnlab.linear.study import compute_layers

    return compute_layers.last_layers(config)


def run_readings(config: Readings) -> ReadingsFound:
    from attnlab.linear.study import compute_readings

    return compute_readings.readings(config)


def run_rescaled(config: Rescaled) -> Outcome[RescaledFound]:
    from attnlab.linear.study import compute_readings

    return compute_readings.rescaled(config)


def run_known_noise(config: KnownNoise) -> Outcome[KnownNoiseFound]:
    from attnlab.linear.study import compute_readings

    return compute_readings.known_noise(config)


def run_adjustment(config: Adjustment) -> Outcome[AdjustmentFound]:
    from attnlab.linear.study import compute_readings

    return compute_readings.adjustment(config)


def run_appendix(config: Appendix) -> AppendixFound:
    from attnlab.linear.study import compute_appendix

    return compute_appendix.appendix(config)


def run_state(config: StateCheck) -> StateFound:
    from attnlab.linear.study import compute_state

    return compute_state.state(config)


def run_cosine(config: Cosine) -> CosineFound:
    from attnlab.linear.study import compute_state

    return compute_state.cosine(config)


def first_layer(config: Training) -> Training:
    """The same training of one layer from one start, on few sequences."""
    effort = {"starts": 1, "screening": 64, "fitted": 256, "pool": 1024, "tail": 32, "fresh": 1024}
    evaluation = {"sequences": 1024, "sigma_max": 0.0}
    return replace(config, depth=1, rounds=0, **effort, **evaluation)


# A fit stops where its loss no longer falls, which leaves more than rounding between two of them.
training = CellKind(
    "linear_training",
    Training,
    TrainedLossRow,
    run_training,
    version=4,
    tolerance=Tolerance(1e-6),
    shortened=first_layer,
)
# Without noise a loss can be a rounding error itself, and `worst_share` is a share of it.
axis = CellKind(
    "linear_reference", Reference, AxisLossRow, run_reference, version=4, tolerance=Tolerance(1e-5)
)
matrices = CellKind("linear_matrices", Matrices, MatrixEntry, run_matrices)
last_layers = CellKind("linear_last_layers", LastLayers, LayersRow, run_last_layers)


# Its inputs have condition numbers of up to a million, whose roundings are of order 1e-10.
least_squares = CellKind(
    "linear_least_squares",
    LeastSquaresNetwork,
    LeastSquaresFound,
    run_least_squares,
    version=2,
    tolerance=Tolerance(1e-6, 1e-9),
)
rates = CellKind("linear_rates", Rates, RatesFound, run_rates, version=2)
orders = CellKind("linear_orders", Orders, OrderRow, run_orders)
rescaling = CellKind("linear_rescaling", Rescaling, RescalingFound, run_rescaling, version=3)
step_size = CellKind("linear_step_size", StepSize, StepSizeFound, run_step_size, version=2)


baselines = CellKind("linear_baselines", Baselines, LossRow, run_baselines, version=3)
noiseless = CellKind("linear_noiseless", Noiseless, NoiselessFound, run_noiseless)
# Losses without noise are of the order of rounding errors at seven layers.
noiseless_evaluations = CellKind(
    "linear_noiseless_evaluations",
    NoiselessEvaluations,
    NoiselessMean,
    run_noiseless_evaluations,
    tolerance=Tolerance(1e-4, 1e-16),
)
iterations = CellKind("linear_iterations", Iterations, IterationsFound, run_iterations, version=3)


readings = CellKind("linear_readings", Readings, ReadingsFound, run_readings)
rescaled = CellKind("linear_rescaled", Rescaled, RescaledFound, run_rescaled)
known_noise = CellKind("linear_known_noise", KnownNoise, KnownNoiseFound, run_known_noise)
adjustment = CellKind("linear_adjustment", Adjustment, AdjustmentFound, run_adjustment)
appendix = CellKind("linear_appendix", Appendix, AppendixFound, run_appendix)

state_check = CellKind("linear_state", StateCheck, StateFound, run_state, version=2)
cosine = CellKind("linear_cosine", Cosine, CosineFound, run_cosine, version=2)

KINDS = (
    training,
    axis,
    matrices,
    last_layers,
    baselines,
    noiseless,
    noiseless_evaluations,
    iterations,
    readings,
    rescaled,
    known_noise,
    adjustment,
    appendix,
    state_check,
    cosine,
    least_squares,
    rates,
    orders,
    rescaling,
    step_size,
)
