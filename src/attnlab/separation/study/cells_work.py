"""What softmax and linear attention cost at one length: multiplications and the largest matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attnlab import arguments
from attnlab.lab.cell import CellKind, seed_of
from attnlab.lab.needs import Needs
from attnlab.separation.models import attention_output, normalise
from attnlab.separation.models.attention_work import linear_work, softmax_work
from attnlab.separation.rademacher import generators

SCALES = (1e-2, 1e-3)  # of the scores at which the first-order expansion is tried


@dataclass(frozen=True)
class AttentionWork:
    """The multiplications of softmax and of linear attention on sequences of one length."""

    n: int = 1024
    """Length of the sequence."""
    d: int = 8
    """Dimension of a token."""
    seed: int = 0
    """Seed of A_1, A_2, A_3, X and V."""


@dataclass(frozen=True)
class AttentionWorkResult:
    """Multiplications and entries of the largest matrix, both ways."""

    softmax: int
    linear: int
    softmax_entries: int
    linear_entries: int
    softmax_error: float  # of the counted output, relative to the largest entry of the definition's
    linear_error: float
    taylor_error: float  # of the weights by 1 + u against softmax, scores u times 1/100
    taylor_error_small: float  # the same with scores times 1/1000
    plain_error: float  # of the weights by u, which no factor changes, with scores times 1/1000


def run_work(config: AttentionWork) -> AttentionWorkResult:
    """Both kinds of attention on random matrices, counted and compared with the definition."""
    n, d = arguments.integer("n", config.n, 1), arguments.integer("d", config.d, 1)
    (rng,) = generators(seed_of(config), 1)
    given = (*rng.uniform(0.1, 1.0, (3, n, d)), *rng.uniform(0.1, 1.0, (2, d, d)))
    softmax, softmax_cost = softmax_work(*given)
    linear, linear_cost = linear_work(*given)
    direct = attention_output(*given), attention_output(*given, kind="linear")
    errors = [
        float(np.abs(found - wanted).max() / np.abs(wanted).max())
        for found, wanted in zip((softmax, linear), direct, strict=True)
    ]
    A_1, A_2, _, X, _ = given
    large, small = (scale * (A_1 @ X @ A_2.T) for scale in SCALES)
    return AttentionWorkResult(
        softmax_cost.multiplications,
        linear_cost.multiplications,
        softmax_cost.largest,
        linear_cost.largest,
        *errors,
        taylor_error=_weights_apart(1 + large, large),
        taylor_error_small=_weights_apart(1 + small, small),
        plain_error=_weights_apart(small, small),
    )


def _weights_apart(u: np.ndarray, scores: np.ndarray) -> float:
    """The largest difference of u / <u, 1> from the softmax weights, relative to those."""
    weights = normalise(scores, "softmax")
    return float(np.abs(normalise(u, "linear") / weights - 1).max())


def needs_of_work(config: AttentionWork) -> Needs:
    """The scores, their exponentials and the weights."""
    return Needs(host_bytes=8 * 8 * config.n**2, reduce="n")


work = CellKind(
    "separation_work", AttentionWork, AttentionWorkResult, run_work, version=2, needs=needs_of_work
)
