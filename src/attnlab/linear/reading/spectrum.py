"""A linear transformer as a spectral filter, w^L = f(Sigma) w*, exactly or approximately.

Source: Vladymyrov et al. (arXiv 2402.14180). For GD++ f is a fixed polynomial of the eigenvalue, so
that `ExactFilter` is the whole algorithm. For ridge f = s / (s + sigma^2), and for k gradient steps
f = 1 - (1 - eta s)^k. Any other network is approximated by the best f(s) = s h(s) with a polynomial
h, over contexts of one noise level, together with the share of w^L that this f explains.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from numpy.polynomial import chebyshev

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.linear.models.transformer import spectral_form
from attnlab.linear.models.weights import GDPlusPlus

DEGREE = 8
SPECTRA = 512  # sequences whose eigenvalues are computed


@dataclass(frozen=True)
class Filter:
    """f(s) = s h(s) with a Chebyshev series h on [0, scale].

    It is valid on `seen`, the range of the eigenvalues to which it was fitted. `explained` is
    1 - E ||w^L - f(Sigma) w*||^2 / E ||w^L||^2.
    """

    coefficients: tuple[float, ...]
    scale: float
    seen: tuple[float, float]
    explained: float

    def __call__(self, s: Float[np.ndarray, " k"]) -> Float[np.ndarray, " k"]:
        return s * chebyshev.chebval(2 * s / self.scale - 1, self.coefficients)


@dataclass(frozen=True)
class ExactFilter:
    """The f of a GD++ network, which explains all of w^L.

    `seen` is the range of the eigenvalues of the contexts.
    """

    xx: tuple[float, ...]
    yx: tuple[float, ...]
    seen: tuple[float, float]
    explained: float = 1.0

    def __call__(self, s: Float[np.ndarray, " k"]) -> Float[np.ndarray, " k"]:
        weights = GDPlusPlus(*(np.asarray(part, float) for part in (self.xx, self.yx)))
        with jax.enable_x64(True):
            return np.asarray(spectral_form(weights, jnp.asarray(s, float)).f[-1])


def fit_filter(
    G: Float[np.ndarray, "samples p p"], w: Float[np.ndarray, "samples d"], degree: int = DEGREE
) -> Filter:
    """The least-squares f of a degree for these contexts and answers.

    In the eigenbasis of Sigma, v_i^T w^L is regressed on h(s_i) v_i^T alpha = f(s_i) v_i^T w*,
    which needs no inverse of Sigma.
    """
    degree = arguments.integer("degree", degree, 1)
    G, w = np.asarray(G, np.float64), np.asarray(w, np.float64)
    if not np.isfinite(w).all():
        raise UserError("w must hold finite numbers only, got NaN or infinity in it.")
    s, V = np.linalg.eigh(G[:, :-1, :-1])
    b = np.einsum("ka,kai->ki", G[:, :-1, -1], V).ravel()
    answer = np.einsum("ka,kai->ki", w, V).ravel()
    s = np.maximum(s.ravel(), 0)
    scale = float(s.max())
    design = b[:, None] * chebyshev.chebvander(2 * s / scale - 1, degree - 1)
    found = np.linalg.lstsq(design, answer)[0]
    total = float(answer @ answer)
    left = float(np.sum((answer - design @ found) ** 2))
    return Filter(
        tuple(map(float, found)),
        scale,
        (float(s.min()), scale),
        1 - left / total if total > 0 else 1.0,
    )


def exact_filter(weights: GDPlusPlus, G: Float[np.ndarray, "samples p p"]) -> ExactFilter:
    """The filter of a GD++ network, with the range of eigenvalues of these contexts."""
    s = np.linalg.eigvalsh(np.asarray(G[:SPECTRA, :-1, :-1], np.float64))
    xx, yx = (tuple(np.asarray(part, np.float64).tolist()) for part in (weights.xx, weights.yx))
    return ExactFilter(xx, yx, (max(float(s.min()), 0.0), float(s.max())))


def ridge_filter(s: Float[np.ndarray, " k"], sigma: float) -> Float[np.ndarray, " k"]:
    """The filter s / (s + sigma^2) of ridge with the noise level sigma, and 1 at sigma = 0."""
    return np.ones_like(s) if sigma == 0 else s / (s + sigma**2)
