"""The exact law of one neuron on the spiked attention pairs.

By symmetry a neuron's outcome depends on its sign vector y only through the signs at column 1, at
column d and at the spike row's class, and through the number K of + signs among the other d - 3
classes, K ~ Binomial(d - 3, 1/2): 8 (d - 2) states. In a state every row of the attention output
has one of at most four scores: the spike row, the rest of its class, and a row of another class
whose own sign is + (if K > 0) or - (if K < d - 3). Ours; the paper only samples.

The classes other than the spike row's look alike, so three of them stand for all: that of the
query ("own"), a second one, and a third one with the multiplicity of all that remain. Where the
spike rows of D0 and D1 are of different classes, both classes' signs are part of a state.
"""

import math
from itertools import product

import numpy as np
from jaxtyping import Bool, Float

from attnlab.errors import UserError
from attnlab.memory import require_memory
from attnlab.separation.models.attention import KINDS, normalise
from attnlab.separation.models.threshold_network import NETWORKS, TIE, AttentionNetwork, exceeds
from attnlab.separation.problem.attention import SpikedPair
from attnlab.separation.theory.one_neuron import NeuronLaw, binomial_weights, weights_memory

# Signs at column 1, at column d and at the spike row's class.
_CORNERS = np.array(list(product((-1.0, 1.0), repeat=3)))

# Columns of the reduced matrices: 1, d, the spike row's class, own, second, third class.
_OWN, _SECOND, _THIRD = 3, 4, 5
# Where the five rows that stand for all have the entry of their class.
_ROWS, _CLASSES = [0, 1, 2, 3, 4], [2, 2, _OWN, _SECOND, _THIRD]
_STATE_ARRAYS = 4 * 4 * 8 * 8 * 3  # bytes per value of K: scores, distances and comparisons


def law_memory(d: int) -> float:
    """Bytes of the states of the exact law and of their weights."""
    return _STATE_ARRAYS * d + weights_memory(d - 3)


def attention_law(pair: SpikedPair, network: AttentionNetwork) -> NeuronLaw:
    """The law for X and V that treat the classes other than the spike row's alike."""
    require_memory(
        "The states of the exact law",
        law_memory(pair.d),
        "the dimension d",
    )
    scores = _scores(pair, network)
    tau = pair.threshold(network.offset)

    # NaN marks rows that do not occur in a state, and compares as not exceeding.
    fires = np.logical_or.reduce(exceeds(scores, tau), axis=1)
    distance = np.abs(np.subtract(scores, tau, out=scores), out=scores)
    tied = distance <= TIE
    if tied.any():
        distance[tied] = math.inf
    margin = float(np.fmin.reduce(distance, axis=None))

    weights = binomial_weights(pair.d - 3) / 8
    if pair.zero_class != pair.spike_class:
        fires, weights = _two_classes(fires), binomial_weights(pair.d - 4) / 16
    spoiled = fires[1] | fires[2] | fires[3]
    events = np.concatenate([fires, [spoiled, ~spoiled, ~(spoiled | fires[0])]])
    e, *exceed, spoil, q, r = _probabilities(events, weights)
    return NeuronLaw(
        q=q,
        r=r,
        fire=e,
        exceed=(exceed[0], exceed[1], exceed[2]),
        spoil=spoil,
        margin=margin / pair.unit,
        tied=bool(tied.any()),
    )


def _two_classes(fires: Bool[np.ndarray, "4 8 K"]) -> Bool[np.ndarray, "4 16 J"]:
    """The states where the spike rows of D0 and D1 are of different classes.

    A state has the signs at column 1, column d and both classes, and the number J of + signs among
    the other d - 4. To a network, the other dataset's class is one of those that look alike.
    """
    found = []
    J = np.arange(fires.shape[-1] - 1)
    for first, last, zero, one in product((0, 1), repeat=4):
        by_label = {0: (zero, one), 1: (one, zero)}
        states = []
        for network, (_, label) in enumerate(NETWORKS):
            own, other = by_label[label]
            states.append(fires[network, 4 * first + 2 * last + own, J + other])
        found.append(states)
    return np.array(found).swapaxes(0, 1)


def _probabilities(
    events: Bool[np.ndarray, "k corners K"], weights: Float[np.ndarray, " K"]
) -> list[float]:
    """The probability of each of k sets of states; exactly 1 for all of them."""
    sums = (events * weights).reshape(len(events), -1).sum(axis=1)
    # The rounded weights of many classes need not add up to exactly 1.
    return np.where(events.all(axis=(1, 2)), 1.0, sums).tolist()


def _scores(pair: SpikedPair, network: AttentionNetwork) -> Float[np.ndarray, "4 4 8 K"]:
    """<c_j, y> by network, kind of row, corner signs and K; NaN where the row does not occur."""
    X, V = (_reduced(name, getattr(network, name), pair) for name in ("X", "V"))
    queries = _rows(pair, [pair.query_spike(label) for label in (0, 1)])[:, :3]
    keys = _rows(pair, [pair.key_spike(label) for label in (0, 1)])
    products, values, counts = queries @ X @ keys.swapaxes(1, 2), keys @ V, _counts(pair)
    outputs = {kind: normalise(products, kind, counts) @ values for kind in KINDS}
    coefficients = np.array([outputs[kind][label] for kind, label in NETWORKS])
    if pair.copies == 1:
        coefficients[:, 1] = math.nan  # the spike row is alone in its class
    # Seen from the spike row's class all other classes are alike, so that any column serves.
    shared = coefficients[..., _SECOND if pair.classes > 2 else _OWN]
    excess = (coefficients[:, 2, _OWN] - shared[:, 2])[:, None, None]

    corner = coefficients[..., :3] @ _CORNERS.T
    others = shared[..., None] * (2.0 * np.arange(pair.d - 2) - (pair.d - 3))
    scores = np.empty((len(NETWORKS), 4, len(_CORNERS), pair.d - 2))
    np.add(corner[..., None], others[..., None, :], out=scores[:, :3])
    # The last two are a row of another class whose own sign is + or -.
    np.subtract(scores[:, 2], excess, out=scores[:, 3])
    scores[:, 2] += excess
    scores[:, 2, :, 0] = scores[:, 3, :, -1] = math.nan
    return scores


def _rows(pair: SpikedPair, spikes: list[float]) -> Float[np.ndarray, "label 5 6"]:
    """The rows that stand for all: spike row, rest of its class, own, second and third class.

    `spikes` has the spike of each dataset.
    """
    rows = np.zeros((len(spikes), 5, 6))
    rows[:, 0, 0], rows[..., 1] = spikes, pair.c
    rows[:, _ROWS, _CLASSES] = pair.b
    return rows * pair.unit


def _counts(pair: SpikedPair) -> Float[np.ndarray, " 5"]:
    """How many rows each of them stands for."""
    t, k = float(pair.copies), pair.classes
    return np.array([1.0, t - 1, t, t * (k > 2), t * max(k - 3, 0)])


def _reduced(name: str, M: str | Float[np.ndarray, "d d"], pair: SpikedPair) -> np.ndarray:
    """X or V on the reduced columns."""
    if isinstance(M, str):
        return np.eye(6) if M == "identity" else np.ones((6, 6))
    if M.shape != (pair.d, pair.d):
        raise UserError(f"{name} must have shape ({pair.d}, {pair.d}) to match d, got {M.shape}.")
    classes = np.arange(1, pair.d - 1)
    if pair.zero_class != pair.spike_class:
        _require_exchangeable(name, M, [0, pair.d - 1], classes)
    others = np.delete(classes, pair.spike_class)
    special = [0, pair.d - 1, 1 + pair.spike_class]
    _require_exchangeable(name, M, special, others)
    # Where there are fewer than three other classes, the rows that need them have count 0.
    shown = [*special, *others[np.minimum(np.arange(3), len(others) - 1)]]
    return M[np.ix_(shown, shown)]


def _require_exchangeable(
    name: str, M: Float[np.ndarray, "d d"], special: list[int], others: np.ndarray
) -> None:
    """Raise unless M is unchanged when the classes other than the spike row's are permuted."""
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
