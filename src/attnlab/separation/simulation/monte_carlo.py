"""Monte Carlo of Pr[E_success], called like the exact law `attnlab.separation.theory.success`."""

from __future__ import annotations

import math

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.separation.models import AttentionNetwork, RegressionNetwork
from attnlab.separation.problem import RegressionPair, SpikedPair
from attnlab.separation.simulation.attention_trials import AttentionTrials
from attnlab.separation.simulation.regression_trials import RegressionTrials
from attnlab.separation.simulation.trials import BLOCK
from attnlab.stats import Estimate


def simulate(
    problem: SpikedPair | RegressionPair,
    network: AttentionNetwork | RegressionNetwork,
    *,
    trials: int = 100,
    seed: int = 0,
    block: int = BLOCK,
) -> Estimate:
    """The frequency p of E_success in independent trials, with new signs (and data) in each.

    Parameters
    ----------
    problem, network
        What is separated and what separates it, as in `success`.
    trials, seed
        Number of trials, and the seed of their signs and data.
    block
        About how many bytes are held at once. It changes nothing in the result.

    Returns
    -------
    Estimate
        The frequency with the standard error sqrt(p (1 - p) / trials). That is 0 when all trials
        agree, which is no certainty; `attnlab.stats.clopper_pearson` gives intervals that are
        valid there too.
    """
    trials = arguments.integer("trials", trials, 1)
    block = arguments.integer("block", block, 1)
    match problem, network:
        case SpikedPair(), AttentionNetwork():
            experiment = AttentionTrials(problem, network)
        case RegressionPair(), RegressionNetwork():
            experiment = RegressionTrials(problem, network)
        case _:
            raise UserError(
                f"network must be an AttentionNetwork for attention pairs and a RegressionNetwork "
                f"for regression pairs, got {type(network).__name__} for {type(problem).__name__}."
            )
    p = experiment.successes(trials, seed, block) / trials
    return Estimate(p, math.sqrt(p * (1 - p) / trials), trials)
