"""From one neuron to the whole network: success at every width from a few probabilities.

The m neurons are independent, so with the same signs in all four networks

    Pr[E_success] = q^m - r^m,

where q is the probability that one neuron stays silent in F_lin(D1), F_exp(D0) and F_lin(D0), and r
the probability that it stays silent in F_exp(D1) as well. This law is ours; the paper only samples.
"""

import functools
import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from attnlab import arguments

WIDEST = 10**9  # the largest width that `width_range` answers


@dataclass(frozen=True)
class NeuronLaw:
    """The probabilities of one neuron, which do not depend on the width.

    Parameters
    ----------
    q
        That it stays silent in F_lin(D1), F_exp(D0) and F_lin(D0).
    r
        That it stays silent in all four networks.
    fire
        e, that it exceeds tau in F_exp(D1).
    exceed
        That it exceeds tau in F_lin(D1), in F_exp(D0) and in F_lin(D0).
    spoil
        1 - q, added up from the states that exceed, so that it is precise where q is nearly 1.
    margin
        The smallest |score - tau| over the states that occur, ties apart, in units of sqrt(log n)
        for attention. float64 decides every state correctly as long as it is far above rounding.
    tied
        Whether some score equals tau, which does not count as exceeding it.
    """

    q: float
    r: float
    fire: float
    exceed: tuple[float, float, float]
    spoil: float
    margin: float
    tied: bool = False


@dataclass(frozen=True)
class BestWidth:
    """The width of highest success: where the formula peaks, the best integer, and a remark.

    `real` is None where success is the same at every width and infinite where wider is never worse.
    """

    real: float | None
    integer: int | None
    note: str


def success_from(law: NeuronLaw, width: int, shared: bool = True) -> float:
    """Pr[E_success] at a width m.

    It is q^m - r^m where the four networks share their signs, and otherwise the product
    (1 - (1 - e)^m) (1 - p_1)^m (1 - p_2)^m (1 - p_3)^m, the p_i being `law.exceed`.
    """
    m = arguments.integer("width", width, 1)
    if shared:
        return law.q**m - law.r**m
    return cap(law, m) * math.prod((1 - p) ** m for p in law.exceed)


def failure_from(law: NeuronLaw, width: int) -> float:
    """1 - Pr[E_success] = 1 - q^m + r^m with shared signs, precise where it is tiny."""
    m = arguments.integer("width", width, 1)
    spoiled = 1.0 if law.spoil >= 1 else -math.expm1(m * math.log1p(-law.spoil))
    return spoiled + law.r**m


def width_range(law: NeuronLaw, goal: float) -> tuple[int, int] | None:
    """The least and the largest width whose probability of failure is at most `goal`.

    None where no width reaches it. The failure falls with the width, since r^m does, until the
    other three networks break more often; the largest width is `WIDEST` where they never do.
    """
    goal = arguments.open_fraction("goal", goal)
    if law.spoil >= 1 or law.r >= 1:
        return None
    log_q, log_r = math.log1p(-law.spoil), math.log(max(law.r, 5e-324))
    if log_q <= log_r:  # no neuron can succeed
        return None
    # r^m <= goal and 1 - q^m <= goal are necessary, and bound the search from both sides.
    first = max(math.ceil(math.log(goal) / log_r), 1)
    last = min(math.floor(math.log1p(-goal) / log_q), WIDEST) if log_q < 0 else WIDEST
    best = WIDEST
    if log_q < 0:
        best = max(math.floor(math.log(log_r / log_q) / (log_q - log_r)), 1)
    least = next((m for m in range(first, min(last, best + 1) + 1) if _reached(law, m, goal)), None)
    if least is None:
        return None
    low, high = max(least, min(best, last)), last
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _reached(law, middle, goal) else (low, middle - 1)
    return least, low


def _reached(law: NeuronLaw, width: int, goal: float) -> bool:
    return failure_from(law, width) <= goal


def cap(law: NeuronLaw, width: int) -> float:
    """1 - (1 - e)^m, the probability that F_exp(D1) > 0, which success cannot pass."""
    return 1 - (1 - law.fire) ** arguments.integer("width", width, 1)


def best_width(law: NeuronLaw) -> BestWidth:
    """The m that maximises q^m - r^m, namely ln(ln r / ln q) / ln(q / r)."""
    if law.q <= law.r:
        return BestWidth(None, None, "No neuron can succeed, so success is 0 at every width.")
    if law.q >= 1:
        note = "No neuron can spoil success, so it grows with the width without end."
        return BestWidth(math.inf, None, note)
    if law.r <= 0:
        note = "Every neuron that does not spoil success brings it, so the narrowest is best."
        return BestWidth(0.0, 1, note)
    real = math.log(math.log(law.r) / math.log(law.q)) / math.log(law.q / law.r)
    # q^m - r^m has a single peak, so the best integer is next to it.
    below = max(math.floor(real), 1)
    integer = max((below, below + 1), key=lambda m: success_from(law, m))
    return BestWidth(real, integer, "Wider than this, the three silent networks break sooner.")


@functools.lru_cache(maxsize=4096)
def binomial_weights(N: int) -> Float[np.ndarray, " K"]:
    """Pr[K = 0..N] for K ~ Binomial(N, 1/2), each rounded once from the exact rational."""
    counts, total = [1], 1 << N
    for k in range(N // 2):
        counts.append(counts[-1] * (N - k) // (k + 1))
    half = np.array([count / total for count in counts])
    weights = np.concatenate([half, half[: N + 1 - len(half)][::-1]])
    weights.flags.writeable = False
    return weights


def weights_memory(N: int) -> float:
    """Bytes that `binomial_weights` takes: N / 2 integers of at most N bits."""
    return N * N / 16
