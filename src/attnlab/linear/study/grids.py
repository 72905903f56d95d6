"""The cells that each figure and claim needs, at each scale.

`paper` is the grid of Table 1 in Vladymyrov et al. (arXiv 2402.14180): ten noise laws, seven depths
and five runs of GD++ and DIAG, with an eighth layer on U(0, 5) for Figure 7, and five further runs
of DIAG with ten layers. The best of these ship with the package, as AXIS networks do, and are
evaluated at every scale. `quick` trains on four laws, with less effort.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

from attnlab.lab.cell import Cell
from attnlab.lab.study import Scale
from attnlab.linear.study.cells import adjustment as sampled_adjustment
from attnlab.linear.study.cells import appendix as proofs
from attnlab.linear.study.cells import (
    axis as axis_networks,
)
from attnlab.linear.study.cells import (
    baselines,
    cosine,
    iterations,
    least_squares,
    matrices,
    orders,
    rates,
    rescaling,
    state_check,
    step_size,
    training,
)
from attnlab.linear.study.cells import known_noise as multiples
from attnlab.linear.study.cells import last_layers as deepest_layers
from attnlab.linear.study.cells import noiseless as noiseless_losses
from attnlab.linear.study.cells import noiseless_evaluations as evaluations_without_noise
from attnlab.linear.study.cells import readings as single_layers
from attnlab.linear.study.cells import rescaled as scaled_ridge
from attnlab.linear.study.questions_appendix import Appendix
from attnlab.linear.study.questions_constructions import (
    LeastSquaresNetwork,
    Orders,
    Rates,
    Rescaling,
    StepSize,
)
from attnlab.linear.study.questions_layers import LastLayers
from attnlab.linear.study.questions_networks import (
    Matrices,
    Reference,
    TrainedFamily,
    Training,
)
from attnlab.linear.study.questions_noiseless import Noiseless, NoiselessEvaluations
from attnlab.linear.study.questions_readings import Adjustment, KnownNoise, Readings, Rescaled
from attnlab.linear.study.questions_ridges import Baselines, Iterations
from attnlab.linear.study.questions_state import Cosine, StateCheck
from attnlab.linear.study.shipped_table import (
    DEEP_DIGESTS,
    DIGESTS,
    HEAT_MAP_DEPTH,
    RUNS,
)
from attnlab.linear.study.table_1 import CATEGORICAL, DEPTHS, LAWS, trained_range

FAMILY_OF: dict[str, TrainedFamily] = {
    "GD++": "gd++",
    "DIAG": "diag",
    "DIAG, free omegas": "omegas",
    "DIAG without momentum": "no-momentum",
    "DIAG without rescaling": "no-rescaling",
}
ABLATED = ("DIAG without momentum", "DIAG without rescaling")
U5, TWO, THREE = "uniform:5", *CATEGORICAL
WIDE = {U5: 10.0, TWO: 6.0, THREE: 8.0}  # profiles that reach far beyond the trained range
DEEPEST = DEPTHS[-1]
EVALUATIONS = 40  # cells of 25 evaluations of GD++ without noise
TEN = 10  # layers within which the paper says that linear transformers converge
LAYER_SEQUENCES = 32_768  # at least: what three layers gain is then known to half a per cent


@dataclass(frozen=True)
class Size:
    """The sizes of one scale."""

    depths: dict[str, int]  # the deepest network that is trained, by noise law
    heads: dict[str, int]  # the same for free omegas
    ablated: dict[str, int]  # the same for free omegas without one of them
    runs: int
    effort: dict[str, int]
    sequences: int
    level_sequences: int
    step: float  # distance between the noise levels of a profile
    contexts: int


QUICK_EFFORT = {
    "starts": 2,
    "screening": 96,
    "fitted": 768,
    "pool": 4096,
    "tail": 96,
    "rounds": 1,
    "fresh": 4096,
}
EVERY = dict.fromkeys(LAWS, DEEPEST) | {U5: DEEPEST + 1}
HEADS = {U5: DEEPEST, TWO: DEEPEST}
SIZES: dict[Scale, Size] = {
    "quick": Size(
        {"uniform:0": 4, "uniform:2": 5, U5: 7, TWO: 7},
        {U5: 4},
        {U5: 4},
        1,
        QUICK_EFFORT,
        8192,
        1024,
        0.5,
        300,
    ),
    "standard": Size(EVERY, HEADS, {U5: DEEPEST}, 2, {}, 65_536, 8192, 0.25, 1000),
    "paper": Size(EVERY, HEADS, {U5: DEEPEST}, 5, {}, 100_000, 16_384, 0.25, 2000),
}


def size(scale: Scale) -> Size:
    """The sizes of a scale."""
    return SIZES[scale]


def evaluated(law: str, scale: Scale, seed: int) -> dict[str, Any]:
    """The problem and its evaluation, which all models of a law share."""
    at = size(scale)
    largest = WIDE.get(law, trained_range(law)[1] + 1)
    step = 1.0 if scale == "quick" and law == U5 else at.step
    return {
        "noise": law,
        "sequences": at.sequences,
        "sigma_max": largest,
        "sigma_points": round(largest / step) + 1,
        "level_sequences": at.level_sequences,
        "profile": "every" if law in WIDE else "deepest",
        "seed": seed,
    }


def trained(model: str, law: str, scale: Scale, seed: int) -> list[Cell]:
    """The training runs of a family on a law; empty where this scale has none."""
    at = size(scale)
    deepest = {"DIAG, free omegas": at.heads, **dict.fromkeys(ABLATED, at.ablated)}
    depth = deepest.get(model, at.depths).get(law)
    if depth is None:
        return []
    shared = evaluated(law, scale, seed)
    family = FAMILY_OF[model]
    weight = 0.3 if family == "gd++" else 1.3
    return [
        training(
            Training(family=family, depth=depth, run=run, **at.effort, **shared),
            cost=weight * depth,
        )
        for run in range(at.runs)
    ]


def ten_layers(law: str, scale: Scale, seed: int) -> list[Cell]:
    """Ten further runs of DIAG, with up to ten layers and no profile; only `paper` has them.

    The best of five of them ship, and are evaluated at every scale (`last_layers`).
    """
    if scale != "paper" or law not in LAWS[1:]:
        return []
    shared = evaluated(law, scale, seed) | {"sigma_max": 0.0, "sigma_points": 2}
    runs = size(scale).runs
    return [
        training(Training(family="diag", depth=TEN, run=run, **shared), cost=2.0 * TEN)
        for run in range(runs, 3 * runs)
    ]


def last_layers(law: str, scale: Scale, seed: int) -> Cell:
    """The best shipped DIAG networks of seven to ten layers."""
    sequences = max(size(scale).sequences, LAYER_SEQUENCES)
    return deepest_layers(LastLayers(law, DEEP_DIGESTS[law], sequences, seed), cost=1.0)


def axis(law: str, scale: Scale, seed: int) -> Cell:
    """The best shipped AXIS networks of a law."""
    return axis_networks(Reference(weights=DIGESTS[law], **evaluated(law, scale, seed)), cost=1.0)


def axis_runs(law: str, scale: Scale, seed: int) -> list[Cell]:
    """Every run of the shipped networks, for bands; at quick only the best ones."""
    if scale == "quick":
        return [axis(law, scale, seed)]
    shared = evaluated(law, scale, seed)
    return [
        axis_networks(Reference(run=run, weights=DIGESTS[law], **shared), cost=1.0) for run in RUNS
    ]


def ridges(law: str, scale: Scale, seed: int) -> Cell:
    """The ridges, Bayes and the exact laws on a noise law."""
    return baselines(Baselines(**evaluated(law, scale, seed)), cost=2.0)


def noiseless(scale: Scale) -> Cell:
    """The expected losses of GD++ without noise, which are exact; `quick` has five layers."""
    return noiseless_losses(Noiseless(depth=5 if scale == "quick" else DEEPEST), cost=1.5)


def noiseless_evaluations(scale: Scale, seed: int) -> list[Cell]:
    """Evaluations of GD++ without noise, as the paper makes them; `quick` has none."""
    parts = range(0 if scale == "quick" else EVALUATIONS)
    return [
        evaluations_without_noise(NoiselessEvaluations(part=part, seed=seed), cost=40.0)
        for part in parts
    ]


def iterative(scale: Scale, seed: int) -> Cell:
    """ADARR without inverses, on U(0, 5)."""
    at = size(scale)
    return iterations(Iterations(noise=U5, sequences=at.sequences, seed=seed), cost=2.0)


def heat_map() -> Cell:
    """The four-layer AXIS network on {1, 3}, which is compared with Figure 4."""
    return matrices(Matrices(layers=HEAT_MAP_DEPTH, weights=DIGESTS[TWO]))


def readings(seed: int) -> Cell:
    """Single layers against what the text says of them."""
    return single_layers(Readings(seed=seed))


def rescaled(seed: int) -> Cell:
    """Ridge against rescaled least squares, for growing contexts."""
    return scaled_ridge(Rescaled(seed=seed))


def known_noise(seed: int) -> Cell:
    """Ridge with multiples of the true variance."""
    return multiples(KnownNoise(seed=seed))


def adjustment(seed: int) -> Cell:
    """Sampled losses minus the oracle's, against the adjusted loss."""
    return sampled_adjustment(Adjustment(seed=seed), cost=0.5)


def appendix(seed: int) -> Cell:
    """Sentences of Section 4 and of the proofs in A.4 and A.5."""
    return proofs(Appendix(seed=seed))


def states(seed: int) -> list[Cell]:
    """The implicit state of random networks of both kinds."""
    shapes: list[tuple[Literal["full", "diag"], int, int, int, int]] = [
        ("full", 5, 12, 4, 2),
        ("diag", 5, 12, 4, 2),
    ]
    return [
        state_check(StateCheck(family, d, n, depth, heads, seed=seed), cost=2.0)
        for family, d, n, depth, heads in shapes
    ]


def cosines(scale: Scale, seed: int) -> list[Cell]:
    """The cosine of Theorem 4.2 for growing contexts."""
    contexts = size(scale).contexts
    return [cosine(Cosine(10, n, contexts, seed)) for n in (350, 1400, 5000)]


def least_squares_cells(seed: int) -> list[Cell]:
    """Theorem 5.1 for several condition numbers and precisions."""
    return [
        least_squares(LeastSquaresNetwork(kappa, precision, seed=seed))
        for kappa in (10.0, 1e3, 1e6)
        for precision in (1e-3, 1e-9)
    ]


def convergence_orders() -> Cell:
    """The steps that Theorem 5.1's network and other methods need."""
    return orders(Orders())


def scalar_rates() -> Cell:
    """The scalar recursion of Theorem 5.1."""
    return rates(Rates())


LEVELS = (0.5, 1.5)  # noise levels for which the network of Theorem 5.2 is built
THIRD = 1.0  # another noise level
LENGTHS = (100, 400, 1600, 6400, 25_600)


def rescalings(sigma: float, scale: Scale, seed: int) -> list[Cell]:
    """Theorem 5.2 at one noise level, for growing contexts."""
    contexts = size(scale).contexts
    return [
        rescaling(Rescaling(*LEVELS, sigma, n, contexts=contexts, seed=seed), 0.02) for n in LENGTHS
    ]


def step_sizes(seed: int) -> list[Cell]:
    """The error of the printed formula of Section 5.3, by omega_xy."""
    return [step_size(StepSize(-(10.0**-k), seed=seed), 0.1) for k in (2, 3, 4, 5)]


def noisy_step_sizes(seed: int) -> list[Cell]:
    """The step of Section 5.3, by noise level."""
    return [
        step_size(StepSize(-1e-3, sigma=sigma, seed=seed), 0.1) for sigma in (0.0, 1.0, 3.0, 5.0)
    ]


def cells(scale: Scale, seed: int) -> Sequence[Cell]:
    """All cells of the study."""
    planned = chain(
        states(seed),
        cosines(scale, seed),
        least_squares_cells(seed),
        [readings(seed), rescaled(seed), known_noise(seed), adjustment(seed), appendix(seed)],
        [
            convergence_orders(),
            scalar_rates(),
            heat_map(),
            noiseless(scale),
            iterative(scale, seed),
        ],
        *(rescalings(sigma, scale, seed) for sigma in (*LEVELS, THIRD)),
        noiseless_evaluations(scale, seed),
        step_sizes(seed),
        noisy_step_sizes(seed),
        (ridges(law, scale, seed) for law in LAWS),
        (axis(law, scale, seed) for law in LAWS),
        *(axis_runs(law, scale, seed) for law in LAWS),
        *(trained(model, law, scale, seed) for law in LAWS for model in FAMILY_OF),
        *(ten_layers(law, scale, seed) for law in LAWS),
        (last_layers(law, scale, seed) for law in DEEP_DIGESTS),
    )
    return list({cell.key: cell for cell in planned}.values())
