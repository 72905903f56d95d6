"""What a head's two d x d forms are: their singular values, ranks, and distance to c I.

Of a head with Q, K, V, O in R^(d x r), the form x^T Q K^T y scores a key against a query and
O V^T x is what a token is turned into. Both have rank at most r, and everything here comes from
two thin QR factorisations and r x r products, in O(d r^2); no d x d matrix is formed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from jaxtyping import Float

from attnlab.errors import UserError

EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Rounding:
    """How far a stored number may be from the one it stands for: max(relative |x|, absolute)."""

    relative: float
    absolute: float


# Half a unit in the last place, and half the smallest subnormal.
ROUNDINGS = {
    "F64": Rounding(2.0**-53, 0.0),
    "F32": Rounding(2.0**-24, 2.0**-150),
    "F16": Rounding(2.0**-11, 2.0**-25),
    "BF16": Rounding(2.0**-8, 2.0**-134),
}


@dataclass(frozen=True)
class Factor:
    """One d x r factor of a form: itself, the triangle of its QR, its norms, its rounding error.

    `error` bounds the Frobenius norm of what rounding may have changed.
    """

    matrix: Float[np.ndarray, "d r"]
    triangle: Float[np.ndarray, "s r"]
    frobenius: float
    spectral: float
    error: float


@dataclass(frozen=True)
class Form:
    """A d x d form A of rank at most r, read.

    `rank` counts the singular values above `threshold`. Effective ranks: `stable_rank` is
    ||A||_F^2 / ||A||_2^2 and `entropy_rank` is exp(-sum_i p_i log p_i), p = sigma / sum(sigma).
    `angle` is that of A to the identity in degrees, arccos(<A, I> / (||A||_F ||I||_F)); `multiple`
    is c = trace(A) / d, for which c I is nearest to A; `distance` is ||A - c I||_F / ||A||_F, the
    sine of the angle. A and its transpose have the same reading. A form that is 0 has ranks 0 and
    neither angle nor distance.
    """

    singular_values: tuple[float, ...]
    threshold: float
    rank: int
    stable_rank: float
    entropy_rank: float
    norm: float
    multiple: float
    angle: float | None
    distance: float | None


def factor(matrix: Float[np.ndarray, "d r"], dtype: str = "F64") -> Factor:
    """A factor that was stored with this dtype."""
    if matrix.ndim != 2 or not matrix.size:
        raise UserError(f"A factor must have shape (d, r), got {matrix.shape}.")
    if dtype not in ROUNDINGS:
        raise UserError(f"dtype must be one of {', '.join(ROUNDINGS)}, got {dtype!r}.")
    matrix = matrix.astype(np.float64, copy=False)
    if not np.isfinite(matrix).all():
        raise UserError("A factor must have finite entries.")
    rounding = ROUNDINGS[dtype]
    frobenius = float(np.linalg.norm(matrix))
    error = math.hypot(rounding.relative * frobenius, rounding.absolute * math.sqrt(matrix.size))
    return _factored(matrix, error, frobenius)


def product(left: Factor, right: Factor) -> Factor:
    """The factor left right, of d x c and c x r ones: a token compressed to c numbers, then read.

    Its error is bounded as that of a form is in `read_form`.
    """
    rounded = left.error * right.spectral + left.spectral * right.error + left.error * right.error
    arithmetic = max(left.matrix.shape) * EPSILON * left.frobenius * right.frobenius
    return _factored(left.matrix @ right.matrix, rounded + arithmetic)


def beside(factors: Sequence[Factor]) -> Factor:
    """The factor whose columns are those of all factors."""
    if len(factors) == 1:
        return factors[0]
    matrix = np.concatenate([each.matrix for each in factors], axis=1)
    return _factored(matrix, math.hypot(*(each.error for each in factors)))


def _factored(
    matrix: Float[np.ndarray, "d r"], error: float, frobenius: float | None = None
) -> Factor:
    qr: Any = scipy.linalg.qr  # its stub does not know what a mode returns
    triangle = qr(matrix, mode="r", check_finite=False)[0][: min(matrix.shape)].copy()
    spectral = float(np.linalg.norm(triangle, 2))
    if frobenius is None:
        frobenius = float(np.linalg.norm(matrix))
    return Factor(matrix, triangle, frobenius, spectral, error)


def read_form(left: Factor, right: Factor) -> Form:
    """The form A = left right^T, from R_left R_right^T of the two triangles.

    The threshold is what rounding can have done to a singular value, whatever the weights were
    before it: with ||E|| the factors' errors, Weyl's inequality bounds the change by
    ||E_l|| ||right||_2 + ||left||_2 ||E_r|| + ||E_l|| ||E_r||, to which the error of this
    computation is added, max(d, r) eps ||left||_F ||right||_F. So rounding never adds to `rank`;
    directions weaker than the threshold are not counted, though they may be real.
    """
    if left.matrix.shape != right.matrix.shape:
        raise UserError(
            f"Both factors must have one shape (d, r), got {left.matrix.shape} and "
            f"{right.matrix.shape}."
        )
    d, r = left.matrix.shape
    sigma = np.linalg.svd(left.triangle @ right.triangle.T, compute_uv=False)
    rounded = left.error * right.spectral + left.spectral * right.error + left.error * right.error
    threshold = rounded + max(d, r) * EPSILON * left.frobenius * right.frobenius
    trace = float(np.vdot(left.matrix, right.matrix))
    norm = float(np.linalg.norm(sigma))
    cosine = min(max(trace / (norm * math.sqrt(d)), -1.0), 1.0) if norm > 0 else None
    return Form(
        singular_values=tuple(float(s) for s in sigma),
        threshold=threshold,
        rank=int((sigma > threshold).sum()),
        stable_rank=stable_rank(sigma),
        entropy_rank=entropy_rank(sigma),
        norm=norm,
        multiple=trace / d,
        angle=None if cosine is None else math.degrees(math.acos(cosine)),
        distance=None if cosine is None else math.sqrt(1 - cosine**2),
    )


def copying(value: Factor, output: Factor) -> float | None:
    """How far V O copies: sum of its eigenvalues over the sum of their absolute values.

    1 where a token is turned into more of itself in every direction that the head reads, -1 into
    less of it, near 0 for a random head (Elhage et al. 2021, "A Mathematical Framework for
    Transformer Circuits", there through the embeddings, here on the residual stream). The nonzero
    eigenvalues of V O^T are those of the r x r matrix O^T V. None for a form without any.
    """
    eigenvalues = np.linalg.eigvals(output.matrix.T @ value.matrix)
    whole = float(np.abs(eigenvalues).sum())
    return float(eigenvalues.real.sum()) / whole if whole > 0 else None


def stable_rank(sigma: Float[np.ndarray, " s"]) -> float:
    """||A||_F^2 / ||A||_2^2 of singular values; 0 of a form that is 0."""
    largest = sigma.max()
    return float(((sigma / largest) ** 2).sum()) if largest > 0 else 0.0


def entropy_rank(sigma: Float[np.ndarray, " s"]) -> float:
    """exp of the entropy of p = sigma / sum(sigma) (Roy, Vetterli 2007); 0 of a form that is 0."""
    if not sigma.max() > 0:
        return 0.0
    p = sigma[sigma > 0] / sigma.sum()
    return float(np.exp(-(p * np.log(p)).sum()))
