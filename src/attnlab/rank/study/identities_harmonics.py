"""Identities behind the proof of Theorem 2: distances, frames, and the harmonics of the sign.

Source: Amsel, Yehudai, Bruna (arXiv 2407.16153), Sections 3 and 4. The integrals are exact
quadratures: the points of a frame and their negatives are a design of degree 3 on a sphere, and
Gauss-Jacobi is exact for the polynomials in one coordinate.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from attnlab.rank.study.random_inputs import D, N, points_of_sphere

FRAME = "the frame of a rotated normal matrix is the rotated frame"
DISTANCE_PRINTED = "squared distances are 2 − x·y"
DISTANCE = "squared distances are 2 − 2 x·y"
EVEN = "every harmonic of degree 3 has the same share of the sign"
DIAGONAL = "the kernel of random heads is diagonal in the harmonics"
DEGREES = (1, 3, 5, 7)


def _frame(G: np.ndarray) -> np.ndarray:
    """G (G^T G)^(-1/2): of a normal matrix, a uniform orthonormal frame."""
    left, _, right = np.linalg.svd(G, full_matrices=False)
    return left @ right


def _rotated_frame(rng: np.random.Generator) -> float:
    G, U = rng.standard_normal((D, N)), np.linalg.qr(rng.standard_normal((D, D)))[0]
    return float(np.abs(_frame(U @ G) - U @ _frame(G)).max())


def _distance(rng: np.random.Generator, factor: float) -> float:
    X, y = points_of_sphere(rng, N), points_of_sphere(rng, 1)[:, 0]
    return float(np.abs(((X - y[:, None]) ** 2).sum(0) - (2 - factor * X.T @ y)).max())


def _even(rng: np.random.Generator) -> float:
    """E[w(x) sgn(x.y)] against lambda_3 w(y), for two harmonics w of degree 3.

    w is the real part of (u.x + i v.x)^3 for orthonormal u and v, or zonal about u. With
    x = t y + sqrt(1 - t^2) z the mean over z is that over a frame of the complement of y.
    """
    from attnlab.maths.harmonics import coefficient, gegenbauer, half_quadrature

    y = points_of_sphere(rng, 1)[:, 0]
    u, v = np.linalg.qr(rng.standard_normal((D, 2)))[0].T
    harmonics: list[Callable[[np.ndarray], np.ndarray]] = [
        lambda x: ((u @ x + 1j * (v @ x)) ** 3).real,
        lambda x: gegenbauer(D, 3, u @ x)[3],
    ]
    normals = np.linalg.qr(np.column_stack([y, rng.standard_normal((D, D - 1))]))[0][:, 1:]
    z = np.concatenate([normals, -normals], axis=1)
    nodes, weights = half_quadrature(D, 8)
    apart = []
    for w in harmonics:
        means = [
            (w(t * y[:, None] + root * z) - w(-t * y[:, None] + root * z)).mean() / 2
            for t, root in zip(nodes, np.sqrt(1 - nodes**2), strict=True)
        ]
        law = coefficient(D, 3) * float(w(y[:, None])[0])
        apart.append(abs(float(weights @ np.array(means)) - law))
    return max(apart)


def _diagonal(rng: np.random.Generator) -> float:
    """E[(2/pi) asin(t) P_l(t)] against lambda_l^2: the eigenvalue of one factor of the kernel.

    E over k of sgn(x.k) sgn(x'.k) is (2/pi) asin(x.x'), a function of x.x' alone, so that every
    harmonic of degree l is an eigenfunction. The kernel of heads is the product of two such.
    """
    from scipy import special

    from attnlab.maths.harmonics import coefficient, gegenbauer

    # In the angle asin(t) the integrand is smooth and has the density cos^(d-2).
    nodes, shares = special.roots_legendre(200)
    angle = nodes * np.pi / 2
    density = shares * np.cos(angle) ** (D - 2)
    zonal = gegenbauer(D, DEGREES[-1], np.sin(angle))
    values = {
        degree: float(density @ (2 / np.pi * angle * zonal[degree])) / float(density.sum())
        for degree in DEGREES
    }
    return max(abs(value - coefficient(D, degree) ** 2) for degree, value in values.items())


HARMONICS: dict[str, Callable[[np.random.Generator], float]] = {
    FRAME: _rotated_frame,
    DISTANCE_PRINTED: lambda rng: _distance(rng, 1.0),
    DISTANCE: lambda rng: _distance(rng, 2.0),
    EVEN: _even,
    DIAGONAL: _diagonal,
}
