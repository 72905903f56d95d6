"""How many steps iterative methods need for least squares: the orders that Section 5.1 compares.

Source: Vladymyrov et al. (arXiv 2402.14180), the sentence after Theorem 5.1. The error is relative,
in the worst case over right-hand sides and over eigenvalues of Sigma in [mu, nu], kappa = nu / mu.
Everything is exact for 10^-digits, where digits may be in the thousands.

    gradient descent, step 2 / (mu + nu)     ((kappa - 1) / (kappa + 1))^k
    any combination of k gradients           1 / T_k((kappa + 1) / (kappa - 1)) at least
    Newton's iteration for the inverse       ((kappa - 1) / (kappa + 1))^(2^k)

T_k is Chebyshev's polynomial, which solves the minimax problem for polynomials with p(0) = 1. The
second line needs a dimension above k: conjugate gradients end after as many steps as Sigma has
eigenvalues.
"""

import math
from collections.abc import Callable

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.linear.theory.convergence import layers_for_digits


def gradient_steps(kappa: float, digits: float) -> int:
    """Steps of gradient descent with the best constant step."""
    return math.ceil(_digits(digits) / _first_step(kappa))


def first_order_steps(kappa: float, digits: float) -> int:
    """Gradients without which no method gets there: T_k(z) >= 10^digits, T_k(z) = cosh(k acosh z).

    acosh((kappa + 1) / (kappa - 1)) is 2 atanh(1 / sqrt(kappa)).
    """
    one = 2 * math.atanh(1 / math.sqrt(_condition(kappa)))
    wanted = _digits(digits) + math.log1p(math.sqrt(-math.expm1(-2 * _digits(digits))))
    return math.ceil(wanted / one)


def newton_steps(kappa: float, digits: float) -> int:
    """Steps of X <- X (2 - Sigma X) from X = 2 / (mu + nu), each of which squares 1 - Sigma X."""
    return max(0, math.ceil(math.log2(_digits(digits) / _first_step(kappa))))


STEPS: dict[str, Callable[[float, float], int]] = {
    "GD++": layers_for_digits,
    "Newton": newton_steps,
    "gradient descent": gradient_steps,
    "any first-order method": first_order_steps,
}


def _condition(kappa: float) -> float:
    if not 1 < kappa < math.inf:
        raise UserError(f"kappa must be a finite number above 1, got {kappa!r}.")
    return kappa


def _digits(digits: float) -> float:
    """log(1 / error)."""
    return arguments.positive("digits", digits) * math.log(10)


def _first_step(kappa: float) -> float:
    """log((kappa + 1) / (kappa - 1)), of which one step of gradient descent gains one."""
    return 2 * math.atanh(1 / _condition(kappa))
