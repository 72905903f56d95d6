"""The computation of the cells about single sentences (`questions_readings`), in NumPy alone."""

from __future__ import annotations

import numpy as np

from attnlab.lab.cell import Outcome, seed_of
from attnlab.linear.study.questions_readings import (
    LAYER_STEPS,
    LENGTHS,
    MULTIPLES,
    RIDGE_CONSTANTS,
    Adjustment,
    AdjustmentFound,
    KnownNoise,
    KnownNoiseFound,
    Readings,
    ReadingsFound,
    Rescaled,
    RescaledFound,
)
from attnlab.stats import Estimate

Heads = np.ndarray  # p_x, p_y, q_x, q_y of every head, one row per head


def _relative(found: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.abs(found - wanted).max() / np.abs(wanted).max())


def _layer(tokens: np.ndarray, matrices: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Equation (3): e_i + sum_k P_k sum_j e_j <e_j, Q_k e_i>; the last token is the query."""
    context = tokens[:-1]
    return tokens + sum((tokens @ Q.T @ context.T) @ context @ P.T for P, Q in matrices)


def _diagonal(heads: Heads, d: int) -> list[tuple[np.ndarray, np.ndarray]]:
    def matrix(x: float, y: float) -> np.ndarray:
        return np.diag(np.append(np.full(d, x), y))

    return [(matrix(p_x, p_y), matrix(q_x, q_y)) for p_x, p_y, q_x, q_y in heads]


def _omegas(heads: Heads) -> tuple[float, float, float, float]:
    p_x, p_y, q_x, q_y = heads.T
    return float(p_x @ q_x), float(p_x @ q_y), float(p_y @ q_x), float(p_y @ q_y)


def _updated(tokens: np.ndarray, xx: float, xy: float, yx: float, yy: float) -> np.ndarray:
    """Equation (10)."""
    X, y = tokens[:-1, :-1], tokens[:-1, -1]
    Sigma, alpha, lam = X.T @ X, y @ X, y @ y
    x, label = tokens[:, :-1], tokens[:, -1]
    return np.column_stack(
        [
            x + xx * x @ Sigma + xy * np.outer(label, alpha),
            label + yx * x @ alpha + yy * label * lam,
        ]
    )


def readings(config: Readings) -> ReadingsFound:
    """Compare layers with what the text says of them."""
    rng = np.random.default_rng(seed_of(config))
    found = [_one_context(config, rng) for _ in range(config.networks)]
    columns = np.array(found).T
    largest = [float(column.max()) for column in columns]
    largest[3] = float(np.median(columns[3]))
    return ReadingsFound(*largest)


def _one_context(config: Readings, rng: np.random.Generator) -> tuple[float, ...]:
    d, n = config.d, config.n
    X, w = rng.standard_normal((n, d)) / n**0.5, rng.standard_normal(d)
    y = X @ w + rng.uniform(0.5, 2) * rng.standard_normal(n)
    query = np.append(rng.standard_normal(d) / n**0.5, 0.0)
    tokens = np.vstack([np.column_stack([X, y]), query])
    Sigma, alpha, lam = X.T @ X, y @ X, y @ y
    ols = np.linalg.solve(Sigma, alpha)
    W_P, W_V, W_K, W_Q = 0.3 * rng.standard_normal((4, d + 1, d + 1))
    scores = (tokens @ W_Q.T) @ (tokens[:-1] @ W_K.T).T
    four = tokens + scores @ (tokens[:-1] @ W_V.T) @ W_P.T
    heads = 0.25 * rng.standard_normal((3, 4))
    layer = _layer(tokens, _diagonal(heads, d))
    xx, xy, yx, yy = omegas = _omegas(heads)
    two = np.array([[1, 0, xx, xy], [0, 1, yx, yy]])  # a head for each row of the omegas
    a, state = rng.standard_normal(), rng.standard_normal(d)
    residual = a * y - X @ state
    # One number each, and the others 0.
    scaled, stepped, sloped, shifted = (
        _layer(tokens, _diagonal(np.array([row]), d))
        for row in ((0, yy, 0, 1), (0, yx, 1, 0), (xx, 0, 1, 0), (xy, 0, 0, 1))
    )
    r = y - X @ ols
    pre = np.eye(d) + xx * Sigma
    return (
        _relative(_layer(tokens, [(W_P @ W_V, W_K.T @ W_Q)]), four),
        _relative(_updated(tokens, *omegas), layer),
        _departure(heads[:1]),
        _departure(heads[:2]),
        _relative(_layer(tokens, _diagonal(two, d)), layer),
        _relative(-2 * residual @ X, -2 * Sigma @ (a * ols - state)),
        _relative(sloped[:-1, :-1].T @ sloped[:-1, :-1], pre @ Sigma @ pre),
        # From w = 0 a gradient step of size -yx / 2 on the squared residuals is -yx alpha.
        _relative(-stepped[-1:, -1], (-yx * Sigma @ ols @ query[:-1])[None]),
        _relative(scaled[:-1, -1], (1 + yy * lam) * y),
        _relative(scaled[:, :-1], tokens[:, :-1]),
        _relative(
            shifted[:-1, :-1],
            X @ (np.eye(d) + xy * np.outer(Sigma @ ols, ols)).T + xy * np.outer(r, Sigma @ ols),
        ),
    )


def _departure(heads: Heads) -> float:
    xx, xy, yx, yy = _omegas(heads)
    return abs(xx * yy - xy * yx) / (abs(xx * yy) + abs(xy * yx))


def rescaled(config: Rescaled) -> Outcome[RescaledFound]:
    """Measure ridge against rescaled least squares, for growing contexts."""
    rng = np.random.default_rng(seed_of(config))
    d, variance, rows = config.d, config.sigma**2, []
    for n in LENGTHS:
        X = rng.standard_normal((config.contexts, n, d))
        w = rng.standard_normal((config.contexts, d))
        noise = config.sigma * rng.standard_normal((config.contexts, n))
        y = np.einsum("cnd,cd->cn", X, w) + noise
        Sigma, alpha = X.transpose(0, 2, 1) @ X, np.einsum("cn,cnd->cd", y, X)
        ols = np.linalg.solve(Sigma, alpha[..., None])[..., 0]
        ridge = np.linalg.solve(Sigma + variance * np.eye(d), alpha[..., None])[..., 0]
        apart = np.linalg.norm(ridge - n / (n + variance) * ols, axis=1)
        distance = Estimate.of(apart / np.linalg.norm(ridge - ols, axis=1))
        relative = float(np.mean(apart / np.linalg.norm(ridge, axis=1)))
        rows.append(RescaledFound(n, distance.value, distance.standard_error, relative))
    return Outcome(rows)


def known_noise(config: KnownNoise) -> Outcome[KnownNoiseFound]:
    """Measure ridge with multiples of the true variance on sampled weights and queries."""
    rng = np.random.default_rng(seed_of(config))
    count, n, d, sigma = config.contexts, config.n, config.d, config.sigma
    X, w = rng.standard_normal((count, n, d)), rng.standard_normal((count, d))
    y = np.einsum("cnd,cd->cn", X, w) + sigma * rng.standard_normal((count, n))
    query, noise = rng.standard_normal((count, d)), sigma * rng.standard_normal(count)
    Sigma, alpha = X.transpose(0, 2, 1) @ X, np.einsum("cn,cnd->cd", y, X)
    losses, added = {}, {}
    for multiple in MULTIPLES:
        ridge = np.linalg.solve(Sigma + multiple * sigma**2 * np.eye(d), alpha[..., None])[..., 0]
        losses[multiple] = np.square(ridge - w).sum(1) / 2
        miss = np.einsum("cd,cd->c", ridge - w, query)
        added[multiple] = Estimate.of((np.square(miss - noise) - np.square(miss)) / sigma**2)
    rows = []
    for multiple in MULTIPLES:
        excess = Estimate.of(losses[multiple] - losses[1.0])
        rows.append(
            KnownNoiseFound(
                multiple,
                float(losses[multiple].mean()),
                excess.value,
                excess.standard_error,
                added[multiple].value,
                added[multiple].standard_error,
            )
        )
    return Outcome(rows)


def adjustment(config: Adjustment) -> Outcome[AdjustmentFound]:
    """Compare sampled losses and their derivatives with those of the adjusted loss."""
    rng = np.random.default_rng(seed_of(config))
    count, n, d = config.contexts, config.n, config.d
    X, true = rng.standard_normal((count, n, d)), rng.standard_normal((count, d))
    sigma, query = rng.uniform(0, config.sigma_max, count), rng.standard_normal((count, d))
    y = np.einsum("cnd,cd->cn", X, true) + sigma[:, None] * rng.standard_normal((count, n))
    s, U = np.linalg.eigh(X.transpose(0, 2, 1) @ X)
    alpha = np.einsum("cn,cnd->cd", y, X)
    # In the eigenbasis of Sigma, which changes no norm and no inner product.
    alpha, true, query = (np.einsum("cde,cd->ce", U, part) for part in (alpha, true, query))
    oracle = alpha / (s + sigma[:, None] ** 2)
    predictors = [("one layer", step, step * alpha, alpha) for step in LAYER_STEPS]
    for constant in RIDGE_CONSTANTS:
        ridge = alpha / (s + constant)
        predictors.append(("ridge", constant, ridge, -ridge / (s + constant)))
    best = np.square(_inner(oracle - true, query)) / 2
    rows = []
    for name, parameter, w, change in predictors:
        miss, apart = _inner(w - true, query), w - oracle
        loss, adjusted = np.square(miss) / 2, np.square(apart).sum(1) / 2
        slope = _inner(apart, change)
        difference = Estimate.of(loss - best - adjusted)
        slopes = Estimate.of(miss * _inner(change, query) - slope)
        rows.append(
            AdjustmentFound(
                predictor=name,
                parameter=parameter,
                loss=float(loss.mean()),
                oracle=float(best.mean()),
                adjusted=float(adjusted.mean()),
                difference=difference.value,
                difference_error=difference.standard_error,
                slope=float(slope.mean()),
                slope_difference=slopes.value,
                slope_error=slopes.standard_error,
                slope_scale=float(np.sqrt(2 * adjusted * np.square(change).sum(1)).mean()),
            )
        )
    return Outcome(rows)


def _inner(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.einsum("cd,cd->c", left, right)
