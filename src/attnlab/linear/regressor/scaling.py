"""The transformation of data to the units of training, and of the answer back.

Diagonal weights serve any d, and depend on the data through G = [X y]^T [X y] alone. X is divided
by one number and y by another, so that the largest eigenvalue of Sigma and lambda are 1. Then G
lies in a bounded set, on which a network of any depth is a bounded polynomial. Features are neither
whitened nor scaled to equal variances, so that rotations of the inputs rotate the answer.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

EPS = np.finfo(float).eps


class Centred(NamedTuple):
    """Data around an offset, divided by a power of two so that their squares do not overflow."""

    values: Float[np.ndarray, "problems n k"]
    offset: Float[np.ndarray, "problems k"]
    exponent: Int[np.ndarray, " problems"]


class Scaled(NamedTuple):
    """Contexts with both scales 1: the data are X times `x_scale` and y times `y_scale`.

    Where d > n the columns are the n coordinates of the samples in a basis of their span, `basis`,
    which is None otherwise. `empty` marks problems in which X or y is constant; there nothing can
    be learnt, and G is 0.
    """

    G: Float[np.ndarray, "problems p p"]
    x_scale: Float[np.ndarray, " problems"]
    y_scale: Float[np.ndarray, " problems"]
    basis: Float[np.ndarray, "problems d k"] | None
    empty: np.ndarray


def centred(values: Float[np.ndarray, "problems n k"], shift: bool) -> Centred:
    """Subtract the means if `shift` is set; a column that is constant up to rounding becomes 0."""
    largest = np.abs(values).max(axis=(1, 2))
    exponent = np.frexp(largest)[1]
    values = np.ldexp(values, -exponent[:, None, None])
    if not shift:
        return Centred(values, np.zeros(values.shape[::2]), exponent)
    offset = values.mean(axis=1)
    moved = values - offset[:, None]
    rounding = 4 * EPS * np.abs(values).max(axis=1)
    constant = np.abs(moved).max(axis=1) <= rounding
    return Centred(np.where(constant[:, None], 0.0, moved), offset, exponent)


def scaled(X: Float[np.ndarray, "problems n d"], y: Float[np.ndarray, "problems n"]) -> Scaled:
    """The Gram matrices of centred data, scaled so that the largest eigenvalue and lambda are 1."""
    basis = None
    if X.shape[2] > X.shape[1]:
        basis, R = np.linalg.qr(X.swapaxes(1, 2))
        X = R.swapaxes(1, 2)
    E = np.concatenate([X, y[..., None]], axis=2)
    G = E.swapaxes(1, 2) @ E
    top, lam = np.linalg.eigvalsh(G[:, :-1, :-1])[:, -1], G[:, -1, -1]
    empty = (top <= 0) | (lam <= 0)
    x_scale = 1 / np.sqrt(np.where(empty, 1.0, top))
    y_scale = 1 / np.sqrt(np.where(empty, 1.0, lam))
    scale = np.repeat(x_scale[:, None], G.shape[1], axis=1)
    scale[:, -1] = y_scale
    G = np.where(empty[:, None, None], 0.0, G * scale[:, :, None] * scale[:, None])
    return Scaled(G, x_scale, y_scale, basis, empty)


def restored(
    w: Float[np.ndarray, "problems k"], context: Scaled
) -> Float[np.ndarray, "problems d"]:
    """The network's answer in the units of the data that `scaled` was given."""
    w = w * (context.x_scale / context.y_scale)[:, None]
    return w if context.basis is None else (context.basis @ w[..., None])[..., 0]
