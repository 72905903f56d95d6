"""The exact law of one neuron on the spiked attention pairs.

By symmetry a neuron's outcome depends on its sign vector y only through the signs at column 1, at
column d and at the spike row's class, and through the number K of + signs among the other d - 3
classes, K ~ Binomial(d - 3, 1/2): 8 (d - 2) states. In a state every row of the attention output
has one of at most four scores: the spike row, the rest of its class, and a row of another class
whose own sign is + (if K > 0) or - (if K < d - 3). Ours; the paper only samples.
"""

import math
from itertools import product

import numpy as np
from jaxtyping import Float

from attnlab.errors import UserError
from attnlab.separation.models.attention import KINDS, normalise
from attnlab.separation.models.threshold_network import NETWORKS, TIE, AttentionNetwork, exceeds
from attnlab.separation.problem.attention import SpikedPair
from attnlab.separation.theory.neuron_law import NeuronLaw, binomial_weights

# Signs at column 1, at the spike row's class and at column d.
_CORNERS = np.array(list(product((-1.0, 1.0), repeat=3)))


def attention_law(pair: SpikedPair, network: AttentionNetwork) -> NeuronLaw:
    """The law for X and V that treat the classes other than the spike row's alike."""
    X, V = network.matrices(pair.d)
    for name, given, matrix in (("X", network.X, X), ("V", network.V, V)):
        if not isinstance(given, str):
            _require_exchangeable(name, matrix, pair)
    scores = _scores(pair, X, V)
    tau = pair.threshold(network.offset)
    distance = np.abs(scores - tau)
    margin = float(distance.min(initial=math.inf, where=distance > TIE)) / pair.unit

    # NaN marks rows that do not occur in a state, and compares as not exceeding.
    fires = np.logical_or.reduce(exceeds(scores, tau), axis=1)
    weights = binomial_weights(pair.d - 3) / 8
    silent = ~fires
    quiet = silent[1] & silent[2] & silent[3]
    e, *exceed = (float((row * weights).sum()) for row in fires)
    return NeuronLaw(
        # The rounded weights of many classes need not add up to exactly 1.
        q=1.0 if quiet.all() else float((quiet * weights).sum()),
        r=float(((quiet & silent[0]) * weights).sum()),
        fire=e,
        exceed=(exceed[0], exceed[1], exceed[2]),
        margin=margin,
        tied=bool((distance <= TIE).any()),
    )


def _scores(
    pair: SpikedPair, X: Float[np.ndarray, "d d"], V: Float[np.ndarray, "d d"]
) -> Float[np.ndarray, "4 4 8 K"]:
    """<c_j, y> by network, kind of row, corner signs and K; NaN where the row does not occur."""
    s = pair.spike_class
    others = [i for i in (0, 1, 2) if i != s][: min(2, pair.classes - 1)]
    own, other = 1 + others[0], 1 + others[-1]
    repeated = int(pair.copies > 1)

    coefficients = np.full((len(NETWORKS), 3, 5), math.nan)
    for label in (0, 1):
        queries, (keys, counts) = pair.distinct_queries(label).rows, pair.distinct_keys(label)
        representatives = queries[: 2 + repeated]
        products, values = representatives @ X @ keys.T, keys @ V
        present = [0, 1, 2] if repeated else [0, 2]
        for kind in KINDS:
            c = normalise(products, kind, counts) @ values
            at = NETWORKS.index((kind, label))
            coefficients[at, present] = c[:, [0, 1 + s, pair.d - 1, own, other]]
    # The representative of the other classes is the first one: its own column is `own`. In the
    # two other rows no class is special, so their own column is one of the others.
    corner = coefficients[..., :3] @ _CORNERS.T
    own_excess = coefficients[..., 3] - coefficients[..., 4]
    K = np.arange(pair.d - 2)
    sums = coefficients[..., 4, None] * (2.0 * K - (pair.d - 3))
    base = corner[..., :, None] + sums[..., None, :]

    plus, minus = np.where(K > 0, 1.0, math.nan), np.where(pair.d - 3 > K, -1.0, math.nan)
    excess = own_excess[:, 2, None, None]
    rows = [base[:, 0], base[:, 1], base[:, 2] + excess * plus, base[:, 2] + excess * minus]
    return np.stack(rows, axis=1)


def _require_exchangeable(name: str, M: Float[np.ndarray, "d d"], pair: SpikedPair) -> None:
    """Raise unless M is unchanged when the classes other than the spike row's are permuted."""
    others = np.delete(np.arange(1, pair.d - 1), pair.spike_class)
    special = [0, 1 + pair.spike_class, pair.d - 1]
    block = M[others][:, others]
    groups = [
        M[special][:, others],
        M[others][:, special].T,
        block.diagonal()[None, :],
        block[~np.eye(len(others), dtype=bool)][None, :],
    ]
    spread = max(float(np.ptp(group, axis=1).max()) for group in groups if group.size)
    if spread > 1e-13 * float(np.abs(M).max()):
        raise UserError(
            f"{name} must treat all classes but the spike row's alike for the exact law, got "
            f"entries that differ by {spread:.3g}; the Monte Carlo does not need this."
        )
