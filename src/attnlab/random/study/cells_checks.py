"""The smaller cells: how Gaussian pre-activations are, attention's reduction, and law tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from attnlab import arguments
from attnlab.lab.cell import CellKind, Outcome, Tolerance, seed_of
from attnlab.lab.needs import Needs
from attnlab.maths.hermite import hermite_series
from attnlab.memory import require_memory
from attnlab.random import gaussianity
from attnlab.random.models.linear_attention import FullAttention
from attnlab.random.problem import SingleIndexRegression
from attnlab.random.study import law_numbers
from attnlab.random.study.cells import problem_of
from attnlab.random.study.panels import TargetName


@dataclass(frozen=True)
class Distance:
    """How far pre-activations are from Gaussian at one d (Lemma 1, Corollary 2)."""

    d: int = 24
    """Dimension of an input."""
    length: int = 24
    """Labelled pairs in a prompt, l."""
    tasks: int = 12
    """Task vectors in the training pool, k."""
    target: TargetName = "relu"
    """The link function of the target."""
    noise: float = 0.01
    """Variance of the label noise, rho."""
    prompts: int = 4000
    """Prompts for each direction."""
    seed: int = 0
    """Seed of prompts and directions."""


@dataclass(frozen=True)
class DistanceFound:
    """The distances of one statement: Kolmogorov's, the excess kurtosis, and Var |vec H|^2 / t.

    Columns that end in `_error` are standard errors.
    """

    statement: str
    kolmogorov: float
    kolmogorov_error: float
    kurtosis: float
    kurtosis_error: float
    norm_variance: float
    norm_variance_error: float
    samples: int
    floor: float


def needs_of_distance(config: Distance) -> Needs:
    """The prompts of one group, and their products with its directions."""
    needed = gaussianity.memory_of_pre_activations(problem_of(config), config.prompts)
    return Needs(needed, reduce="d, length, tasks or prompts")


def run_distance(config: Distance) -> Outcome[DistanceFound]:
    """Lemma 1 as drawn and at equal norms, and Corollary 2."""
    problem, seed, prompts = problem_of(config), seed_of(config), config.prompts
    found = {
        "lemma-1": gaussianity.pre_activations(problem, prompts=prompts, seed=seed),
        "rescaled": gaussianity.pre_activations(problem, prompts=prompts, seed=seed, rescale=True),
        "corollary-2": gaussianity.joint_with_index(problem, prompts=prompts, seed=seed),
    }
    return Outcome(
        [
            DistanceFound(
                name,
                each.kolmogorov.value,
                each.kolmogorov.standard_error,
                each.excess_kurtosis.value,
                each.excess_kurtosis.standard_error,
                each.norm_variance.value,
                each.norm_variance.standard_error,
                each.kolmogorov.samples or 0,
                each.floor,
            )
            for name, each in found.items()
        ]
    )


@dataclass(frozen=True)
class Reduction:
    """Full linear attention against <Gamma, H>, and Hermite coefficients against known ones."""

    d: int = 12
    """Dimension of an input."""
    length: int = 20
    """Labelled pairs in a prompt, l."""
    prompts: int = 50
    """Prompts that are answered both ways."""
    seed: int = 0
    """Seed of prompts and attention weights."""


@dataclass(frozen=True)
class ReductionFound:
    """Relative differences of the answers, and the largest deviation of a Hermite coefficient."""

    reduction_error: float  # largest difference of the answers over the largest answer
    unreduced_error: float  # the same with V's last row filled: no <Gamma, H> exists then
    hermite_error: float  # largest deviation from the published coefficients


def needs_of_reduction(config: Reduction) -> Needs:
    """Key, query, value and two products of them, vec H, and six arrays like the tokens."""
    d, prompts = config.d, config.prompts
    needed = 8.0 * (d + 1) * ((5 + prompts) * (d + 1) + 6 * prompts * (config.length + 1))
    return Needs(needed, reduce="d, length or prompts")


def run_reduction(config: Reduction) -> ReductionFound:
    """Answer the same prompts by full attention and by <Gamma, H>."""
    prompts = arguments.integer("prompts", config.prompts, 1)
    problem = SingleIndexRegression(config.d, config.length, None, "relu")
    d, seed = problem.d, seed_of(config)
    needs = needs_of_reduction(config)
    require_memory("The prompts and weights", needs.host_bytes, needs.reduce)
    rng = np.random.default_rng(seed)
    full_prompts = problem.full_prompts(prompts, seed=seed)
    K, Q, V = (rng.standard_normal((d + 1, d + 1)) for _ in range(3))
    reducible = V.copy()
    reducible[d, :d] = 0.0
    Gamma = FullAttention(reducible, K, Q).reduction()
    short = full_prompts.prompts().features() @ Gamma.reshape(-1)

    def error(values: Any) -> float:
        full = FullAttention(values, K, Q)(full_prompts)
        return float(np.abs(full - short).max() / np.abs(full).max())

    return ReductionFound(error(reducible), error(V), _hermite_error())


PUBLISHED = {  # of the definition's integrals, to the digits shown
    "relu": ((0.39894, 0.5, 0.39894, 0.0, -0.39894), (0.5838, 0.3014, 0.1061, 0.1061, 0.0681)),
    "tanh": ((0.0, 0.60571, 0.0, -0.3636, 0.0), (0.6279, 0.1656, 0.1656, 0.0734, 0.0734)),
}


def _hermite_error() -> float:
    worst = 0.0
    for activation, (coefficients, residuals) in PUBLISHED.items():
        series = hermite_series(activation, 4)
        for i, (c, left) in enumerate(zip(coefficients, residuals, strict=True)):
            worst = max(worst, abs(series.coefficients[i] - c), abs(series.residual(i) - left))
    return worst


@dataclass(frozen=True)
class Numbers:
    """Numbers that the limit laws give by themselves, beside their reference values."""

    noise: float = 0.01
    """Variance of the label noise, rho."""


def run_numbers(config: Numbers) -> Outcome[law_numbers.Number]:
    """All tables of `law_numbers`."""
    return Outcome(law_numbers.numbers(arguments.non_negative("noise", config.noise)))


# Version 2: the random numbers are the same on every device (Philox, seeds by `seed_of`).
DRAWN = Tolerance(1e-6, 1e-8)  # of kinds whose prompts are drawn in float32
distance = CellKind(
    "random_gaussianity",
    Distance,
    DistanceFound,
    run_distance,
    version=2,
    needs=needs_of_distance,
    tolerance=DRAWN,
)
reduction = CellKind(
    "random_attention",
    Reduction,
    ReductionFound,
    run_reduction,
    version=2,
    needs=needs_of_reduction,
    tolerance=DRAWN,
)
numbers = CellKind("random_law_numbers", Numbers, law_numbers.Number, run_numbers)
