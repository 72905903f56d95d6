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
