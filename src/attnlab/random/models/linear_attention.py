"""Linear attention with all its weights, and its reduction to a linear form in H.

Tokens are the columns of Z = [[x_1 .. x_l, x_{l+1}], [y_1 .. y_l, 0]] in R^((d+1) x (l+1)), and

    A = Z + (1/l) V Z (K Z)^T (Q Z),        yhat = A[d+1, l+1]

(Lu et al., arXiv 2405.11751). Where the last row of V is (0, v), the answer is <Gamma, H> with
H = x_{l+1} [(d/l) sum y_i x_i^T, (1/l) sum y_i^2]; the d + 1 columns of Gamma come from K^T Q.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from attnlab.errors import UserError
from attnlab.random.problem import Contexts


@dataclass(frozen=True)
class LinearAttention:
    """The ridge-trained model yhat = <Gamma, H>, with an unpenalised intercept if asked for.

    The intercept is not in the papers; it is the control for what an activation's mean does.
    """

    intercept: bool = False


def tokens(contexts: Contexts) -> Float[np.ndarray, "n D L"]:
    """Z of every prompt; the query's label is the 0 to be filled in."""
    n, length, d = contexts.x.shape
    Z = np.zeros((n, d + 1, length + 1))
    Z[:, :d, :length] = contexts.x.swapaxes(1, 2)
    Z[:, :d, length] = contexts.query
    Z[:, d, :length] = contexts.y
    return Z


def attention(
    Z: Float[np.ndarray, "n D L"],
    V: Float[np.ndarray, "D D"],
    K: Float[np.ndarray, "e D"],
    Q: Float[np.ndarray, "e D"],
) -> Float[np.ndarray, "n D L"]:
    """A = Z + (1/l) V Z (K Z)^T (Q Z) for every prompt."""
    length = Z.shape[2] - 1
    return Z + V @ Z @ (K @ Z).swapaxes(1, 2) @ (Q @ Z) / length


def reduction(
    V: Float[np.ndarray, "D D"],
    K: Float[np.ndarray, "e D"],
    Q: Float[np.ndarray, "e D"],
) -> Float[np.ndarray, "d D"]:
    """Gamma with A[d+1, l+1] = <Gamma, H>: v [M_11^T / d, m_21] of M = K^T Q.

    The rest of V's last row would let the inputs alone vote on the label; with it there is no such
    Gamma.
    """
    d = V.shape[0] - 1
    if np.any(V[d, :d] != 0):
        raise UserError(
            f"V must have a last row of zeros but for its last entry to reduce to <Gamma, H>, "
            f"got a largest other entry of {np.abs(V[d, :d]).max():.3g}."
        )
    M = K.T @ Q
    return V[d, d] * np.concatenate([M[:d, :d].T / d, M[d, :d][:, None]], axis=1)
