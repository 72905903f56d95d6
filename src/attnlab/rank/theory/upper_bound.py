"""What rank-1 hardmax heads reach on the nearest of two orthonormal points, exactly.

In the setting of Theorem 2 of Amsel, Yehudai, Bruna (arXiv 2407.16153), heads h = 1..H attend by
the score (k_h . x)(q_h . y) and have V_h = c_h I (`models.rank_one_heads`). For given q_h, k_h the
error is a quadratic form in c whose matrices are closed forms, so that the best c and its error
need no samples; q and k can then be improved by gradient descent. Every such layer obeys variant
(C) of the lower bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float
from scipy import linalg, optimize

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.maths.harmonics import coefficient, energy, gegenbauer
from attnlab.stats import Estimate

TINY = 1e-12  # the terms of beta's series that are left out sum to less
SEARCHED = 64  # the degrees that the gradient sees; the error that is reported has all


@runtime_checkable
class HasHeads(Protocol):
    """Anything with unit queries q, unit keys k and values c, such as `RankOneHeads`."""

    @property
    def q(self) -> Any:
        """Queries, one row per head."""
        ...

    @property
    def k(self) -> Any:
        """Keys, one row per head."""
        ...

    @property
    def c(self) -> Any:
        """V_h = c_h I."""
        ...


class Moments(NamedTuple):
    """G_hh' = E[s_h s_h'] and beta_h = E[sgn(x.y) s_h]."""

    G: Float[np.ndarray, "H H"]
    beta: Float[np.ndarray, " H"]


def exact_error(heads: HasHeads) -> Estimate:
    """E||f - g||^2 of rank-1 hardmax heads with V_h = c_h I on a uniform orthonormal pair.

    With s_h = sgn(k_h . x) sgn(q_h . y), 2 E||f - g||^2 = 2 - 2 (beta+1)^T c + c^T (G + 11^T) c, G
    and beta as in `moments`; its minimum over c is 2 - (beta+1)^T (G + 11^T)^-1 (beta+1). The
    Monte Carlo of the same number is `simulation.error(heads, Neighbours(d, 2,
    points="orthonormal"))`.
    """
    G, beta = moments(heads.q, heads.k)
    c = np.asarray(heads.c, float)
    if c.shape != beta.shape:
        raise UserError(f"c must have one entry per head, {len(beta)}, got shape {c.shape}.")
    return Estimate(1 - float((beta + 1) @ c) + float(c @ G @ c + c.sum() ** 2) / 2)


def best_values(q: Any, k: Any) -> Float[np.ndarray, " H"]:
    """The c_h of V_h = c_h I with the least error, (G + 11^T)^-1 (beta + 1)."""
    return _solution(*moments(q, k))


def moments(q: Any, k: Any) -> Moments:
    """The closed forms, by the arcsine law and by Funk and Hecke's formula applied twice.

    G_hh' = (2/pi asin k_h.k_h') (2/pi asin q_h.q_h'), beta_h = sum_l N lambda_l^3 P_l(q_h.k_h).
    """
    q, k = _checked(q, k)
    series = _series(q.shape[1])
    polynomials = gegenbauer(q.shape[1], len(series) - 1, (q * k).sum(1))
    return Moments(_arcsine(q @ q.T) * _arcsine(k @ k.T), _weighted(series, polynomials))


def optimised_directions(q: Any, k: Any, steps: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """q and k after at most so many steps of L-BFGS, the values kept at their best.

    The derivative in c vanishes at the best c, so that of the error is the one at fixed c:
    P_l' = l (l + d - 2) / (d - 1) P_{l-1} of dimension d + 2 gives the derivative of beta.
    """
    steps = arguments.integer("steps", steps, 1)
    start = np.stack(_checked(q, k))
    shape, d = start.shape, start.shape[2]
    series = _series(d)[:SEARCHED]
    slopes = [weight * degree * (degree + d - 2) / (d - 1) for degree, weight in enumerate(series)][
        1:
    ]

    def error_and_gradient(flat: np.ndarray) -> tuple[float, np.ndarray]:
        raw = flat.reshape(shape)
        norms = np.linalg.norm(raw, axis=2, keepdims=True)
        q, k = unit = raw / norms
        cosines, t = (q @ q.T, k @ k.T), (q * k).sum(1)
        factors = [_arcsine(cosine) for cosine in cosines]
        beta = _weighted(series, gegenbauer(d, len(series) - 1, t))
        c = _solution(factors[0] * factors[1], beta)
        pull = c * _weighted(slopes, gegenbauer(d + 2, len(slopes) - 1, t))
        gradient = np.empty(shape)
        for i in range(2):
            pairs = np.outer(c, c) * factors[1 - i] * _arcsine_slope(cosines[i])
            gradient[i] = pairs @ unit[i] - pull[:, None] * unit[1 - i]
        gradient -= (gradient * unit).sum(2, keepdims=True) * unit
        return 1 - float((beta + 1) @ c) / 2, (gradient / norms).ravel()

    found = optimize.minimize(
        error_and_gradient,
        start.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": steps},
    )
    q, k = _unit(found.x.reshape(shape))
    return q, k


def plateau(d: int) -> float:
    """(1 - eta_1^2) / 2, where the error of random heads rests while d^2 << H << N(d, 3)^2."""
    return (1 - energy(d, 1)) / 2


@lru_cache(maxsize=64)
def _series(d: int) -> tuple[float, ...]:
    """N(d, l) lambda_l^3 for l = 0, 1, 2, ... until the rest is below TINY."""
    found = [0.0]
    for degree in range(1, 4001):
        found.append(energy(d, degree) * coefficient(d, degree))
        # The terms fall at least like l^-3: the rest is below l/2 times the last.
        if degree % 2 and abs(found[-1]) * degree < TINY:
            break
    return tuple(found)


def _weighted(series: Sequence[float], terms: list[np.ndarray]) -> np.ndarray:
    return sum(
        (weight * term for weight, term in zip(series, terms, strict=True) if weight),
        start=np.zeros_like(terms[0]),
    )


def _arcsine(cosines: Float[np.ndarray, "H H"]) -> Float[np.ndarray, "H H"]:
    """2/pi asin, with a diagonal of exactly 1."""
    found = 2 / math.pi * np.arcsin(np.clip(cosines, -1, 1))
    np.fill_diagonal(found, 1.0)
    return found


def _arcsine_slope(cosines: Float[np.ndarray, "H H"]) -> Float[np.ndarray, "H H"]:
    """The derivative off the diagonal, kept finite where two heads meet; 0 on it."""
    found = 2 / math.pi / np.sqrt(np.maximum(1 - cosines**2, 1e-12))
    np.fill_diagonal(found, 0.0)
    return found


def _solution(G: Float[np.ndarray, "H H"], beta: Float[np.ndarray, " H"]) -> np.ndarray:
    try:
        return linalg.cho_solve(linalg.cho_factor(G + 1, lower=True), beta + 1)
    except linalg.LinAlgError:  # heads that repeat each other
        return np.linalg.lstsq(G + 1, beta + 1)[0]


def _unit(v: np.ndarray) -> np.ndarray:
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def _checked(q: Any, k: Any) -> tuple[np.ndarray, np.ndarray]:
    """q and k as unit vectors in double precision."""
    q, k = np.asarray(q, float), np.asarray(k, float)
    if q.ndim != 2 or q.shape != k.shape or q.shape[1] < 3 or not len(q):
        raise UserError(
            "heads must hold q and k of one shape (H, d) with H >= 1 and d >= 3, "
            f"got {q.shape} and {k.shape}."
        )
    norms = np.linalg.norm([q, k], axis=2)
    if not np.allclose(norms, 1, atol=1e-5):
        raise UserError(f"heads must hold unit vectors, got norms up to {norms.max():.3g}.")
    return _unit(q), _unit(k)
