"""The softmax-regression model on any data: bounds on the probability of success.

    1 - 2^-m - m (p_1 + p_2 + p_3)  <=  Pr[E_success]  <=  1 - 2^-m,

where p_i are the probabilities that one neuron exceeds tau in F_lin(D1), F_exp(D0) and F_lin(D0),
as long as the spike decides the sign on D1. These are Lemmas 5.1-5.4 of arXiv 2310.11685 with
Chernoff's bound in place of Hoeffding's.
"""

import functools
import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.memory import require_memory
from attnlab.separation.models.attention import normalise
from attnlab.separation.models.threshold_network import NETWORKS, TIE, RegressionNetwork
from attnlab.separation.problem.regression import RegressionPair
from attnlab.separation.rademacher import generators
from attnlab.stats import Estimate

DATA_DRAWS = 16  # over which the lower bound is averaged
_ARRAYS = 20 * 8  # bytes per logit: weights of three networks and Newton's steps on them


def bounds_memory(problem: RegressionPair, draws: int = DATA_DRAWS) -> float:
    """Bytes that the bounds take; two-level data is one draw."""
    return _ARRAYS * (1 if problem.data == "two-level" else draws) * problem.n


class SuccessBounds(NamedTuple):
    """Bounds on Pr[E_success], and the bounds on p_1, p_2, p_3 that the lower one is made of.

    Where the data is random, `lower` and `exceed` are means over draws of it.
    """

    lower: Estimate
    upper: Estimate
    exceed: tuple[float, float, float]


def success_bounds(
    problem: RegressionPair, network: RegressionNetwork, *, draws: int = DATA_DRAWS, seed: int = 0
) -> SuccessBounds:
    """Rigorous bounds on Pr[E_success]; they hold for shared and for independent signs.

    Parameters
    ----------
    problem, network
        The regression pair and what reads it.
    draws, seed
        Over how many draws of random data the lower bound is averaged, and their seed.
    """
    count = 1 if problem.data == "two-level" else arguments.integer("draws", draws, 1)
    p = _exceed(problem, network.tau, count, arguments.integer("seed", seed, 0))
    top = 1 - 0.5**network.width
    lower = np.maximum(top - network.width * p.sum(axis=1), 0.0)
    mean = Estimate(float(lower[0])) if problem.data == "two-level" else Estimate.of(lower)
    p_1, p_2, p_3 = (float(each) for each in p.mean(axis=0))
    return SuccessBounds(mean, Estimate(top), (p_1, p_2, p_3))


@functools.lru_cache(maxsize=64)
def _exceed(
    problem: RegressionPair, tau: float, draws: int, seed: int
) -> Float[np.ndarray, "draws 3"]:
    """Chernoff's bounds on p_1, p_2, p_3, the same at every width, for each draw of the data."""
    (rng,) = generators(seed, 1)
    require_memory("The logits of the bounds", bounds_memory(problem, draws), "n")
    u0 = problem.draw(rng, draws)
    u1 = problem.spiked(u0)
    if not spike_decides(u1, tau):
        raise UserError(
            f"tau must lie below f_spike - (sum of the other weights) of F_exp(D1) for the "
            f"bounds, got {tau!r}."
        )
    f = np.stack([normalise((u0, u1)[label], kind) for kind, label in NETWORKS[1:]], axis=1)
    return chernoff(f, tau)


def spike_decides(u1: Float[np.ndarray, "*draws n"], tau: float) -> bool:
    """Whether f_spike - (sum of the others) > tau in F_exp(D1), so that e = 1/2 exactly.

    Lemma 4.2, parts 2 and 3: the sign of the spiked coordinate alone decides.
    """
    f = normalise(u1, "softmax")
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
        if (np.abs(step) <= 1e-6 * theta).all():
            break
    z = theta[..., None] * f
    log_cosh = z + np.log1p(np.exp(-2 * z)) - math.log(2)
    # Signs are symmetric, so no positive threshold is passed more often than half the time.
    return np.asarray(np.minimum(np.exp(log_cosh.sum(axis=-1) - theta * tau), 0.5))
