"""Questions without layers: the three ridges, Bayes, the exact laws, and iterative ADARR.

Source: Vladymyrov et al. (arXiv 2402.14180), Section 6; BAYES and the laws are ours. They are
evaluated on the same sequences as the networks, and answered in `compute_ridges`.
"""

from __future__ import annotations

from dataclasses import dataclass

from attnlab import arguments
from attnlab.linear.study.questions_networks import Setting


@dataclass(frozen=True, kw_only=True)
class Baselines(Setting):
    """The three ridges, Bayes, and the exact laws, on one noise law.

    CONSTRR has its best constant, E sigma^2, and is not tuned.
    """

    tuning: int = 20_000
    """Sequences on which TUNEDRR is tuned."""

    def __post_init__(self) -> None:
        super().__post_init__()
        arguments.integer("tuning", self.tuning, 1)


@dataclass(frozen=True, kw_only=True)
class Iterations(Setting):
    """Iterative ADARR, with gradient steps in place of inverses, by the number of steps."""

    step: float = 0.01
    """Size of a gradient step, which is ours: the paper names none."""

    def __post_init__(self) -> None:
        super().__post_init__()
        arguments.positive("step", self.step)


STEPS = (10, 30, 60, 100, 200)


@dataclass(frozen=True)
class IterationsFound:
    """The loss of iterative ADARR with one number of steps."""

    steps: int  # for the noise, and as many for ridge; 0 is ADARR itself, with inverses
    loss: float
    error: float  # the standard error of `loss`
    samples: int
