"""The counts of steps are those of the methods themselves, run on matrices."""

import numpy as np
import pytest
from scipy.optimize import linprog

from attnlab.errors import UserError
from attnlab.linear.theory import orders

KAPPA, DIGITS = 6.0, 7.5
S = np.linspace(1.0, KAPPA, 400)  # eigenvalues of Sigma


def steps_until(errors):
    return next(k for k, error in enumerate(errors) if error <= 10**-DIGITS)


def gradient_descent():
    left = np.ones_like(S)
    while True:
        yield np.abs(left).max()
        left = left * (1 - 2 / (1 + KAPPA) * S)


def newton():
    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.standard_normal((12, 12)))[0]
    Sigma = U * np.linspace(1.0, KAPPA, 12) @ U.T
    X = 2 / (1 + KAPPA) * np.eye(12)
    while True:
        yield np.linalg.norm(np.eye(12) - Sigma @ X, 2)
        X = X @ (2 * np.eye(12) - Sigma @ X)


def chebyshev_iteration():
    """Chebyshev's semi-iteration, which reaches the bound on first-order methods."""
    z = (KAPPA + 1) / (KAPPA - 1)
    at = (KAPPA + 1 - 2 * S) / (KAPPA - 1)
    before, now = np.ones_like(S), at / z
    outer, inner = 1.0, z  # T_k(z)
    yield 1.0
    while True:
        yield np.abs(now).max()
        following = 2 * z * inner - outer
        before, now = now, (2 * at * inner * now - outer * before) / following
        outer, inner = inner, following


@pytest.mark.parametrize(
    ("count", "method"),
    [
        (orders.gradient_steps, gradient_descent),
        (orders.newton_steps, newton),
        (orders.first_order_steps, chebyshev_iteration),
    ],
)
def test_the_count_is_that_of_the_method(count, method):
    # A step of gradient descent starts at 0 and not at 2 / (mu + nu), where Newton's iteration is.
    assert count(KAPPA, DIGITS) == steps_until(method())


def test_no_combination_of_gradients_is_better_than_chebyshev():
    """The least largest |p| over [mu, nu], p of degree k with p(0) = 1, by linear programming."""
    for k in (1, 2, 4):
        powers = S[:, None] ** np.arange(1, k + 1)
        ones = np.ones((len(S), 1))
        found = linprog(
            [*np.zeros(k), 1.0],
            A_ub=np.block([[powers, -ones], [-powers, -ones]]),
            b_ub=np.concatenate([-np.ones(len(S)), np.ones(len(S))]),
            bounds=[(None, None)] * k + [(0, None)],
        )
        digits = -np.log10(found.fun)
        assert orders.first_order_steps(KAPPA, 0.999 * digits) == k
        assert orders.first_order_steps(KAPPA, 1.001 * digits) == k + 1


@pytest.mark.parametrize("kappa", [1.0, float("inf")])
def test_a_condition_number_that_has_no_count_is_refused(kappa):
    with pytest.raises(UserError, match="kappa"):
        orders.newton_steps(kappa, 3)
