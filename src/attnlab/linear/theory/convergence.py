"""Rates and limits of linear transformers: Theorem 5.1's layers, Theorem 4.2's cosine.

Source: Vladymyrov et al. (arXiv 2402.14180), Theorems 4.2 and 5.1, Lemmas A.2 and A.3. Everything
here is a scalar recursion or a closed form. The recursion also runs in decimal arithmetic, because
the log log part of the rate shows at errors far below the precision of floats.
"""

import math
from decimal import Decimal, localcontext
from typing import TypeVar

import numpy as np
from scipy import stats

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.stats import Estimate, line

Value = TypeVar("Value", float, np.ndarray)


def preconditioned(s: Value, omega_xx: float) -> Value:
    """An eigenvalue of Sigma after a layer with omega_xx alone: s (1 + omega_xx s)^2.

    Theorem 5.1 takes omega_xx = -1 / (3 nu) for the largest eigenvalue nu.
    """
    return s * (1 + omega_xx * s) ** 2


def next_condition(kappa: float) -> float:
    """Lemma A.3: kappa after one preconditioning layer, 4 kappa^3 / (3 kappa - 1)^2."""
    return 4 * kappa**3 / (3 * kappa - 1) ** 2


def contraction(kappa: float) -> float:
    """Lemma A.3: the factor by which kappa shrinks, .915 at kappa = 1.1 and 4/9 in the limit."""
    return next_condition(kappa) / kappa


def excess_constant(kappa: float) -> float:
    """Lemma A.3 near 1: (kappa' - 1) / (kappa - 1)^2, at most 2 by the text and 3/4 in the limit.

    It is computed from 4 k^3 - (3 k - 1)^2 = (k - 1)^2 (4 k - 1), without cancellation.
    """
    return (4 * kappa - 1) / (3 * kappa - 1) ** 2


def one_step_error(kappa: float) -> float:
    """Lemma A.2: the relative error of one step 2 / (mu + nu), (kappa - 1) / (kappa + 1)."""
    return (kappa - 1) / (kappa + 1)


def layers_needed(kappa: float, error: float) -> int:
    """Theorem 5.1: the least number of layers, the gradient step included, for this error.

    It is counted in decimal arithmetic on the excess kappa - 1.
    """
    if not kappa >= 1 or math.isinf(kappa):
        raise UserError(f"kappa must be a finite number of at least 1, got {kappa!r}.")
    arguments.open_fraction("error", error)
    return layers_for_digits(kappa, -math.log10(error))


def layers_for_digits(kappa: float, digits: float) -> int:
    """`layers_needed` for the error 10^-digits, where digits may be in the thousands."""
    with localcontext() as context:
        context.prec = 30
        context.Emin = -(10**9)
        excess = Decimal(kappa) - 1
        error = Decimal(10) ** Decimal(-digits)
        layers = 1
        while excess > error * (2 + excess):
            k = 1 + excess
            # kappa' - 1 = (kappa - 1)^2 (4 kappa - 1) / (3 kappa - 1)^2, without cancellation.
            excess = excess**2 * (4 * k - 1) / (3 * k - 1) ** 2
            layers += 1
        return layers


def log_log_slope(
    kappa: float, digits: tuple[int, ...] = (10, 100, 1000, 10_000, 100_000)
) -> float:
    """The slope of the number of layers against log2 log(1 / error).

    It is 1 where convergence is quadratic.
    """
    layers = [layers_for_digits(kappa, count) for count in digits]
    return line(np.log2(digits), layers).slope


def log_slope(error: float = 1e-3, kappas: tuple[float, ...] = (1e2, 1e4, 1e6, 1e8, 1e10)) -> float:
    """The slope of the number of layers against log kappa: 1 / log(9/4) = 1.233 in the limit."""
    layers = [layers_needed(kappa, error) for kappa in kappas]
    return line(np.log(kappas), layers).slope


def squared_cosine_mean(d: int, n: int) -> Estimate:
    """The mean square of Theorem 4.2's supremum R to first order, E R^2 = (d + 4) / n.

    With labels <w, x_i> every y_i^l is linear in x_i, so that the largest cosine with x_i(1)^2
    over all weights is the R of the regression of x_i(1)^2 on x_i, without an intercept.
    """
    return Estimate((arguments.integer("d", d, 1) + 4) / arguments.integer("n", n, 1))


def cosine_quantile(d: int, n: int, q: float = 0.99) -> float:
    """The q-quantile of R for large n, from n R^2 -> 5 chi^2_1 + chi^2_{d-1}.

    sum_i x_ij x_i1^2 / sqrt(n) is Gaussian in the limit, with the variance E x^6 = 15 for j = 1
    and E x^4 = 3 otherwise; R^2 divides by sum_i x_i1^4 ~ 3 n. The quantile is that of 200,000
    stratified values of the limit, which is accurate to three digits.
    """
    q = arguments.open_fraction("q", q)
    rng = np.random.default_rng(0)
    u = (np.arange(200_000) + 0.5) / 200_000
    values = 5 * stats.chi2.ppf(u, 1)
    if d > 1:
        values = values + stats.chi2.ppf(rng.permutation(u), d - 1)
    return float(np.sqrt(np.quantile(values, q) / n))


def sampled_cosines(d: int, n: int, samples: int, seed: int) -> np.ndarray:
    """The supremum R in independent contexts: the largest cosine that any weights reach there."""
    arguments.integer("d", d, 1)
    samples = arguments.integer("samples", samples, 1)
    if n < d:
        raise UserError(f"n must be at least d = {d} for a regression, got {n!r}.")
    rng = np.random.default_rng(arguments.integer("seed", seed, 0))
    found = np.empty(samples)
    for i in range(samples):
        X = rng.standard_normal((n, d))
        z = X[:, 0] ** 2
        beta = np.linalg.solve(X.T @ X, X.T @ z)
        found[i] = np.sqrt((X.T @ z) @ beta / (z @ z))
    return found
