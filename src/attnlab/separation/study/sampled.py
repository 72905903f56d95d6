"""The Monte Carlo columns that points of both models share."""

from __future__ import annotations

from dataclasses import dataclass

from attnlab import arguments
from attnlab.separation.models import AttentionNetwork, RegressionNetwork
from attnlab.separation.problem import RegressionPair, SpikedPair
from attnlab.separation.simulation import simulate
from attnlab.stats import clopper_pearson


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """A Monte Carlo frequency, its standard error and its exact 95% interval; None if not sampled.

    `low` and `high` are the ends of the interval.
    """

    successes: int | None = None
    sampled: float | None = None
    standard_error: float | None = None
    low: float | None = None
    high: float | None = None


def sample(
    problem: SpikedPair | RegressionPair,
    network: AttentionNetwork | RegressionNetwork,
    trials: int,
    seed: int,
) -> Sampled:
    """The columns for so many trials; empty for none."""
    if arguments.integer("trials", trials, 0) == 0:
        return Sampled()
    found = simulate(problem, network, trials=trials, seed=seed)
    successes = round(found.value * trials)
    low, high = clopper_pearson(successes, trials)
    return Sampled(
        successes=successes,
        sampled=found.value,
        standard_error=found.standard_error,
        low=low,
        high=high,
    )
