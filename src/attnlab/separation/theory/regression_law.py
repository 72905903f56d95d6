"""The softmax-regression model: an exact law on two-level data, and bounds on any data.

On two-level data a neuron's score is s f_spike + f_low S_1 + f_high S_2 with independent sign sums
S_i = 2 K_i - N_i, K_i ~ Binomial(N_i, 1/2), so that its law is a double binomial sum. On any data

    1 - 2^-m - m (p_1 + p_2 + p_3)  <=  Pr[E_success]  <=  1 - 2^-m,

p_i the one-neuron probabilities of F_lin(D1), F_exp(D0), F_lin(D0) exceeding tau, as long as the
spike decides the sign on D1. The law is ours; the bounds are Lemmas 5.1-5.4 of arXiv 2310.11685
with Chernoff's bound in place of Hoeffding's.
"""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.separation.models.attention import regression_weights
from attnlab.separation.models.threshold_network import NETWORKS, TIE, RegressionNetwork
from attnlab.separation.problem.regression import HIGH, LOW, SPIKE, RegressionPair
from attnlab.separation.theory.neuron_law import NeuronLaw, binomial_weights
from attnlab.stats.estimate import Estimate


class SuccessBounds(NamedTuple):
    """Bounds on Pr[E_success]; the lower one averages over data draws where the data is random."""

    lower: Estimate
    upper: Estimate


def two_level_law(problem: RegressionPair, network: RegressionNetwork) -> NeuronLaw:
    """The exact law of one neuron on two-level data.

    Scores rise with K_2, so a network stays silent exactly for K_2 up to some k(s, K_1), and the
    double sum costs only as much as a single one.
    """
    if problem.data != "two-level":
        raise UserError(
            f"data must be 'two-level' for the exact law, got {problem.data!r}; use success_bounds "
            f"or the Monte Carlo instead."
        )
    N_high = problem.high_count - int(problem.spike_level == HIGH)
    N_low = problem.n - 1 - N_high
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
        margin=margin,
        tied=tied,
    )


def success_bounds(
    problem: RegressionPair, network: RegressionNetwork, *, draws: int = 16, seed: int = 0
) -> SuccessBounds:
    """Rigorous bounds for given data, averaged over `draws` where the data is random.

    They hold for shared and for independent signs.
    """
    u0, u1 = _draws(problem, draws, seed)
    if not spike_decides(u1, network.tau):
        raise UserError(
            f"tau must lie below f_spike - (sum of the other weights) of F_exp(D1) for the "
            f"bounds, got {network.tau!r}."
        )
    p = _exceed_bounds(u0, u1, network.tau).sum(axis=1)
    top = 1 - 0.5**network.width
    lower = np.maximum(top - network.width * p, 0.0)
    if problem.data == "two-level":
        return SuccessBounds(Estimate(float(lower[0])), Estimate(top))
    error = float(lower.std(ddof=1)) / math.sqrt(len(lower)) if len(lower) > 1 else math.inf
    return SuccessBounds(Estimate(float(lower.mean()), error, len(lower)), Estimate(top))


def exceed_bounds(
    problem: RegressionPair, tau: float, *, draws: int = 16, seed: int = 0
) -> Float[np.ndarray, "draws 3"]:
    """Chernoff bounds on p_1, p_2, p_3, one row a data draw (a single row for two-level data)."""
    return _exceed_bounds(*_draws(problem, draws, seed), arguments.positive("tau", tau))


def spike_decides(u1: Float[np.ndarray, "*draws n"], tau: float) -> bool:
    """Whether f_spike - (sum of the others) > tau in F_exp(D1), so that e = 1/2 exactly.

    Lemma 4.2, parts 2 and 3: the sign of the spiked coordinate alone decides.
    """
    f = regression_weights(u1, "softmax")
    top = f.max(axis=-1)
    return bool((top - (f.sum(axis=-1) - top) > tau + TIE).all())


def chernoff(f: Float[np.ndarray, "*batch n"], tau: float) -> Float[np.ndarray, "*batch"]:
    """min_theta exp(-theta tau) prod_i cosh(theta f_i) >= Pr[<f, sigma> > tau], tau > 0.

    Any theta gives a bound, so stopping early costs tightness, never validity. The minimum solves
    sum_i f_i tanh(theta f_i) = tau; the left side is increasing and concave, and the start
    tau / |f|^2 lies below the solution, so Newton's steps climb to it without overshooting.
    """
    f = np.abs(f)
    theta = tau / (f**2).sum(axis=-1)
    for _ in range(30):
        t = np.tanh(theta[..., None] * f)
        slope = (f**2 * (1 - t**2)).sum(axis=-1)
        # Where tau >= |f|_1 there is no solution, theta runs off and the slope vanishes.
        step = (tau - (f * t).sum(axis=-1)) / np.maximum(slope, 1e-30)
        theta = theta + np.clip(step, 0.0, 4 * theta)
        if (np.abs(step) <= 1e-10 * theta).all():
            break
    z = theta[..., None] * f
    log_cosh = z + np.log1p(np.exp(-2 * z)) - math.log(2)
    # Signs are symmetric, so no positive threshold is passed more often than half the time.
    return np.asarray(np.minimum(np.exp(log_cosh.sum(axis=-1) - theta * tau), 0.5))


def _exceed_bounds(
    u0: Float[np.ndarray, "draws n"], u1: Float[np.ndarray, "draws n"], tau: float
) -> Float[np.ndarray, "draws 3"]:
    by_label = (u0, u1)
    f = np.stack(
        [regression_weights(by_label[label], kind) for kind, label in NETWORKS[1:]], axis=1
    )
    return chernoff(f, tau)


def _draws(problem: RegressionPair, draws: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    count = 1 if problem.data == "two-level" else arguments.integer("draws", draws, 1)
    bits = np.random.Philox(arguments.integer("seed", seed, 0))
    return problem.sample(np.random.Generator(bits), count)


def _two_level_weights(
    problem: RegressionPair, N_low: int, N_high: int, softmax: bool, label: int
) -> tuple[float, float, float]:
    """f at the spiked, at the low and at the high coordinates."""
    levels = np.array([SPIKE if label else problem.spike_level, LOW, HIGH]) * problem.unit
    u = np.exp(levels - levels.max()) if softmax else levels
    f = u / (u @ np.array([1.0, N_low, N_high]))
    return float(f[0]), float(f[1]), float(f[2])
