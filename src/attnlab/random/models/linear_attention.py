"""Linear attention with all its weights, and its reduction to a linear form in H.

Tokens are the columns of Z = [[x_1 .. x_l, x_{l+1}], [y_1 .. y_l, 0]] in R^((d+1) x (l+1)), and

    A = Z + (1/l) V Z (K Z)^T (Q Z),        yhat = A[d+1, l+1]

(Lu et al., arXiv 2405.11751). Where the last row of V is (0, v), the answer is <Gamma, H> with
H = x_{l+1} [(d/l) sum y_i x_i^T, (1/l) sum y_i^2]; the d + 1 columns of Gamma come from K^T Q.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from attnlab.errors import UserError
from attnlab.maths.namespace import namespace_of
from attnlab.random.prompts import FullPrompt


@dataclass(frozen=True)
class LinearAttention:
    """The model yhat = <Gamma, H> whose Gamma is trained by ridge regression.

    With `intercept` an unpenalised constant is added. The papers have none; it is the control for
    what the mean of an activation does.
    """

    intercept: bool = False


@dataclass(frozen=True, repr=False, eq=False)
class FullAttention:
    """Linear attention with value, key and query matrices: `attention(prompt)` is its answer."""

    V: Float[np.ndarray, "D D"]
    K: Float[np.ndarray, "e D"]
    Q: Float[np.ndarray, "e D"]

    def __call__(self, prompt: FullPrompt) -> Float[Any, "*n"]:
        """A[d+1, l+1] for each prompt."""
        return self.layer(tokens(prompt))[..., -1, -1]

    def layer(self, Z: Float[Any, "*n D L"]) -> Float[Any, "*n D L"]:
        """A = Z + (1/l) V Z (K Z)^T (Q Z) for every prompt."""
        length = Z.shape[-1] - 1
        return Z + self.V @ Z @ (self.K @ Z).swapaxes(-1, -2) @ (self.Q @ Z) / length

    def reduction(self) -> Float[np.ndarray, "d D"]:
        """Gamma with A[d+1, l+1] = <Gamma, H>: v [M_11^T / d, m_21] of M = K^T Q.

        Other entries in V's last row would let the inputs alone change the answer; with them there
        is no such Gamma.
        """
        V, d = self.V, len(self.V) - 1
        if np.any(V[d, :d] != 0):
            raise UserError(
                f"V must have a last row of zeros but for its last entry to reduce to <Gamma, H>, "
                f"got a largest other entry of {np.abs(V[d, :d]).max():.3g}."
            )
        M = self.K.T @ self.Q
        return V[d, d] * np.concatenate([M[:d, :d].T / d, M[d, :d][:, None]], axis=1)

    def __repr__(self) -> str:
        return f"FullAttention(d={len(self.V) - 1})"


def tokens(prompt: FullPrompt) -> Float[Any, "*n D L"]:
    """Z of every prompt; the query's label is the 0 to be filled in."""
    xp = namespace_of(prompt.x)
    inputs = xp.concatenate([prompt.x, prompt.query[..., None, :]], axis=-2)
    labels = xp.concatenate([prompt.y, 0 * prompt.query[..., :1]], axis=-1)
    return xp.concatenate([inputs, labels[..., None]], axis=-1).swapaxes(-1, -2)
