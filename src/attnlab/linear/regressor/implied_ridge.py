"""The noise level that a network's answer implies: that of the nearest ridge regression.

A network gives w and no noise level. Its answer lies close to the path w(p) = (Sigma + p I)^-1
alpha of ridge regressions, and the p whose fitted values are nearest to the network's is the
implied penalty. If y has noise of variance v and w the prior N(0, (v / p) I), then
E (lambda - alpha^T w(p)) = n v. This is the noise for which the implied ridge is the posterior
mean.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

POINTS, ZOOMS = 41, 2  # of a search on a logarithmic grid, which finds the penalty to 0.1%
LOWEST, HIGHEST = 1e-8, 1e4  # the range of penalties, in units of the largest eigenvalue


class Implied(NamedTuple):
    """The penalty p, which is infinite for the answer 0, and n v."""

    penalty: Float[np.ndarray, " problems"]
    noise_square_sum: Float[np.ndarray, " problems"]


def implied_ridge(
    G: Float[np.ndarray, "problems p p"], w: Float[np.ndarray, "problems d"]
) -> Implied:
    """The point of the ridge path that is nearest to w in the norm ||X w||."""
    s, V = np.linalg.eigh(G[:, :-1, :-1])
    s = np.maximum(s, 0)
    alpha, w = ((row[:, None] @ V)[:, 0] for row in (G[:, :-1, -1], w))
    unit = np.where(s[:, -1] > 0, s[:, -1], 1.0)

    def path(p: Float[np.ndarray, "problems k"]) -> Float[np.ndarray, "problems k d"]:
        return alpha[:, None] / (s[:, None] + p[..., None])

    def nearest(logs: Float[np.ndarray, "problems k"]) -> Float[np.ndarray, " problems"]:
        gap = path(unit[:, None] * np.exp(logs)) - w[:, None]
        place = (s[:, None] * gap**2).sum(-1).argmin(axis=1)
        return np.take_along_axis(logs, place[:, None], axis=1)[:, 0]

    coarse, step = np.linspace(np.log(LOWEST), np.log(HIGHEST), POINTS, retstep=True)
    log = nearest(np.broadcast_to(coarse, (len(w), POINTS)))
    for _ in range(ZOOMS):
        log = nearest(log[:, None] + step * np.linspace(-1, 1, POINTS))
        step = 2 * step / (POINTS - 1)
    p = unit * np.exp(log)
    explained = (alpha * path(p[:, None])[:, 0]).sum(-1)
    nothing = ~w.any(axis=1)
    left_over = np.maximum(G[:, -1, -1] - np.where(nothing, 0.0, explained), 0)
    return Implied(np.where(nothing, np.inf, p), left_over)
