"""The computation of the cells without noise (`questions_noiseless`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from attnlab.lab.cell import Outcome, config_values, seed_of
from attnlab.lab.units import Units
from attnlab.linear.noise import Uniform
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.study.questions_noiseless import (
    CUTS,
    FIRST,
    Noiseless,
    NoiselessEvaluations,
    NoiselessFound,
    NoiselessMean,
)
from attnlab.linear.study.rare_eigenvalues import SELDOM
from attnlab.linear.study.table_1 import SEQUENCES
from attnlab.linear.theory.laws import frequent_eigenvalues
from attnlab.linear.training.families import SpectralLeastSquares, missing_share
from attnlab.linear.training.growth import GrowthEffort, TrainedDepth, grow

RAREST = SELDOM / SEQUENCES
LARGEST = 1e300


def noiseless(config: Noiseless) -> Outcome[NoiselessFound]:
    """Fit GD++ to both laws of the eigenvalues, and integrate its loss."""
    problem = NoisyRegression(config.d, config.n, Uniform(0.0))
    with jax.enable_x64(True):
        fits = _fitted(config, problem, seed_of(config), (0.0, RAREST))
        rows = [
            NoiselessFound(
                whole.weights.depth,
                _expected(whole.weights, problem, 0.0),
                _expected(seen.weights, problem, RAREST),
                _expected(seen.weights, problem, 0.0),
            )
            for whole, seen in zip(*fits, strict=True)
        ]
    return Outcome(rows)


def evaluations(config: NoiselessEvaluations) -> Outcome[NoiselessMean]:
    """The means of `evaluations` evaluations of every network of three layers or more.

    The loss of a sequence is 1/2 (sum_i g(s_i) w_i x_i)^2 in the eigenvectors of Sigma, in which
    the task w and the query x are standard normal.
    """
    problem = NoisyRegression(config.d, config.n, Uniform(0.0))
    with jax.enable_x64(True):
        seed = seed_of(config, without=("part", "evaluations"))
        fits = _fitted(config, problem, seed, [cut / config.sequences for cut in CUTS])
    rng = np.random.default_rng(seed_of(config))
    units = Units("evaluation", config.evaluations)
    rows: list[NoiselessMean] = []
    if units.done:
        state, held = units.notes
        rng.bit_generator.state = state
        rows += [NoiselessMean(**values) for values in held]
    for evaluation in range(units.done, config.evaluations):
        X = rng.standard_normal((config.sequences, config.n, config.d))
        s = np.linalg.eigvalsh(X.transpose(0, 2, 1) @ X)
        both = rng.standard_normal(s.shape) * rng.standard_normal(s.shape)
        for cut, grown in zip(CUTS, fits, strict=True):
            for each in grown[FIRST - 1 :]:
                network: Any = each.weights
                residual = (missing_share(network, s) * both).sum(1)
                mean = float(np.mean(np.square(residual)) / 2)
                rows.append(NoiselessMean(network.depth, cut, evaluation, mean))
        units.finish(lambda: ((rng.bit_generator.state, [config_values(row) for row in rows]), {}))
    return Outcome(rows)


def _fitted(
    config: Noiseless | NoiselessEvaluations,
    problem: NoisyRegression,
    seed: int,
    ends: Sequence[float],
) -> list[tuple[TrainedDepth, ...]]:
    """GD++ of every depth, fitted to the spectrum without ends that are rarer than each of these.

    It is fitted to the law itself; the samples only report a loss that is not used here.
    """
    sizes = {"screening": 1, "sequences": 4, "pool": 4, "tail": 1, "rounds": 0, "fresh": 2}
    efforts = [GrowthEffort(starts=config.starts, rarest=rarest, **sizes) for rarest in ends]
    key = jax.random.key(seed)
    return [grow("gd++", problem, key, config.depth, effort=effort) for effort in efforts]


def _expected(network, problem: NoisyRegression, rarest: float) -> float:
    """1/2 sum_i E g(s_i)^2, without ends of the spectrum that are rarer than `rarest`."""
    s, r = frequent_eigenvalues(problem.d, problem.n, rarest)
    value = SpectralLeastSquares(s, np.zeros_like(s), r).objective(network)
    return min(value, LARGEST) if np.isfinite(value) else LARGEST
