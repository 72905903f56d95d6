"""Networks whose random signs are drawn: they answer a prompt with the number F.

Source: Deng, Song, Zhou, "Superiority of Softmax" (arXiv 2310.11685), Definitions 3.4-3.7, C.2 and
C.6. With phi_tau(z) = max(z - tau, 0) and Rademacher vectors y_1..y_m,

    F = sum_j sum_l phi_tau(<c_j, y_l>),

the sum over j running over the n attention rows c_j in R^d, or over the single vector f in R^n in
the softmax-regression model. Here everything is computed as it is defined; the Monte Carlo of
`attnlab.separation.simulation` has faster ways, which are tested against these networks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int8

from attnlab.separation.double_precision import double_precision
from attnlab.separation.models.attention import Kind
from attnlab.separation.problem import AttentionPrompt, RegressionPrompt

# Two-level regression data has scores equal to tau, which must not count as above it, whatever the
# last bit of a sum is. A thousand roundings of numbers of order one stay below this.
TIE = 1e-13


@dataclass(frozen=True, eq=False, repr=False)
class DrawnAttentionNetwork:
    """F_exp or F_lin behind an attention layer, with drawn signs.

    Parameters
    ----------
    kind
        "softmax" for F_exp, "linear" for F_lin.
    signs
        y_1..y_m, one row per neuron.
    tau
        Threshold of the neurons.
    X, V
        X = Q K^T and the value matrix.
    """

    kind: Kind
    signs: Int8[Any, "m d"]
    tau: float
    X: Float[np.ndarray, "d d"]
    V: Float[np.ndarray, "d d"]

    def __call__(self, prompt: AttentionPrompt) -> Float[Any, ""]:
        """F of one prompt: more than 0 exactly when some neuron exceeds tau on some row."""
        given = (prompt.queries, prompt.keys, self.signs)
        with double_precision(*given) as (xp, queries, keys, signs):
            f = _normalise(xp, queries @ self.X @ keys.T, self.kind)
            return _threshold_sum(xp, f @ keys @ self.V, signs, self.tau)

    def __repr__(self) -> str:
        m, d = self.signs.shape
        return f"DrawnAttentionNetwork({self.kind}, {m} neurons, d = {d}, tau = {self.tau:.4g})"


@dataclass(frozen=True, eq=False, repr=False)
class DrawnRegressionNetwork:
    """F_exp or F_lin of the softmax-regression model, with drawn signs.

    Parameters
    ----------
    kind
        "softmax" for F_exp, "linear" for F_lin.
    signs
        y_1..y_m, one row per neuron.
    tau
        Threshold of the neurons.
    """

    kind: Kind
    signs: Int8[Any, "m n"]
    tau: float

    def __call__(self, prompt: RegressionPrompt) -> Float[Any, ""]:
        """F of one prompt: more than 0 exactly when some neuron exceeds tau."""
        with double_precision(prompt.logits, self.signs) as (xp, logits, signs):
            f = _normalise(xp, logits, self.kind)
            return _threshold_sum(xp, f[None, :], signs, self.tau)

    def __repr__(self) -> str:
        m, n = self.signs.shape
        return f"DrawnRegressionNetwork({self.kind}, {m} neurons, n = {n}, tau = {self.tau:.4g})"


def _normalise(xp: Any, scores: Float[Any, "*rows k"], kind: Kind) -> Float[Any, "*rows k"]:
    u = scores
    if kind == "softmax":
        u = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
    return u / xp.sum(u, axis=-1, keepdims=True)


def _threshold_sum(
    xp: Any, features: Float[Any, "r k"], signs: Int8[Any, "m k"], tau: float
) -> Float[Any, ""]:
    """The sum over rows and neurons of what exceeds tau by more than a tie.

    Parameters
    ----------
    xp
        NumPy or `jax.numpy`.
    features
        What the signs multiply, one row per row of attention.
    signs
        One row per neuron.
    tau
        Threshold.
    """
    scores = features @ signs.astype("float64").T
    return xp.asarray(xp.sum(xp.where(scores > tau + TIE, scores - tau, 0.0)))


def draw_signs(key: Any, width: int, length: int) -> Int8[Any, "m k"]:
    """y_1..y_m, one row per neuron."""
    import jax

    return jax.random.rademacher(key, (width, length), "int8")
