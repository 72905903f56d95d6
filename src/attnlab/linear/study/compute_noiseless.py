"""The computation of the cell without noise (`questions_noiseless`)."""

from __future__ import annotations

import jax
import numpy as np

from attnlab.lab.cell import Outcome, seed_of
from attnlab.linear.noise import Uniform
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.study.questions_noiseless import Noiseless, NoiselessFound
from attnlab.linear.study.rare_eigenvalues import SELDOM
from attnlab.linear.study.table_1 import SEQUENCES
from attnlab.linear.theory.laws import frequent_eigenvalues
from attnlab.linear.training.families import SpectralLeastSquares
from attnlab.linear.training.growth import GrowthEffort, grow

RAREST = SELDOM / SEQUENCES
LARGEST = 1e300


def noiseless(config: Noiseless) -> Outcome[NoiselessFound]:
    """Fit GD++ to both laws of the eigenvalues, and integrate its loss."""
    problem = NoisyRegression(config.d, config.n, Uniform(0.0))
    with jax.enable_x64(True):
        key = jax.random.key(seed_of(config))
        # GD++ is fitted to the law itself; the samples only report a loss that is not used here.
        sizes = {"screening": 1, "sequences": 4, "pool": 4, "tail": 1, "rounds": 0, "fresh": 2}
        fits = [
            grow(
                "gd++",
                problem,
                key,
                config.depth,
                effort=GrowthEffort(starts=config.starts, rarest=rarest, **sizes),
            )
            for rarest in (0.0, RAREST)
        ]
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


def _expected(network, problem: NoisyRegression, rarest: float) -> float:
    """1/2 sum_i E g(s_i)^2, without ends of the spectrum that are rarer than `rarest`."""
    s, r = frequent_eigenvalues(problem.d, problem.n, rarest)
    value = SpectralLeastSquares(s, np.zeros_like(s), r).objective(network)
    return min(value, LARGEST) if np.isfinite(value) else LARGEST
