"""Attention followed by random signs and a threshold: the networks F_exp and F_lin, described.

A description holds the width, the threshold and the weights; `draw` gives it random signs and so
makes a network that answers prompts. Definitions 3.4-3.7, C.2 and C.6 of Deng, Song, Zhou,
"Superiority of Softmax" (arXiv 2310.11685); F > 0 exactly when one score exceeds tau.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Bool, Float

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.separation.models.attention import KINDS, Kind
from attnlab.separation.models.drawn_network import (
    TIE,
    DrawnAttentionNetwork,
    DrawnRegressionNetwork,
    draw_signs,
)
from attnlab.separation.problem import RegressionPair, SpikedPair

if TYPE_CHECKING:
    from jaxtyping import PRNGKeyArray
else:
    PRNGKeyArray = Any  # JAX is imported when signs are drawn

# The four networks of E_success, by kind and dataset. The first must fire, the others must not.
NETWORKS: tuple[tuple[Kind, int], ...] = (
    ("softmax", 1),
    ("linear", 1),
    ("softmax", 0),
    ("linear", 0),
)


@dataclass(frozen=True, eq=False, repr=False)
class AttentionNetwork:
    """An attention layer, m neurons with random signs and a threshold.

    Parameters
    ----------
    width
        Number m of neurons.
    offset
        The threshold is tau = (c + offset) sqrt(log n); the paper takes 0.1.
    X, V
        X = Q K^T, "identity", "ones" or a matrix, and the value matrix, "identity" or a matrix.
    shared_signs
        Whether the four networks of E_success have the same signs, as the paper's do.
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

    def draw(
        self, key: PRNGKeyArray, problem: SpikedPair, kind: Kind = "softmax"
    ) -> DrawnAttentionNetwork:
        """A network with random signs: F_exp (softmax) or F_lin (linear).

        The same key gives both kinds the same signs.
        """
        kind = arguments.one_of("kind", kind, KINDS)
        signs = draw_signs(key, self.width, problem.d)
        X, V = self.matrices(problem.d)
        return DrawnAttentionNetwork(kind, signs, problem.threshold(self.offset), X, V)

    def __repr__(self) -> str:
        X, V = (
            repr(each) if isinstance(each, str) else f"<{each.shape} matrix>"
            for each in (self.X, self.V)
        )
        shared = "" if self.shared_signs else ", shared_signs=False"
        return f"AttentionNetwork(width={self.width}, offset={self.offset:g}, X={X}, V={V}{shared})"


@dataclass(frozen=True)
class RegressionNetwork:
    """m neurons with random signs and a threshold on the softmax-regression model.

    Parameters
    ----------
    width
        Number m of neurons.
    tau
        The threshold. The paper leaves it open, and 1/4 fits its Lemma 4.2.
    shared_signs
        Whether the four networks of E_success have the same signs, as the paper's do.
    """

    width: int = 4
    tau: float = 0.25
    shared_signs: bool = True

    def __post_init__(self) -> None:
        arguments.integer("width", self.width, 1)
        object.__setattr__(self, "tau", arguments.positive("tau", self.tau))

    def draw(
        self, key: PRNGKeyArray, problem: RegressionPair, kind: Kind = "softmax"
    ) -> DrawnRegressionNetwork:
        """A network with random signs: F_exp (softmax) or F_lin (linear).

        The same key gives both kinds the same signs.
        """
        kind = arguments.one_of("kind", kind, KINDS)
        return DrawnRegressionNetwork(kind, draw_signs(key, self.width, problem.n), self.tau)


def paper_width(n: int, delta: float = 0.01) -> int:
    """m = max(ceil(log(n / delta)), 15), the width of the self-attention experiments."""
    n, delta = arguments.integer("n", n, 1), arguments.open_fraction("delta", delta)
    return max(math.ceil(math.log(n / delta)), 15)


def regression_width(n: int) -> int:
    """m = floor(log n), the width of the regression experiments."""
    return math.floor(math.log(arguments.integer("n", n, 3)))


def exceeds(scores: Float[np.ndarray, "..."], tau: float) -> Bool[np.ndarray, "..."]:
    """Where a score is above tau by more than rounding; a tie does not fire."""
    return scores > tau + TIE


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
