"""Which neurons of the regression model surely stay silent, found by counting bits.

With weights w_i > 0 the score sum_i w_i s_i / sum_i w_i is at most tau exactly when
sum_i w_i (s_i - tau) <= 0. Let every weight lie in [l_i, l_i + h] with l_i = l + step q_i and an
integer q_i of few bits. Then that sum is at most

    sum_{s_i = +} [(1 + tau) l_i + max(1 - tau, 0) (l_i + h)]  -  (1 + tau) sum_i l_i,

where the signs enter by how many are + and by the sum of q_i over them. Both are counts of bits, 64
signs to a word. Most scores are far below tau, so that a few bits of the weights suffice.
"""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, UInt, UInt64

from attnlab.separation.models import KINDS, Kind
from attnlab.separation.problem import RegressionPair
from attnlab.separation.problem.regression import HIGH, LOW, SPIKE
from attnlab.separation.rademacher import packed

# Bits of q_i. The weights of linear attention differ less from each other.
BITS: dict[Kind, int] = {"softmax": 4, "linear": 1}

# Intervals reach beyond a step by this share of it on both sides. The weights are rounded to
# float32 before they are cut, which moves them by 2^-18 of themselves at most.
MARGIN = 2.0**-10


class CutWeights(NamedTuple):
    """Weights of D0 that lie in [low + step q, low + step q + width], q being integers."""

    low: float
    step: float
    width: float
    masks: list[UInt64[np.ndarray, "words trials"]]  # bit k of every q, for each k


def silent_neurons(
    problem: RegressionPair,
    tau: float,
    levels: Float[np.ndarray, "trials n"],
    signs: UInt64[np.ndarray, "trials m words"],
) -> dict[Kind, Bool[np.ndarray, "trials m"]]:
    """Neurons that surely do not exceed tau: of F_exp on D0, and of F_lin on D0 and on D1.

    Parameters
    ----------
    problem, tau
        The regression pair and the threshold.
    levels
        The logits of D0 in units of log n.
    signs
        The signs as `packed` bits, 1 for +.
    """
    words = np.ascontiguousarray(np.moveaxis(signs, -1, 0))
    above, below = max(1 - tau, 0.0), 1 + tau  # |1 - tau| and |-1 - tau|, where they matter
    plus = _count(words, problem.n)
    found: dict[Kind, Bool[np.ndarray, "trials m"]] = {}
    for kind in KINDS:
        cut = cut_weights(problem, levels, kind)
        most = plus * ((above + below) * cut.low + above * cut.width)
        least = np.full(len(levels), below * problem.n * cut.low)
        for k, mask in enumerate(cut.masks):
            size = 2**k * cut.step
            most += (above + below) * size * _count(words & mask[..., None], problem.n)
            least += below * size * _count(mask, problem.n)
        if kind == "linear":
            most += above * (SPIKE - LOW)  # D1 has SPIKE in place of LOW or more
        found[kind] = most < least[:, None]
    return found


def cut_weights(
    problem: RegressionPair, levels: Float[np.ndarray, "trials n"], kind: Kind
) -> CutWeights:
    """The weights u or exp(u) of D0, in units of log n or of the largest possible one."""
    low, high = LOW, HIGH
    if kind == "softmax":
        low, high = math.exp((LOW - HIGH) * problem.unit), 1.0
        weights = np.subtract(levels, HIGH, dtype=np.float32)
        weights *= problem.unit
        np.exp(weights, out=weights)
        weights -= low
    else:
        weights = np.subtract(levels, low, dtype=np.float32)
    # A little less than 2^bits, so that the largest weight has q < 2^bits as well.
    steps = 2 ** BITS[kind] * (1 - MARGIN)
    weights *= steps / (high - low)
    q = weights.astype(np.uint8)
    masks = [np.ascontiguousarray(packed(q & (1 << k)).T) for k in range(BITS[kind])]
    step = (high - low) / steps
    return CutWeights(low - MARGIN * step, step, (1 + 2 * MARGIN) * step, masks)


def _count(words: UInt64[np.ndarray, "words *rows"], n: int) -> UInt[np.ndarray, "*rows"]:
    """The number of ones, which is n at most."""
    return np.bitwise_count(words).sum(axis=0, dtype=np.min_scalar_type(n))
