"""Attention followed by random signs and a threshold: the networks F_exp and F_lin.

Source: Deng, Song, Zhou, "Superiority of Softmax" (arXiv 2310.11685), Definitions 3.4-3.7, C.2 and
C.6. With phi_tau(z) = max(z - tau, 0) and Rademacher vectors y_1..y_m,

    F = phi( sum_j sum_l phi_tau(<c_j, y_l>) ),

the sum over j running over the n attention rows c_j in R^d, or over the single vector f in R^n in
the softmax-regression model. F > 0 exactly when one score <c_j, y_l> exceeds tau.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int8

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.separation.models.attention import Kind, attention_output, regression_weights
from attnlab.separation.problem.attention import SpikedPair

# The four networks of E_success. The first must fire and the three others must not.
NETWORKS: tuple[tuple[Kind, int], ...] = (
    ("softmax", 1),
    ("linear", 1),
    ("softmax", 0),
    ("linear", 0),
)

# Two-level regression data has scores equal to tau, which must not count as above it whatever the
# last bit of a sum says. A thousand roundings of numbers of order one stay below this.
TIE = 1e-13


@dataclass(frozen=True, eq=False)
class AttentionNetwork:
    """Width m, threshold tau = (c + offset) sqrt(log n), and the weights X = Q K^T and V.

    `shared_signs` says whether the four networks of E_success use the same y, as the paper's do.
    """

    width: int = 15
    offset: float = 0.1
    X: Literal["identity", "ones"] | Float[np.ndarray, "d d"] = "identity"
    V: Literal["identity"] | Float[np.ndarray, "d d"] = "identity"
    shared_signs: bool = True

    def __post_init__(self) -> None:
        arguments.integer("width", self.width, 1)
        object.__setattr__(self, "offset", arguments.non_negative("offset", self.offset))
        _check_matrix("X", self.X, ("identity", "ones"))
        _check_matrix("V", self.V, ("identity",))

    def matrices(self, d: int) -> tuple[Float[np.ndarray, "d d"], Float[np.ndarray, "d d"]]:
        """X and V as arrays for inputs of dimension d."""
        return _matrix("X", self.X, d), _matrix("V", self.V, d)


@dataclass(frozen=True)
class RegressionNetwork:
    """Width m and threshold tau; the paper leaves tau open and 1/4 fits its Lemma 4.2."""

    width: int = 4
    tau: float = 0.25
    shared_signs: bool = True

    def __post_init__(self) -> None:
        arguments.integer("width", self.width, 1)
        object.__setattr__(self, "tau", arguments.positive("tau", self.tau))


class Features(NamedTuple):
    """What the signs multiply: attention rows and how often each occurs."""

    rows: Float[np.ndarray, "r d"]
    counts: Float[np.ndarray, " r"]


def paper_width(n: int, delta: float = 0.01) -> int:
    """m = max(ceil(log(n / delta)), 15), the width of the self-attention experiments."""
    n, delta = arguments.integer("n", n, 1), arguments.open_fraction("delta", delta)
    return max(math.ceil(math.log(n / delta)), 15)


def regression_width(n: int) -> int:
    """m = floor(log n), the width of the regression experiments."""
    return math.floor(math.log(arguments.integer("n", n, 3)))


def attention_features(
    pair: SpikedPair, network: AttentionNetwork, label: int, kind: Kind, *, full: bool = False
) -> Features:
    """The rows c_j: the distinct ones, or with `full` all n of them from the full matrices."""
    X, V = network.matrices(pair.d)
    if full:
        keys = pair.keys(label)
        rows = attention_output(pair.queries(label), keys, keys, X, V, kind)
        return Features(rows, np.ones(pair.n))
    queries, (keys, counts) = pair.distinct_queries(label), pair.distinct_keys(label)
    rows = attention_output(queries.rows, keys, keys, X, V, kind, counts)
    return Features(rows, queries.counts)


def exceeds(scores: Float[np.ndarray, "..."], tau: float) -> Bool[np.ndarray, "..."]:
    """Where a score is above tau by more than rounding; a tie does not fire."""
    return scores > tau + TIE


def threshold_sum(
    features: Float[np.ndarray, "r k"],
    signs: Int8[np.ndarray, "m k"],
    tau: float,
    counts: Float[np.ndarray, " r"] | None = None,
) -> float:
    """F = phi(sum_j sum_l phi_tau(<features_j, y_l>)), a feature counted `counts` times."""
    hidden = np.maximum(features @ signs.T.astype(np.float64) - tau, 0.0)
    if counts is not None:
        hidden = hidden * counts[:, None]
    return max(float(hidden.sum()), 0.0)


def attention_network_output(
    pair: SpikedPair,
    network: AttentionNetwork,
    label: int,
    kind: Kind,
    signs: Int8[np.ndarray, "m d"],
) -> float:
    """F(A_1, A_2, A_3) of Definitions C.2 and C.6, the number itself."""
    features = attention_features(pair, network, label, kind)
    return threshold_sum(features.rows, signs, pair.threshold(network.offset), features.counts)


def regression_network_output(
    u: Float[np.ndarray, " n"],
    network: RegressionNetwork,
    kind: Kind,
    signs: Int8[np.ndarray, "m n"],
) -> float:
    """F(A; x, y) of Definitions 3.5 and 3.6, the number itself, from the logits u = A x."""
    return threshold_sum(regression_weights(u, kind)[None, :], signs, network.tau)


def _check_matrix(name: str, value: object, words: tuple[str, ...]) -> None:
    if not isinstance(value, np.ndarray):
        arguments.one_of(name, value, words)
    elif value.ndim != 2 or value.shape[0] != value.shape[1]:
        raise UserError(f"{name} must be a square matrix, got an array of shape {value.shape}.")
    elif value.dtype != np.float64 or not np.isfinite(value).all():
        raise UserError(
            f"{name} must hold finite float64 numbers, got {value.dtype} entries"
            f"{'' if value.dtype != np.float64 else ' that are not all finite'}."
        )


def _matrix(name: str, value: str | Float[np.ndarray, "d d"], d: int) -> Float[np.ndarray, "d d"]:
    if isinstance(value, str):
        return np.eye(d) if value == "identity" else np.ones((d, d))
    if value.shape != (d, d):
        raise UserError(f"{name} must have shape ({d}, {d}) to match d, got {value.shape}.")
    return value
