"""The diagonal network nearest to a FULL linear transformer, and its distance to it.

Source: Vladymyrov et al. (arXiv 2402.14180), Figure 4: trained P and Q have large diagonals. The
average of a matrix over the rotations diag(O, 1), O in O(d), is diag(p_x I, p_y) with
p_x = tr(P_xx) / d and p_y = P_yy. It is also the nearest matrix of this form, for each head, and
the omegas of the products are nearest to the layer's whole map G -> sum_k P_k G Q_k.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from attnlab.linear.models.weights import DiagWeights, FullWeights, GDPlusPlus, Omegas, Weights

Verdict = Literal["diagonal", "mostly diagonal", "not diagonal"]
ROUNDING = 1e3  # roundings by which an average of equal entries may differ from them
MOST = 0.5  # share of the squared norm outside of which a layer is not diagonal


@dataclass(frozen=True)
class NearestDiagonal:
    """The nearest diagonal weights, and relative Frobenius distances to them for each layer.

    `P` and `Q` compare the matrices of all heads. `layer` compares the maps sum_k P_k (.) Q_k as
    tensors, which do not change when P_k is rescaled against Q_k or heads are mixed.
    """

    weights: DiagWeights
    P: Float[np.ndarray, " layers"]
    Q: Float[np.ndarray, " layers"]
    layer: Float[np.ndarray, " layers"]
    rounding: float

    @property
    def verdict(self) -> Verdict:
        """Diagonal up to rounding, mostly diagonal, or not diagonal.

        It is mostly diagonal if no layer has half of its squared norm outside.
        """
        worst = self.layer.max()
        if worst <= self.rounding:
            return "diagonal"
        return "mostly diagonal" if worst**2 < MOST else "not diagonal"


def nearest_diagonal(weights: FullWeights) -> NearestDiagonal:
    """The nearest DIAG weights with the same heads."""
    P, Q = (np.asarray(part, np.float64) for part in (weights.P, weights.Q))
    (p_x, p_y, P_on, P_off), (q_x, q_y, Q_on, Q_off) = _parts(P), _parts(Q)
    # With P = D + E and Q = D' + E' the rest of the map is D E' + E D' + E E', three orthogonal
    # parts.
    left = (P_on * Q_off + P_off * Q_on + P_off * Q_off).sum((1, 2))
    dtype = weights.P.dtype
    return NearestDiagonal(
        DiagWeights(*(np.asarray(part, dtype) for part in (p_x, p_y, q_x, q_y))),
        _relative(_diagonal_sum(P_off), _diagonal_sum(P_on + P_off)),
        _relative(_diagonal_sum(Q_off), _diagonal_sum(Q_on + Q_off)),
        _relative(left, left + (P_on * Q_on).sum((1, 2))),
        ROUNDING * float(np.finfo(dtype).eps),
    )


def diagonal_of(weights: Weights) -> Omegas:
    """The omegas of a diagonal network, or those of the network nearest to a FULL one."""
    if isinstance(weights, FullWeights):
        return nearest_diagonal(weights).weights.omegas()
    return weights.omegas()


def nearest_gd_plus_plus(omegas: Omegas) -> GDPlusPlus:
    """The nearest GD++ weights: omega_xy and omega_yy are set to 0."""
    return GDPlusPlus(omegas.xx, omegas.yx)


def _parts(A: np.ndarray) -> tuple[np.ndarray, ...]:
    """a_x, a_y, and the inner products between heads, of the diagonal parts and of the rests."""
    d = A.shape[-1] - 1
    x, y = np.trace(A[..., :d, :d], axis1=-2, axis2=-1) / d, A[..., d, d]
    on = d * x[:, :, None] * x[:, None, :] + y[:, :, None] * y[:, None, :]
    rest = A.copy()
    rest[..., np.arange(d), np.arange(d)] -= x[..., None]
    rest[..., d, d] = 0
    return x, y, on, np.einsum("lhij,lkij->lhk", rest, rest)


def _diagonal_sum(inner: np.ndarray) -> np.ndarray:
    return np.trace(inner, axis1=1, axis2=2)


def _relative(left: np.ndarray, total: np.ndarray) -> np.ndarray:
    return np.sqrt(np.maximum(left, 0) / np.where(total > 0, total, 1))
