"""The main cells of the study: one run of a panel, and the laws on the grid of a panel.

A run draws prompts and weights once and fits every model, size and ridge of its panel from them;
`attnlab.random.study.panels` says which these are. A configuration says what is drawn and does not
say which figure uses it. The smaller checks are in `cells_checks`.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Protocol

from attnlab import arguments
from attnlab.lab.cell import CellKind, Outcome, Tolerance, seed_of
from attnlab.lab.needs import Needs
from attnlab.lab.units import Units
from attnlab.random.models import Model
from attnlab.random.models.linear_attention import LinearAttention
from attnlab.random.models.transformer import (
    EquivalentModel,
    RandomTransformer,
    lowest_degree,
)
from attnlab.random.problem import SingleIndexRegression
from attnlab.random.ridge.accelerator import Accelerator
from attnlab.random.ridge.arrays import Host
from attnlab.random.ridge.best_arrays import best_arrays
from attnlab.random.ridge.fit_plan import memory_needed, plan_fits
from attnlab.random.ridge.fits import IllConditioned
from attnlab.random.simulation import simulate
from attnlab.random.study import panels
from attnlab.random.study.panels import PanelName, TargetName
from attnlab.random.theory.error_point import ErrorPoint
from attnlab.random.theory.law import law, refined, refined_memory


@dataclass(frozen=True)
class Run:
    """One Monte Carlo run of a panel: one draw, and all models, sizes and ridges fitted to it."""

    panel: PanelName = "n"
    """What is fitted: n, length, width, ridge, size and so on (see `panels`)."""
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
    run: int = 0
    """Number of the run."""
    test: int = 2000
    """Test prompts with fresh tasks, and as many with tasks of the pool."""
    rescale: bool = False
    """Whether every prompt is given the same norm, as a diagnostic."""
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
    """Simulate one run; a rescaled run has the draws of the run that is not rescaled."""
    arguments.integer("run", config.run, 0)
    problem = problem_of(config)
    grid = panels.grid(config.panel, problem)
    with warnings.catch_warnings():
        # The diagnosis of the row says what the warning says.
        warnings.simplefilter("ignore", IllConditioned)
        points = simulate(
            problem,
            grid.models,
            n=grid.n,
            ridge=grid.ridges,
            runs=1,
            seed=seed_of(config, without=("rescale",)),
            test=config.test,
            rescale=config.rescale,
            arrays=best_arrays(),
            # Sums of squares of all features take gigabytes: a run that is stopped begins again.
            part=lambda total: Units("part", total, kept=False).finish,
        )
    return Outcome([_fitted(point) for point in points])


def _fitted(point: ErrorPoint) -> Fitted:
    model = point.model
    linear = isinstance(model, LinearAttention)
    return Fitted(
        model=panels.name_of(model),
        activation="" if linear else str(model.activation),
        degree=model.degree if isinstance(model, EquivalentModel) else None,
        intercept=linear and model.intercept,
        n=point.n,
        width=None if linear else model.width,
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
    """Dimension of an input: it sets n and m, and the refinement depends on it."""
    length: int = 24
    """Labelled pairs in a prompt, l."""
    tasks: int = 12
    """Task vectors in the training pool, k."""
    target: TargetName = "relu"
    """The link function of the target."""
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
    """The limit for every model of the panel, and the refinement for those that it covers."""
    arguments.integer("prompts", config.prompts, 0)
    problem = problem_of(config)
    grid = panels.grid(config.panel, problem)
    found = [("limit", point) for point in law(problem, grid.models, n=grid.n, ridge=grid.ridges)]
    random = [model for model in grid.models if _is_refined(model, config.panel)]
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


def _is_refined(model: Model, panel: PanelName) -> bool:
    """Transformers and degree 1, and every degree in the panels that predict all of them."""
    return isinstance(model, RandomTransformer) or (
        isinstance(model, EquivalentModel)
        and (model.degree == 1 or panel in panels.PREDICTS_EVERY_DEGREE)
    )


class OfProblem(Protocol):
    """What a configuration says of the problem that it is about."""

    @property
    def d(self) -> int: ...
    @property
    def length(self) -> int: ...
    @property
    def tasks(self) -> int: ...
    @property
    def target(self) -> TargetName: ...
    @property
    def noise(self) -> float: ...


def problem_of(config: OfProblem) -> SingleIndexRegression:
    """The problem that a configuration describes."""
    target = arguments.one_of("target", config.target, panels.TARGETS)
    return SingleIndexRegression(config.d, config.length, config.tasks, target, config.noise)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def needs_of_run(config: Run) -> Needs:
    """The Gram matrices, features and prompts of the largest fit."""
    problem = problem_of(config)
    grid = panels.grid(config.panel, problem)
    models = list(dict.fromkeys(map(lowest_degree, grid.models)))

    def needed(block: int) -> float:
        plan = plan_fits(problem, models, grid.n, block)
        return memory_needed(problem, plan, config.test)

    return Needs(needed(Host.block), needed(Accelerator.block), "d, length, tasks or test")


def needs_of_laws(config: Laws) -> Needs:
    """The prompts over which the refinement takes its averages."""
    needed = refined_memory(problem_of(config), config.prompts)
    return Needs(needed, reduce="d, length, tasks or prompts")


# Version 2: the random numbers are the same on every device (Philox, seeds by `seed_of`).
# Features are in float32, and a fit magnifies their rounding by its condition number.
run = CellKind(
    "random_run",
    Run,
    Fitted,
    run_panel,
    version=2,
    device="gpu",
    needs=needs_of_run,
    tolerance=Tolerance(1e-3, 1e-7),
)
laws = CellKind("random_law", Laws, LawPoint, run_laws, version=2, needs=needs_of_laws)
