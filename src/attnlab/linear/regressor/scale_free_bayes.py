"""The floor of a regressor that is told no scale: Bayes with unknown signal and noise.

`attnlab.linear.models.bayes` is told that w ~ N(0, I) and how large sigma can be. Whoever
accepts labels in any unit cannot be: here only the ratio of noise to signal has a law, U(0,
loudest), and the scale of both is integrated out. The shipped networks were trained with this law.
"""

import numpy as np
from jaxtyping import Float


def scale_free_bayes(
    X: Float[np.ndarray, "problems n d"],
    y: Float[np.ndarray, "problems n"],
    loudest: float = 3.0,
    points: int = 48,
) -> Float[np.ndarray, "problems d"]:
    """The posterior mean of w for centred data that are not constant.

    y ~ N(0, v (I + X X^T / p)) with the density 1 / v of v leaves the evidence
    |I + X X^T / p|^-1/2 (lambda - alpha^T w(p))^-n/2 of a penalty p = r^2 tr(Sigma) / n, with
    r ~ U(0, loudest) and w(p) = (Sigma + p I)^-1 alpha.
    """
    n = X.shape[1]
    s, V = np.linalg.eigh(X.swapaxes(1, 2) @ X)
    s = np.maximum(s, 0)
    b = ((y[:, None] @ X) @ V)[:, 0]
    nodes, prior = np.polynomial.legendre.leggauss(points)
    p = (loudest * (nodes + 1) / 2) ** 2 * s.sum(1, keepdims=True) / n
    shifted = s[:, None] + p[..., None]
    lam = np.square(y).sum(1)[:, None]
    # Without noise the difference is rounding, and the smallest penalty wins.
    left = np.maximum(lam - (b[:, None] ** 2 / shifted).sum(-1), 1e-14 * lam)
    evidence = np.log(prior) - 0.5 * np.log(shifted / p[..., None]).sum(-1) - n / 2 * np.log(left)
    posterior = np.exp(evidence - evidence.max(1, keepdims=True))
    posterior /= posterior.sum(1, keepdims=True)
    w = (posterior[..., None] * b[:, None] / shifted).sum(1)
    return (V @ w[..., None])[..., 0]
