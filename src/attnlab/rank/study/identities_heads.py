"""Which heads are generalised heads: standard ones against V X phi(K^T X, y) written out.

Source: Amsel, Yehudai, Bruna (arXiv 2407.16153), Section 3. Every phi gets the r x N matrix K^T X,
y and constants, and never X itself. A bias or an encoding that enters the values adds a term
without x, and with it the head is no generalised head: of one point, N = 1, generalised heads make
sum_h V_h x, which is odd in x.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from attnlab.rank.study.random_inputs import RANK, D, N, points_of_sphere, softmax

COVERED = "biases of queries and keys and encodings in the scores are generalised heads"
VALUE_BIAS = "a bias of the values is a generalised head"
HIDDEN = 5  # units of a network that scores
ANGLE = 0.3  # of RoPE, per place
SLOPE = 0.2  # of ALiBi

Weights = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of (K^T X, y)


def _turned(vector: np.ndarray, angle: float) -> np.ndarray:
    """RoPE on the first two coordinates of one key or query."""
    turn = np.eye(len(vector))
    turn[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    return turn @ vector


def covered(rng: np.random.Generator) -> float:
    """Standard heads, point by point as their papers define them, against generalised heads."""
    X, y = points_of_sphere(rng, N), points_of_sphere(rng, 1)[:, 0]
    K, Q, V = (rng.standard_normal((D, RANK)) for _ in range(3))
    out, E, own = (rng.standard_normal(size) for size in ((D, RANK), (D, N), D))
    b_k, b_q = rng.standard_normal(RANK), rng.standard_normal(RANK)
    query = Q.T @ y
    places = np.arange(N)

    def standard(score: Callable[[int], Any]) -> np.ndarray:
        return out @ (V.T @ X) @ softmax(np.array([score(i) for i in range(N)]))

    def keys_turned(Z: np.ndarray) -> np.ndarray:
        return np.stack([_turned(z, ANGLE * i) for i, z in enumerate(Z.T)])

    pairs: list[tuple[np.ndarray, Weights]] = [
        (  # biases
            standard(lambda i: (K.T @ X[:, i] + b_k) @ (query + b_q)),
            lambda Z, y: softmax(Z.T @ (Q.T @ y + b_q)),  # b_k adds the same to every score
        ),
        (  # additive encodings of the points and of y, in the scores
            standard(lambda i: (X[:, i] + E[:, i]) @ K @ Q.T @ (y + own)),
            lambda Z, y: softmax((Z + K.T @ E).T @ Q.T @ (y + own)),
        ),
        (  # RoPE: the query has the place N
            standard(lambda i: _turned(K.T @ X[:, i], ANGLE * i) @ _turned(query, ANGLE * N)),
            lambda Z, y: softmax(keys_turned(Z) @ _turned(Q.T @ y, ANGLE * N)),
        ),
        (  # ALiBi
            standard(lambda i: X[:, i] @ K @ query - SLOPE * (N - i)),
            lambda Z, y: softmax(Z.T @ Q.T @ y - SLOPE * (N - places)),
        ),
    ]
    values = out @ V.T
    return max(
        float(np.abs(answer - values @ X @ weights(K.T @ X, y)).max()) for answer, weights in pairs
    )


def value_bias(rng: np.random.Generator) -> float:
    """How far a head with a bias of its values is from every sum of generalised heads, N = 1.

    The mean of its answers to x and to -x, which is 0 for every V x. Encodings that are added to
    the values, V (x + e), leave V e in the same way.
    """
    x = points_of_sphere(rng, 1)[:, 0]
    V, out, b_v = (rng.standard_normal(size) for size in ((D, RANK), (D, RANK), RANK))

    def answer(point: np.ndarray) -> np.ndarray:
        return out @ (V.T @ point + b_v)

    return float(np.abs(answer(x) + answer(-x)).max() / 2)


def scored(rng: np.random.Generator) -> float:
    """Scores w tanh(A x + B y + b) of the first papers on attention, A of rank r, N points.

    The generalised head gets K from the singular vectors of A. A matrix A of full rank would see
    all of x.
    """
    X, y = points_of_sphere(rng, N), points_of_sphere(rng, 1)[:, 0]
    A = rng.standard_normal((HIDDEN, RANK)) @ rng.standard_normal((RANK, D))
    B, V = rng.standard_normal((HIDDEN, D)), rng.standard_normal((D, D))
    shift, w = rng.standard_normal(HIDDEN), rng.standard_normal(HIDDEN)
    scores = [w @ np.tanh(A @ x + B @ y + shift) for x in X.T]
    left, sizes, right = np.linalg.svd(A, full_matrices=False)
    inner, K = left[:, :RANK] * sizes[:RANK], right[:RANK].T

    def weights(Z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return softmax(w @ np.tanh(inner @ Z + (B @ y + shift)[:, None]))

    return float(np.abs(V @ X @ softmax(np.array(scores)) - V @ X @ weights(K.T @ X, y)).max())
