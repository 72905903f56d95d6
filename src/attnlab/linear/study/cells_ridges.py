"""The cells that have no layers: the three ridges, Bayes, the exact laws, and iterative ADARR.

Source: Vladymyrov et al. (arXiv 2402.14180), Section 6; BAYES and the laws are ours. They are
evaluated on the sequences on which the networks of `cells` are.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from attnlab import arguments
from attnlab.lab.cell import CellKind, Outcome, stream
from attnlab.linear.models.predictors import AdaRidge, ConstRidge, IterativeAdaRidge, TunedRidge
from attnlab.linear.models.tuned_ridge import fit_tuned_ridge
from attnlab.linear.noise import parse_noise
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.study.cells import Loss, Setting, columns
from attnlab.linear.study.evaluation import Found, Posterior, means, of_predictor, ridge_sample_of
from attnlab.linear.theory import laws
from attnlab.linear.training.fixed_sample import draw


@dataclass(frozen=True, kw_only=True)
class Baselines(Setting):
    """The three ridges, Bayes, and the exact laws, on one noise law.

    CONSTRR has its best constant, E sigma^2, which needs no tuning.
    """

    tuning: int = 20_000
    """Sequences on which TUNEDRR is tuned."""


def run_baselines(config: Baselines) -> Outcome[Loss]:
    with jax.enable_x64(True):
        at = config.evaluation()
        problem = at.problem
        predictors = {
            "CONSTRR": ConstRidge(jnp.asarray(problem.noise.second_moment())),
            "ADARR": AdaRidge(),
            "TUNEDRR": _tuned(config, problem),
            "BAYES": Posterior(*map(jnp.asarray, problem.noise.quadrature())),
        }
        rows = [
            Loss(**columns(name, 0, found))
            for name, predictor in predictors.items()
            for found in of_predictor(predictor, at)
        ]
        exact = {
            "oracle (unadjusted)": laws.oracle_loss(problem),
            "GD++ floor": laws.gd_plus_plus_floor(problem),
            "one layer": laws.one_layer_loss(problem),
        }
        rows += [
            Loss(**columns(name, 0, Found(None, 0, law.value, 0.0, 0, "")))
            for name, law in exact.items()
        ]
        for level in at.levels:
            fixed = NoisyRegression(config.d, config.n, parse_noise(f"fixed:{level}"))
            value = laws.oracle_loss(fixed).value
            rows.append(
                Loss(**columns("oracle (unadjusted)", 0, Found(level, 0, value, 0.0, 0, "")))
            )
    return Outcome(rows)


def _tuned(config: Baselines, problem: NoisyRegression) -> TunedRidge:
    """TUNEDRR, its constants as arrays: one compiled program serves all laws."""
    variance = problem.noise.second_moment()
    count = arguments.integer("tuning", config.tuning, 1)
    if variance == 0:
        found = TunedRidge(1.0, 1.0)
    else:
        key = jax.random.key(stream(config) >> 8)
        found = fit_tuned_ridge(ridge_sample_of(draw(problem, key, count), problem.n), variance)
    return TunedRidge(jnp.asarray(found.m), jnp.asarray(found.t))


@dataclass(frozen=True, kw_only=True)
class Iterations(Setting):
    """Iterative ADARR, gradient steps in the place of inverses, against the number of steps."""

    step: float = 0.01
    """Size of a gradient step; the paper has 1/100."""


STEPS = (10, 30, 60, 100, 200)


@dataclass(frozen=True)
class IterationsFound:
    steps: int  # 0 stands for ADARR itself, with inverses
    loss: float
    error: float
    samples: int


def run_iterations(config: Iterations) -> Outcome[IterationsFound]:
    step = arguments.positive("step", config.step)
    with jax.enable_x64(True):
        at = config.evaluation()
        rows = []
        for steps in (0, *STEPS):
            predictor = IterativeAdaRidge(steps, step) if steps else AdaRidge()
            found = means(of_predictor(predictor, at, profile=False))[0]
            if found.loss is not None and found.error is not None:
                rows.append(IterationsFound(steps, found.loss, found.error, found.samples))
    return Outcome(rows)


baselines = CellKind("linear_baselines", Baselines, Loss, run_baselines, version=2)
iterations = CellKind("linear_iterations", Iterations, IterationsFound, run_iterations, version=2)

KINDS = (baselines, iterations)
