"""Sentences of the paper that are algebra: symmetries, limits and what a generalised head covers.

Source: Amsel, Yehudai, Bruna (arXiv 2407.16153), Sections 3 and 4 and equation (10). Every row is
the largest difference of two expressions on random inputs, in double precision: an identity has a
difference of rounding size, and what is no identity has one of order 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from attnlab.lab.cell import CellKind, Outcome, seed_of
from attnlab.rank.study.identities_harmonics import HARMONICS
from attnlab.rank.study.identities_heads import COVERED, VALUE_BIAS, covered, scored, value_bias
from attnlab.rank.study.random_inputs import RANK, D, N, points_of_sphere, softmax

SOURCES = 4
OPPOSITE = "of the heads k qᵀ and −k qᵀ exactly one is right"
VOTES = (1, 3, 9, 31, 127)
SHARPER = (1.0, 10.0, 100.0, 1e3, 1e4)


@dataclass(frozen=True)
class Identities:
    """Identities about attention and the neighbour, on random inputs."""

    draws: int = 50
    """Random inputs for each identity."""
    seed: int = 0
    """Seed of the inputs."""


@dataclass(frozen=True)
class FeedForwardScores:
    """Attention whose scores are a feed-forward network, as a generalised head."""

    draws: int = 50
    """Random inputs."""
    seed: int = 0
    """Seed of the inputs."""


@dataclass(frozen=True)
class IdentityRow:
    """One identity and the largest difference of its two sides."""

    identity: str
    difference: float


def run_identities(config: Identities) -> Outcome[IdentityRow]:
    """One row per identity."""
    rng = np.random.default_rng(seed_of(config))
    return Outcome(
        [
            IdentityRow(name, max(one(rng) for _ in range(config.draws)))
            for name, one in IDENTITIES.items()
        ]
    )


def run_feed_forward_scores(config: FeedForwardScores) -> Outcome[IdentityRow]:
    """One row."""
    rng = np.random.default_rng(seed_of(config))
    return Outcome([IdentityRow(SCORED, max(scored(rng) for _ in range(config.draws)))])


def _layer(rng: np.random.Generator) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Two heads of rank 3, equation (1)."""
    heads = [[rng.standard_normal((D, RANK)) for _ in range(4)] for _ in range(2)]

    def answer(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return sum(
            (out @ V.T @ X @ softmax(X.T @ K @ Q.T @ Y) for Q, K, V, out in heads),
            start=np.zeros((D, Y.shape[1])),
        )

    return answer


def _nearest(X: np.ndarray, y: np.ndarray, bias: np.ndarray | float = 0.0) -> np.ndarray:
    return X[:, np.argmin(((X - y[:, None]) ** 2).sum(0) + bias)]


def _target_order(rng: np.random.Generator) -> float:
    layer, X, Y = _layer(rng), points_of_sphere(rng, N), points_of_sphere(rng, SOURCES)
    return float(np.abs(layer(X[:, rng.permutation(N)], Y) - layer(X, Y)).max())


def _source_order(rng: np.random.Generator) -> float:
    layer, X, Y = _layer(rng), points_of_sphere(rng, N), points_of_sphere(rng, SOURCES)
    order = rng.permutation(SOURCES)
    return float(np.abs(layer(X, Y[:, order]) - layer(X, Y)[:, order]).max())


def _hardmax(rng: np.random.Generator) -> float:
    """How far c scores are beyond (N - 1) e^(-c gap) from their hardmax, as c grows."""
    scores = rng.standard_normal(N)
    gap = np.diff(np.sort(scores))[-1]
    beyond = [
        np.abs(softmax(c * scores) - (scores == scores.max())).max() - (N - 1) * np.exp(-c * gap)
        for c in SHARPER
    ]
    return float(max(beyond).clip(0.0))


def _neighbour_order(rng: np.random.Generator) -> float:
    X, y = points_of_sphere(rng, N), points_of_sphere(rng, 1)[:, 0]
    return float(np.abs(_nearest(X[:, rng.permutation(N)], y) - _nearest(X, y)).max())


def _neighbour_rotation(rng: np.random.Generator) -> float:
    X, y, bias = points_of_sphere(rng, N), points_of_sphere(rng, 1)[:, 0], rng.uniform(size=N)
    U = np.linalg.qr(rng.standard_normal((D, D)))[0]
    plain = np.abs(_nearest(U @ X, U @ y) - U @ _nearest(X, y)).max()
    biased = np.abs(_nearest(U @ X, U @ y, bias) - U @ _nearest(X, y, bias)).max()
    return float(max(plain, biased))


def _biased_order(rng: np.random.Generator) -> float:
    X, y, bias = points_of_sphere(rng, N), points_of_sphere(rng, 1)[:, 0], rng.uniform(size=N)
    return float(np.abs(_nearest(X[:, ::-1], y, bias) - _nearest(X, y, bias)).max())


def _voted(rng: np.random.Generator) -> float:
    """The MLP of Theorem 34 against the point that most heads chose, for both orders of points."""
    from attnlab.rank.models.vote_by_mlp import vote_layers

    X, y, heads = points_of_sphere(rng, 2), points_of_sphere(rng, 1)[:, 0], int(rng.choice(VOTES))
    directions = rng.standard_normal((heads, D))

    def votes(points: np.ndarray) -> np.ndarray:
        return np.argmax((directions @ points) * (directions @ y)[:, None], axis=1)

    def answer(points: np.ndarray) -> np.ndarray:
        hidden, layers = points[:, votes(points)].T, vote_layers(heads)
        for W, b in layers[:-1]:
            hidden = np.maximum(W @ hidden + b[:, None], 0)
        W, b = layers[-1]
        return (W @ hidden + b[:, None])[0]

    majority = X[:, int(2 * votes(X).sum() > heads)]
    return float(max(np.abs(answer(order) - majority).max() for order in (X, X[:, ::-1])))


def _opposite(rng: np.random.Generator) -> float:
    """How far from 1 it is how many of the hardmax heads k qᵀ and −k qᵀ find the nearer point."""
    X, y = points_of_sphere(rng, 2), points_of_sphere(rng, 1)[:, 0]
    k, q = rng.standard_normal((2, D))
    nearest = int(np.argmax(X.T @ y))
    right = [int(np.argmax(sign * (X.T @ k) * (q @ y))) == nearest for sign in (1, -1)]
    return abs(sum(right) - 1.0)


def _scaled(rng: np.random.Generator) -> float:
    """A hardmax layer on points of norm sqrt(d), over sqrt(d), against the one on unit vectors."""
    X, y, norm = points_of_sphere(rng, N), points_of_sphere(rng, 1)[:, 0], math.sqrt(D)
    heads = [[rng.standard_normal((D, RANK)) for _ in range(4)] for _ in range(2)]

    def answer(points: np.ndarray) -> np.ndarray:
        return sum(
            (out @ V.T @ points[:, np.argmax(points.T @ K @ Q.T @ y)] for Q, K, V, out in heads),
            start=np.zeros(D),
        )

    layer = np.abs(answer(norm * X) / norm - answer(X)).max()
    target = np.abs(_nearest(norm * X, y) / norm - _nearest(X, y)).max()
    return float(max(layer, target))


def _thresholds(rng: np.random.Generator, shift: Callable[[np.ndarray], float]) -> float:
    """Equation (10) against the definition (8), N = 2, with b* a function of the biases."""
    X, y, bias = points_of_sphere(rng, 2), points_of_sphere(rng, 1)[:, 0], rng.uniform(size=2)
    first = (X[:, 0] - X[:, 1]) @ y + shift(bias) > 0
    return float(np.abs(X[:, 0 if first else 1] - _nearest(X, y, bias)).max())


IDENTITIES: dict[str, Callable[[np.random.Generator], float]] = {
    "attention ignores the order of targets": _target_order,
    "attention follows the order of sources": _source_order,
    "softmax of c scores is within (N − 1) exp(−c gap) of the hardmax": _hardmax,
    "the neighbour ignores the order of points": _neighbour_order,
    "the neighbour follows rotations": _neighbour_rotation,
    "the biased neighbour ignores the order of points": _biased_order,
    COVERED: covered,
    VALUE_BIAS: value_bias,
    "thresholds as printed": lambda rng: _thresholds(rng, lambda b: b[0] - b[1]),
    "thresholds corrected": lambda rng: _thresholds(rng, lambda b: (b[1] - b[0]) / 2),
    "an MLP casts the vote in either order of points": _voted,
    "a hardmax layer and the neighbour scale with the points": _scaled,
    OPPOSITE: _opposite,
    **HARMONICS,
}
SCORED = "scores of a feed-forward network are generalised heads"
ROUNDING = 64 * D * N * math.ulp(1.0)

identities = CellKind("rank_identities", Identities, IdentityRow, run_identities, version=4)
feed_forward_scores = CellKind(
    "rank_feed_forward_scores", FeedForwardScores, IdentityRow, run_feed_forward_scores, version=2
)
