"""The best values of rank-1 hardmax heads by least squares on sampled prompts: no closed form."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnlab.stats import Estimate

RIDGE = 1e-9  # per sample, so that heads that repeat each other have a solution


def sampled_ridge(heads: Any, samples: int, seed: int) -> tuple[Estimate, Estimate]:
    """The error of fitted values where they were fitted, and on as many fresh prompts.

    The answers X phi_h of every head are regressed on the target. The first number is below the
    exact minimum on average, the second above it.
    """
    rng = np.random.default_rng(seed)
    A, f = _head_answers(heads, samples, rng)
    flat = A.transpose(0, 2, 1).reshape(-1, A.shape[1])
    gram = flat.T @ flat + RIDGE * samples * np.eye(A.shape[1])
    c = np.linalg.solve(gram, flat.T @ f.reshape(-1))
    fresh = _head_answers(heads, samples, rng)
    return Estimate.of(_squares(A, f, c)), Estimate.of(_squares(*fresh, c))


def _head_answers(
    heads: Any, samples: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """X phi_h of every hardmax head, (samples, H, d), and the nearest of the two points."""
    d = heads.q.shape[1]
    frames, _ = np.linalg.qr(rng.standard_normal((samples, d, 2)))
    X = np.swapaxes(frames, 1, 2) * rng.choice([-1.0, 1.0], (samples, 2, 1))
    y = rng.standard_normal((samples, d))
    scores = (X @ heads.k.T) * (y @ heads.q.T)[:, None, :]
    chosen = scores[:, 1] > scores[:, 0]
    A = np.where(chosen[..., None], X[:, None, 1], X[:, None, 0])
    nearest = np.einsum("snd,sd->sn", X, y).argmax(1)
    return A, X[np.arange(samples), nearest]


def _squares(A: np.ndarray, f: np.ndarray, c: np.ndarray) -> np.ndarray:
    return ((np.einsum("shd,h->sd", A, c) - f) ** 2).sum(1)
