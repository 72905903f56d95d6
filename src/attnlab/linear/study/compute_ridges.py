"""The computation of the cells without layers (`questions_ridges`)."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from attnlab.lab.cell import Outcome, seed_of
from attnlab.linear.models.bayes import DiscreteBayes
from attnlab.linear.models.predictors import AdaRidge, ConstRidge, IterativeAdaRidge, TunedRidge
from attnlab.linear.models.tuned_ridge import RidgeSample, fit_tuned_ridge
from attnlab.linear.noise import Fixed
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.study.compute_networks import columns, evaluation_of
from attnlab.linear.study.evaluation import MeanLoss, by_layer, of_predictor
from attnlab.linear.study.questions_networks import LossRow
from attnlab.linear.study.questions_ridges import STEPS, Baselines, Iterations, IterationsFound
from attnlab.linear.theory import laws
from attnlab.linear.training.fixed_sample import draw


def baselines(config: Baselines) -> Outcome[LossRow]:
    """Evaluate the ridges and Bayes, and compute the laws."""
    with jax.enable_x64(True):
        at = evaluation_of(config)
        problem = at.problem
        predictors = {
            "CONSTRR": ConstRidge(jnp.asarray(problem.noise.second_moment())),
            "ADARR": AdaRidge(),
            "TUNEDRR": _tuned(config, problem),
            "BAYES": DiscreteBayes(*map(jnp.asarray, problem.noise.quadrature())),
        }
        rows = [
            LossRow(**columns(name, 0, found))
            for name, predictor in predictors.items()
            for found in of_predictor(predictor, at)
        ]
    exact = {
        "oracle (unadjusted)": laws.oracle_loss(problem),
        "GD++ floor": laws.gd_plus_plus_floor(problem),
        "one layer": laws.one_layer_loss(problem),
    }
    rows += [_exact(name, None, law.value) for name, law in exact.items()]
    for level in at.levels:
        fixed = NoisyRegression(config.d, config.n, Fixed(level))
        rows.append(_exact("oracle (unadjusted)", level, laws.oracle_loss(fixed).value))
    return Outcome(rows)


def _exact(name: str, sigma: float | None, value: float) -> LossRow:
    return LossRow(**columns(name, 0, MeanLoss(sigma, 0, value, 0.0, 0, "")))


def _tuned(config: Baselines, problem: NoisyRegression) -> TunedRidge:
    """TUNEDRR with its constants as arrays, so that one compiled program serves all laws."""
    variance = problem.noise.second_moment()
    if variance == 0:
        found = TunedRidge(1.0, 1.0)
    else:
        sample = draw(problem, jax.random.key(seed_of(config)), config.tuning)
        found = fit_tuned_ridge(RidgeSample.of(sample.G, sample.oracle, problem.n), variance)
    return TunedRidge(jnp.asarray(found.m), jnp.asarray(found.t))


def iterations(config: Iterations) -> Outcome[IterationsFound]:
    """Evaluate iterative ADARR for several numbers of steps."""
    with jax.enable_x64(True):
        at = evaluation_of(config)
        rows = []
        for steps in (0, *STEPS):
            predictor = IterativeAdaRidge(steps, config.step) if steps else AdaRidge()
            found = by_layer(of_predictor(predictor, at, profile=False))[0]
            if found.loss is not None and found.error is not None:
                rows.append(IterationsFound(steps, found.loss, found.error, found.samples))
    return Outcome(rows)
