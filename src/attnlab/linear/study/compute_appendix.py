"""The computation of the cell about Section 4 and the proofs of A.4 and A.5, in NumPy alone."""

from __future__ import annotations

import math

import numpy as np

from attnlab.lab.cell import seed_of
from attnlab.linear.study.questions_appendix import CONDITIONS, PRECISIONS, Appendix, AppendixFound
from attnlab.linear.theory import convergence

RAY = (1.0, 2.0, 3.0)  # multiples of the tokens for second differences


def appendix(config: Appendix) -> AppendixFound:
    """Check the sentences on random networks and contexts, and the proof of Theorem 5.1."""
    rng = np.random.default_rng(seed_of(config))
    signs = [_first_weights(config, rng) for _ in range(config.networks)]
    bends = [_bend(config, rng) for _ in range(config.networks)]
    equations = [_equation(config, sigma) for sigma in (config.sigma_1, config.sigma_2)]
    proofs = [_proof(kappa, eps) for kappa in CONDITIONS for eps in PRECISIONS]
    condition, error, bound, more = zip(*proofs, strict=True)
    return AppendixFound(
        first_weights=max(minus for minus, _ in signs),
        first_weights_printed=min(plus for _, plus in signs),
        equations=max(minus for minus, _ in equations),
        equations_printed=min(plus for _, plus in equations),
        bend=min(bends),
        proof_condition=max(condition),
        proof_error=max(error),
        proof_bound=max(bound),
        proof_more=max(more),
    )


def _tokens(config: Appendix, rng: np.random.Generator) -> np.ndarray:
    X, w = rng.standard_normal((config.n, config.d)) / config.n**0.5, rng.standard_normal(config.d)
    return np.column_stack([X, X @ w + config.sigma_1 * rng.standard_normal(config.n)])


def _first_weights(config: Appendix, rng: np.random.Generator) -> tuple[float, float]:
    """w^1 from the query token of every unit vector, y_t^1 = -<w^1, x_t>, by the definition."""
    tokens, omega = _tokens(config, rng), rng.standard_normal()
    X, y = tokens[:, :-1], tokens[:, -1]
    P, Q = np.zeros((2, config.d + 1, config.d + 1))
    P[-1, -1] = omega
    np.fill_diagonal(Q[:-1, :-1], 1.0)
    queries = np.eye(config.d, config.d + 1)
    moved = queries + (queries @ Q.T @ tokens.T) @ tokens @ P.T
    found, alpha = -moved[:, -1], y @ X
    size = np.abs(omega * alpha).max()
    minus, plus = (np.abs(found - sign * omega * alpha).max() / size for sign in (-1, 1))
    return float(minus), float(plus)


def _equation(config: Appendix, sigma: float) -> tuple[float, float]:
    """The equation of A.5, with the weights that solve it for w^1 = -omega_yx sum y_i x_i."""
    levels = np.array([config.sigma_1, config.sigma_2]) ** 2
    # Linear in c = -omega_yx and c n omega_yy.
    c, product = np.linalg.solve(np.column_stack([[1.0, 1.0], levels]), 1 / (1 + levels))
    omega_yx, omega_yy = -c, product / (c * config.n)
    factor = (1 + config.n * sigma**2 * omega_yy) * omega_yx * (1 + sigma**2)
    return float(abs(-factor - 1)), float(abs(factor - 1))


def _bend(config: Appendix, rng: np.random.Generator) -> float:
    """Second differences of M, u, w and a after two layers, each over its size; the least."""
    tokens = _tokens(config, rng)
    weights = 0.3 * rng.standard_normal((2, 2, config.d + 1, config.d + 1))
    states = []
    for scale in RAY:
        G, R = scale**2 * tokens.T @ tokens, np.eye(config.d + 1)
        for P, Q in weights:
            T = np.eye(config.d + 1) + P @ G @ Q
            G, R = T @ G @ T.T, T @ R
        states.append(R)
    all_but, last = slice(None, -1), slice(-1, None)
    found = []
    for rows, columns in ((all_but, all_but), (all_but, last), (last, all_but), (last, last)):
        one, two, three = (R[rows, columns] for R in states)
        size = max(np.abs(part).max() for part in (one, two, three))
        found.append(float(np.abs(three - 2 * two + one).max() / size))
    return min(found)


def _proof(kappa: float, eps: float) -> tuple[float, float, float, int]:
    """Appendix A.4: precondition until kappa' <= 1 + eps / (2 kappa), then a step of 1 / mu'.

    mu' is the smallest of the eigenvalues that remain. The excess kappa' - 1 follows a recursion
    without cancellation; the error is the largest over eigenvalues between 1 and kappa.
    """
    s, excess, layers = np.geomspace(1.0, kappa, 50), kappa - 1, 1
    apart = s - s[0]  # from the smallest eigenvalue, kept without cancellation
    while excess > eps / (2 * kappa):
        omega = -1 / (3 * s[-1])
        # s (1 + o s)^2 at s minus the same at the smallest eigenvalue m, over s - m.
        m = s[0]
        apart = apart * (1 + 2 * omega * (s + m) + omega**2 * (s**2 + s * m + m**2))
        s = convergence.preconditioned(s, omega)
        k = 1 + excess
        excess, layers = excess**2 * (4 * k - 1) / (3 * k - 1) ** 2, layers + 1
    error = float((apart / s[0]).max())  # f(s) - 1 = s' / mu' - 1
    bound = excess * math.sqrt(kappa * (1 + excess))
    more = layers - convergence.layers_needed(kappa, eps)
    return excess * 2 * kappa / eps, error / eps, bound / eps, more
