"""A point of the softmax-regression model: bounds, the law where there is one, and Monte Carlo."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from attnlab import arguments
from attnlab.lab.cell import CellKind, seed_of
from attnlab.lab.needs import Needs
from attnlab.separation import theory
from attnlab.separation.models import RegressionNetwork
from attnlab.separation.problem import RegressionPair
from attnlab.separation.simulation.regression_trials import trial_memory
from attnlab.separation.study.sampled import Sampled, sample
from attnlab.separation.theory.regression_bounds import bounds_memory
from attnlab.separation.theory.two_level_law import two_level_memory


@dataclass(frozen=True)
class RegressionPoint:
    """The probability that softmax regression separates the two datasets and linear does not.

    Section 7.1 of the paper, at one set of parameters: bounds or the law, and Monte Carlo.
    """

    n: int = 1000
    """Number of coordinates."""
    m: int = 6
    """Number of random neurons; the paper takes log n."""
    tau: float = 0.25
    """Threshold; the paper leaves it open, 1/4 fits Lemma 4.2."""
    data: Literal["uniform", "two-level"] = "uniform"
    """How the logits fill [log n, 1.4 log n]."""
    share: float = 0.5
    """Two-level data: the share of coordinates at 1.4 log n."""
    trials: int = 1000
    """Monte Carlo trials, with new data and signs in each; 0 for the law or bounds alone."""
    seed: int = 0
    """Seed of the trials and of the data in the bounds."""

    def problem(self) -> RegressionPair:
        """The two datasets."""
        arguments.fraction("share", self.share)
        return RegressionPair(self.n, self.data, self.share)

    def network(self) -> RegressionNetwork:
        """The networks that separate them."""
        arguments.integer("m", self.m, 1)
        return RegressionNetwork(self.m, self.tau)


@dataclass(frozen=True, kw_only=True)
class RegressionResult(Sampled):
    """Bounds on the probability of success, the exact law where there is one, and its Monte Carlo.

    The exact law needs two-level data; `exceed_*` are exact there and Chernoff's bounds elsewhere.
    """

    exact: float | None
    lower: float
    lower_error: float  # standard error of the lower bound over draws of the data
    upper: float
    fire: float | None  # e = Pr[one neuron of F_exp(D1) fires]
    exceed_lin1: float
    exceed_exp0: float
    exceed_lin0: float


def run_regression(config: RegressionPoint) -> RegressionResult:
    """The bounds, the law and the trials of one point."""
    problem, network = config.problem(), config.network()
    # Not the draws of the trials, which the bounds are compared with; the same at every width.
    bounds = theory.success_bounds(problem, network, seed=seed_of(config, ("m", "trials")))
    law = theory.neuron_law(problem, network) if config.data == "two-level" else None
    exceed = law.exceed if law else bounds.exceed
    found = sample(problem, network, config.trials, seed_of(config))
    return RegressionResult(
        exact=theory.success_from(law, config.m) if law else None,
        lower=bounds.lower.value,
        lower_error=bounds.lower.standard_error,
        upper=bounds.upper.value,
        fire=law.fire if law else None,
        exceed_lin1=exceed[0],
        exceed_exp0=exceed[1],
        exceed_lin0=exceed[2],
        **asdict(found),
    )


def needs_of_regression(config: RegressionPoint) -> Needs:
    """The logits of the bounds, the states of the law, or one trial: one after the other."""
    problem = config.problem()
    law = two_level_memory(problem) if config.data == "two-level" else 0.0
    trial = max(trial_memory(config.n, config.m)) if config.trials else 0
    return Needs(max(bounds_memory(problem), law, trial), reduce="n or m")


regression = CellKind(
    "separation_regression",
    RegressionPoint,
    RegressionResult,
    run_regression,
    version=2,
    needs=needs_of_regression,
)
