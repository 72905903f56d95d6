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

from attnlab.separation.concrete import to_numpy
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
        import jax

        with jax.enable_x64(True):
            f = _normalise(prompt.queries @ self.X @ prompt.keys.T, self.kind)
            return to_numpy(_threshold_sum(f @ prompt.keys @ self.V, self.signs, self.tau))

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
        import jax

        with jax.enable_x64(True):
            f = _normalise(prompt.logits, self.kind)
            return to_numpy(_threshold_sum(f[None, :], self.signs, self.tau))

    def __repr__(self) -> str:
        m, n = self.signs.shape
        return f"DrawnRegressionNetwork({self.kind}, {m} neurons, n = {n}, tau = {self.tau:.4g})"


def _normalise(scores: Float[Any, "*rows k"], kind: Kind) -> Float[Any, "*rows k"]:
    import jax
    import jax.numpy as jnp

    if kind == "softmax":
        return jax.nn.softmax(jnp.asarray(scores), axis=-1)
    return scores / jnp.sum(scores, axis=-1, keepdims=True)


def _threshold_sum(
    features: Float[Any, "r k"], signs: Int8[Any, "m k"], tau: float
) -> Float[Any, ""]:
    """The sum over rows and neurons of what exceeds tau by more than a tie."""
    import jax.numpy as jnp

    scores = features @ jnp.asarray(signs, float).T
    return jnp.sum(jnp.where(scores > tau + TIE, scores - tau, 0.0))


def draw_signs(key: Any, width: int, length: int) -> Int8[Any, "m k"]:
    """y_1..y_m, one row per neuron."""
    import jax

    return jax.random.rademacher(key, (width, length), "int8")
