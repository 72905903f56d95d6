"""The softmax-regression model on two-level data: an exact law.

A neuron's score is s f_spike + f_low S_1 + f_high S_2 with a sign s and independent sums of signs
S_i = 2 K_i - N_i, K_i ~ Binomial(N_i, 1/2), so that its law is a double binomial sum. Ours; the
paper only samples.
"""

import math

import numpy as np

from attnlab.errors import UserError
from attnlab.memory import require_memory
from attnlab.separation.models.threshold_network import NETWORKS, TIE, RegressionNetwork
from attnlab.separation.problem.regression import HIGH, LOW, SPIKE, RegressionPair
from attnlab.separation.theory.one_neuron import NeuronLaw, binomial_weights, weights_memory

_ARRAYS = 40 * 8  # bytes per coordinate: scores, distances and indices of four networks


def two_level_memory(problem: RegressionPair) -> float:
    """Bytes of the states of the exact law and of their weights."""
    N_low, N_high = _counts(problem)
    return _ARRAYS * problem.n + weights_memory(N_low) + weights_memory(N_high)


def _counts(problem: RegressionPair) -> tuple[int, int]:
    """How many coordinates other than the spiked one are low, and how many are high."""
    N_high = problem.high_count - int(problem.spike_level == HIGH)
    return problem.n - 1 - N_high, N_high


def two_level_law(problem: RegressionPair, network: RegressionNetwork) -> NeuronLaw:
    """The exact law of one neuron on two-level data.

    Scores rise with K_2, so that a network stays silent exactly for K_2 up to some k(s, K_1), and
    the double sum costs no more than a single one.
    """
    if problem.data != "two-level":
        raise UserError(
            f"data must be 'two-level' for the exact law, got {problem.data!r}; use success_bounds "
            f"or the Monte Carlo instead."
        )
    N_low, N_high = _counts(problem)
    require_memory("The states of the exact law", two_level_memory(problem), "n")
    signs = np.array([[-1.0], [1.0]])
    low_sums = 2.0 * np.arange(N_low + 1) - N_low

    last_silent, margin, tied = [], math.inf, False
    for kind, label in NETWORKS:
        f_spike, f_low, f_high = _two_level_weights(
            problem, N_low, N_high, kind == "softmax", label
        )
        rest = signs * f_spike + f_low * low_sums
        k = np.floor(((network.tau + TIE - rest) / f_high + N_high) / 2)
        last_silent.append(np.clip(k, -1, N_high).astype(int))
        for nearest in (np.clip(k, 0, N_high), np.clip(k + 1, 0, N_high)):
            scores = rest + f_high * (2 * nearest - N_high)
            distance = np.abs(scores - network.tau)
            margin = float(distance.min(initial=margin, where=distance > TIE))
            tied = tied or bool((distance <= TIE).any())

    weights = 0.5 * binomial_weights(N_low)
    tail = np.append(np.cumsum(binomial_weights(N_high)[::-1])[::-1], 0.0)

    def fires(k: np.ndarray) -> float:
        return float((weights * tail[k + 1]).sum())

    quiet = np.minimum.reduce(last_silent[1:])
    return NeuronLaw(
        q=1 - fires(quiet),
        r=1 - fires(np.minimum(quiet, last_silent[0])),
        fire=fires(last_silent[0]),
        exceed=(fires(last_silent[1]), fires(last_silent[2]), fires(last_silent[3])),
        spoil=fires(quiet),
        margin=margin,
        tied=tied,
    )


def _two_level_weights(
    problem: RegressionPair, N_low: int, N_high: int, softmax: bool, label: int
) -> tuple[float, float, float]:
    """f at the spiked, at the low and at the high coordinates."""
    levels = np.array([SPIKE if label else problem.spike_level, LOW, HIGH]) * problem.unit
    u = np.exp(levels - levels.max()) if softmax else levels
    f = u / (u @ np.array([1.0, N_low, N_high]))
    return float(f[0]), float(f[1]), float(f[2])
