"""What the tests of the regressor share: problems of the study, and extreme data."""

from typing import Any, NamedTuple

import numpy as np

from attnlab.linear.regressor.recursion import answers
from attnlab.linear.regressor.scaling import restored, scaled
from attnlab.linear.regressor.shipped import RegressorNetwork


class Problems(NamedTuple):
    """`count` regressions with the truth about them."""

    X: np.ndarray
    y: np.ndarray
    w: np.ndarray
    sigma: np.ndarray


def study_problems(seed: int, count: int, d: int = 10, n: int = 20, high: float = 5.0) -> Problems:
    """The study's: w ~ N(0, I), x ~ N(0, I), sigma ~ U(0, high)."""
    rng = np.random.default_rng((seed, count, d, n))
    X = rng.standard_normal((count, n, d))
    w, sigma = rng.standard_normal((count, d)), high * rng.random(count)
    y = (X @ w[..., None])[..., 0] + sigma[:, None] * rng.standard_normal((count, n))
    return Problems(X, y, w, sigma)


def excess_share(
    seed: int, network: RegressorNetwork, about: dict[str, Any], count: int
) -> np.ndarray:
    """The loss that a shipped file records, for every sequence of fresh tokens of its law.

    Half of the inputs have variances C spread over U(0, decades) powers of 10, sigma is uniform up
    to the file's bound for sqrt(tr C) = sqrt(d); the loss is half the excess error over ridge that
    knows sigma, over the labels' mean square, with the answer 0 costing 1/2 at most.
    """
    rng = np.random.default_rng((seed, network.d, network.n))
    loudest = float(about["noise"].removeprefix("uniform:")) / network.d**0.5
    parts = []
    for d in about["trained_on_d"]:
        n = max(round(d * network.n / network.d), 1)
        decades = rng.uniform(0, about["trained_on_decades"], count) * (rng.random(count) < 0.5)
        C = 10 ** (-decades[:, None] * rng.random((count, d)))
        X = rng.standard_normal((count, n, d)) * np.sqrt(C)[:, None]
        sigma = loudest * np.sqrt(C.sum(1)) * rng.random(count)
        y = (X @ rng.standard_normal((count, d, 1)))[..., 0]
        y += sigma[:, None] * rng.standard_normal((count, n))
        context = scaled(X, y)
        found = restored(answers(network.omegas, context.G)[-1], context)
        Xt, penalty = X.swapaxes(1, 2), sigma[:, None, None] ** 2
        oracle = np.linalg.solve(Xt @ X + penalty * np.eye(d), Xt @ y[..., None])[..., 0]
        square = np.square(y).mean(1)
        share, zero = ((C * v**2).sum(1) / square for v in (found - oracle, oracle))
        parts.append(share / np.maximum(zero, 1) / 2)
    return np.concatenate(parts)


def extreme_contexts(seed: int, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Data unlike all training data: outliers, one direction only, tiny and huge units, spikes."""
    rng = np.random.default_rng((seed, n, d))
    plain = rng.standard_normal((n, d))
    spread = plain * np.geomspace(1, 1e-9, d)
    outlier = plain.copy()
    outlier[0] *= 1e6
    line = plain[:, :1] @ rng.standard_normal((1, d))
    spike = np.zeros((n, d))
    spike[0, 0] = 1.0
    inputs = [plain, spread, outlier, line, spike, 1e300 * plain, 1e-280 * plain, plain + 1e9]
    steep = plain[:, -1] * 1e8
    labels = [rng.standard_normal(n), steep, rng.standard_cauchy(n) ** 3, plain[:, 0], np.eye(n)[0]]
    pairs = [(X, y) for X in inputs for y in labels]
    return np.stack([X for X, _ in pairs]), np.stack([y for _, y in pairs])


def orthogonal(rng: np.random.Generator, d: int) -> np.ndarray:
    return np.linalg.qr(rng.standard_normal((d, d)))[0]
