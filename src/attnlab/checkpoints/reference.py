"""What a random head looks like: the distribution of ranks and angle by shape alone.

A head of Q, K in R^(d x r) with independent normal entries has a form Q K^T whose effective ranks
and angle to the identity depend on (d, r) only; scale cancels. A head is a finding where it is
outside of that. No d x r matrix is drawn: with K = U R, R from Bartlett's decomposition of a
Wishart matrix (chi on the diagonal, normal above it) and M = U^T Q an r x r normal matrix,

    Q^T Q = M^T M + W,  W Wishart with d - r degrees of freedom,  trace(Q K^T) = trace(R^T M),

and the squared singular values of Q K^T are the eigenvalues of R Q^T Q R^T.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from attnlab.checkpoints.forms import entropy_rank, stable_rank

DRAWS = 1000
WORK = 1e9  # multiplications at most, so that large heads are drawn less often
FEWEST = 40
SHARE = 0.95  # of random heads within low and high


@dataclass(frozen=True)
class Spread:
    """The middle of a distribution, and the ends of its central 95 %."""

    low: float
    median: float
    high: float

    def holds(self, value: float | None) -> bool:
        """Whether a value is within the central 95 %."""
        return value is not None and self.low <= value <= self.high


@dataclass(frozen=True)
class RandomHead:
    """Ranks and angle of a random head of one shape, from `draws` draws."""

    d: int
    r: int
    draws: int
    stable_rank: Spread
    entropy_rank: Spread
    angle: Spread


@functools.cache
def random_head(d: int, r: int) -> RandomHead:
    """The distribution for heads of this shape; the same numbers at every call."""
    draws = int(min(DRAWS, max(FEWEST, WORK / (20 * float(r) ** 3))))
    rng = np.random.default_rng([d, r])
    found = np.array([_draw(rng, d, r) for _ in range(draws)])
    return RandomHead(d, r, draws, *(_spread(column) for column in found.T))


def _draw(rng: np.random.Generator, d: int, r: int) -> tuple[float, float, float]:
    """Stable rank, entropy rank and angle of one random head."""
    R = wishart_root(rng, d, r)
    s = len(R)  # min(d, r)
    M = rng.standard_normal((s, r))
    rest = wishart_root(rng, d - s, r)
    gram = R @ (M.T @ M + rest.T @ rest) @ R.T
    sigma = np.sqrt(np.maximum(np.linalg.eigvalsh(gram), 0.0))
    cosine = float(np.vdot(R, M)) / (float(np.linalg.norm(sigma)) * math.sqrt(d))
    angle = math.degrees(math.acos(min(max(cosine, -1.0), 1.0)))
    return stable_rank(sigma), entropy_rank(sigma), angle


def wishart_root(rng: np.random.Generator, freedom: int, r: int) -> Float[np.ndarray, "s r"]:
    """The triangle of the QR of a freedom x r normal matrix, up to signs; s = min(freedom, r)."""
    s = min(freedom, r)
    root = np.triu(rng.standard_normal((s, r)), 1)
    np.fill_diagonal(root, np.sqrt(rng.chisquare(freedom - np.arange(s))))
    return root


def _spread(values: Float[np.ndarray, " n"]) -> Spread:
    tail = (1 - SHARE) / 2
    low, median, high = np.quantile(values, (tail, 0.5, 1 - tail))
    return Spread(float(low), float(median), float(high))
