"""The cells of the study: a run of a panel, the laws of a panel, and checks beside them.

A run draws prompts and weights once and fits every model, size and ridge of its panel from them;
`attnlab.random.study.panels` says which these are. Configurations say what is drawn and nothing
of which figure asks for it. Numbers that laws alone give are in `law_numbers`.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attnlab import arguments
from attnlab.lab.cell import CellKind, Outcome, stream
from attnlab.maths.hermite import hermite_series
from attnlab.random import gaussianity
from attnlab.random.models import linear_attention
from attnlab.random.models.linear_attention import LinearAttention
from attnlab.random.models.transformer import EquivalentModel, RandomTransformer
from attnlab.random.problem import SingleIndexRegression
from attnlab.random.ridge.best_arrays import best_arrays
from attnlab.random.ridge.normal_equations import IllConditioned
from attnlab.random.simulation import simulate
from attnlab.random.study import law_numbers, panels
from attnlab.random.study.panels import PanelName, Target
from attnlab.random.theory.error_point import ErrorPoint
from attnlab.random.theory.law import law, refined


def seed_of(config: Run | Laws | Distance | Reduction) -> int:
    """A seed of its own for every configuration; a rescaled run shares that of the plain one."""
    plain = replace(config, rescale=False) if isinstance(config, Run) else config
    return stream(plain) >> 8  # the simulation derives seeds of runs from it, below 2^64


def _problem(config: Run | Laws | Distance) -> SingleIndexRegression:
    target = arguments.one_of("target", config.target, panels.TARGETS)
    return SingleIndexRegression(config.d, config.length, config.tasks, target, config.noise)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


@dataclass(frozen=True)
class Run:
    """One Monte Carlo run of a panel: one draw, all its models, sizes and ridges."""

    panel: PanelName = "n"
    """Which models, sizes, widths and ridges: n, length, width, ridge, size, linear or sign."""
    d: int = 24
    """Dimension of a token."""
    length: int = 24
    """Labelled pairs in a prompt, l."""
    tasks: int = 12
    """Task vectors in the training pool, k."""
    target: Target = "relu"
    """The target's link function."""
    noise: float = 0.01
    """Variance of the label noise, rho."""
    run: int = 0
    """Number of the run."""
    test: int = 2000
    """Test prompts with fresh tasks, and as many with the pool's."""
    rescale: bool = False
    """Whether every prompt is given the same norm: a diagnostic."""
    seed: int = 0
    """Seed of all runs."""


@dataclass(frozen=True)
class Fitted:
    """A model's errors in one run; None where a number is not finite, as the diagnosis says."""

    model: str
    activation: str
    degree: int | None
    intercept: bool
    n: int
    width: int | None
    ridge: float
    icl: float | None
    idg: float | None
    train: float | None
    condition: float | None
    diagnosis: str


def run_panel(config: Run) -> Outcome[Fitted]:
    arguments.integer("run", config.run, 0)
    problem = _problem(config)
    grid = panels.grid(config.panel, problem)
    with warnings.catch_warnings():
        # What the warning says is in the row's diagnosis.
        warnings.simplefilter("ignore", IllConditioned)
        points = simulate(
            problem,
            grid.models,
            n=grid.n,
            ridge=grid.ridges,
            runs=1,
            seed=seed_of(config),
            test=config.test,
            rescale=config.rescale,
            arrays=best_arrays(),
        )
    return Outcome([_fitted(point) for point in points])


def _described(model: panels.Model) -> tuple[str, str, int | None, bool, int | None]:
    """Name, activation, degree, intercept and width."""
    if isinstance(model, LinearAttention):
        return panels.name_of(model), "", None, model.intercept, None
    degree = model.degree if isinstance(model, EquivalentModel) else None
    return panels.name_of(model), str(model.activation), degree, False, model.width


def _fitted(point: ErrorPoint) -> Fitted:
    name, activation, degree, intercept, width = _described(point.model)
    return Fitted(
        model=name,
        activation=activation,
        degree=degree,
        intercept=intercept,
        n=point.n,
        width=width,
        ridge=point.ridge,
        icl=_finite(point.icl.value),
        idg=_finite(point.idg.value),
        train=_finite(point.train.value),
        condition=_finite(point.condition),
        diagnosis=point.diagnosis.removeprefix("1 of 1 runs "),
    )


@dataclass(frozen=True)
class Laws:
    """The limit law and its finite-size refinement on the grid of a panel."""

    panel: PanelName = "n"
    """Which models, sample sizes, widths and ridges."""
    d: int = 24
    """Dimension of a token: it places n and m, and the refinement depends on it."""
    length: int = 24
    """Labelled pairs in a prompt, l."""
    tasks: int = 12
    """Task vectors in the training pool, k."""
    target: Target = "relu"
    """The target's link function."""
    noise: float = 0.01
    """Variance of the label noise, rho."""
    prompts: int = 6000
    """Prompts over which the refinement takes its averages; 0 for the limit alone."""
    seed: int = 0
    """Seed of these prompts."""


@dataclass(frozen=True)
class LawPoint:
    """A law's errors; `standard_error` is that of the refinement's average over prompts."""

    model: str
    n: int
    width: int | None
    ridge: float
    law: str
    icl: float | None
    idg: float | None
    train: float | None
    standard_error: float


def run_laws(config: Laws) -> Outcome[LawPoint]:
    arguments.integer("prompts", config.prompts, 0)
    problem = _problem(config)
    grid = panels.grid(config.panel, problem)
    found = [("limit", point) for point in law(problem, grid.models, n=grid.n, ridge=grid.ridges)]
    random = [model for model in grid.models if _is_refined(model)]
    if config.prompts and random:
        points = refined(
            problem,
            random,
            n=grid.n,
            ridge=grid.ridges,
            prompts=config.prompts,
            seed=seed_of(config),
            parts=4,
        )
        found += [("refined", point) for point in points]
    return Outcome(
        [
            LawPoint(
                panels.name_of(point.model),
                point.n,
                None if isinstance(point.model, LinearAttention) else point.model.width,
                point.ridge,
                which,
                _finite(point.icl.value),
                _finite(point.idg.value),
                _finite(point.train.value),
                _finite(point.icl.standard_error) or 0.0,
            )
            for which, point in found
        ]
    )


def _is_refined(model: panels.Model) -> bool:
    """Transformers and degree 1, which shares their limit: what Theorem 3 compares."""
    return isinstance(model, RandomTransformer) or (
        isinstance(model, EquivalentModel) and model.degree == 1
    )


@dataclass(frozen=True)
class Distance:
    """How far pre-activations are from Gaussian at one d (Lemma 1, Corollary 2)."""

    d: int = 24
    """Dimension of a token."""
    length: int = 24
    """Labelled pairs in a prompt, l."""
    tasks: int = 12
    """Task vectors in the training pool, k."""
    target: Target = "relu"
    """The target's link function."""
    noise: float = 0.01
    """Variance of the label noise, rho."""
    prompts: int = 4000
    """Prompts for each direction."""
    seed: int = 0
    """Seed of prompts and directions."""


@dataclass(frozen=True)
class DistanceFound:
    """One statement's distances: Kolmogorov's, the excess kurtosis, and Var |vec H|^2 / t."""

    statement: str
    kolmogorov: float
    kolmogorov_error: float
    kurtosis: float
    kurtosis_error: float
    norm_variance: float
    norm_variance_error: float
    samples: int
    floor: float


def run_distance(config: Distance) -> Outcome[DistanceFound]:
    problem, seed, prompts = _problem(config), seed_of(config), config.prompts
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
    """Dimension of a token."""
    length: int = 20
    """Labelled pairs in a prompt, l."""
    prompts: int = 50
    """Prompts that are answered both ways."""
    seed: int = 0
    """Seed of prompts and attention weights."""


@dataclass(frozen=True)
class ReductionFound:
    reduction_error: float  # largest difference of the answers over the largest answer
    unreduced_error: float  # the same with V's last row filled: no <Gamma, H> exists then
    hermite_error: float  # largest deviation from the published coefficients


def run_reduction(config: Reduction) -> ReductionFound:
    arguments.integer("length", config.length, 1)
    d, rng = arguments.integer("d", config.d, 1), np.random.default_rng(seed_of(config))
    problem = SingleIndexRegression(d, config.length, None, "relu")
    contexts = problem.contexts(config.prompts, seed=seed_of(config))
    K, Q, V = (rng.standard_normal((d + 1, d + 1)) for _ in range(3))
    reducible = V.copy()
    reducible[d, :d] = 0.0
    Z, H = linear_attention.tokens(contexts), contexts.prompts().features()
    short = H @ linear_attention.reduction(reducible, K, Q).reshape(-1)

    def error(values: Any) -> float:
        full = linear_attention.attention(Z, values, K, Q)[:, d, -1]
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
    """Numbers that the limit laws give by themselves, beside what they should be."""

    noise: float = 0.01
    """Variance of the label noise, rho."""


def run_numbers(config: Numbers) -> Outcome[law_numbers.Number]:
    return Outcome(law_numbers.numbers(arguments.non_negative("noise", config.noise)))


run = CellKind("random_run", Run, Fitted, run_panel)
laws = CellKind("random_law", Laws, LawPoint, run_laws)
distance = CellKind("random_gaussianity", Distance, DistanceFound, run_distance)
reduction = CellKind("random_attention", Reduction, ReductionFound, run_reduction)
numbers = CellKind("random_law_numbers", Numbers, law_numbers.Number, run_numbers)

KINDS = (run, laws, distance, reduction, numbers)
