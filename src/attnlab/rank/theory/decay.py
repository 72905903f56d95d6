"""How little a rank-r head sees of a periodic threshold: the mechanism of Theorem 4.

Source: Amsel, Yehudai, Bruna (arXiv 2407.16153), Theorem 4 and equation (11). x = x_1 - x_2 is
uniform of norm sqrt(2d), y ~ N(0, I), and psi_a is a square wave on [-a, a], a sum of 2a + 1
thresholds; its largest correlation with any g(K x, y), K of rank r, is computed by quadrature,
since Monte Carlo noise would hide it. As printed, with the absolute value inside the expectation,
(11) is E|g| and does not decay; meant is |E[psi_a g]| <= ||g|| exp(-Omega(d - r)).
"""

import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from scipy import special

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.stats import Estimate

FREQUENCIES = 201  # the odd ones below it are summed
NODES = 400
NEGLIGIBLE = 1e-18  # of a weight, beside the rounding of the sum


def thresholds(a: int) -> tuple[Float[np.ndarray, " breaks"], Float[np.ndarray, " breaks"]]:
    """Breaks b_j and weights w_j with psi_a(z) = sum_j w_j 1(z >= b_j): 2a + 1 of them.

    psi_a(z) = (-1)^floor(z) on [-a, a) and 0 outside.
    """
    a = arguments.integer("a", a, 1)
    breaks = np.arange(-a, a + 1)
    weights = 2.0 * (-1.0) ** np.abs(breaks)
    weights[[0, -1]] /= 2
    return breaks.astype(float), weights


def correlation(d: int, r: int) -> Estimate:
    """max over g of E[psi(<x, y>) g(K x, y)] / ||g||, the norm of E[psi | K x, y].

    With psi = sum_{m odd} 4/(pi m) sin(pi m z), S = |K x|^2 and R^2 = 2d - S = 2d Beta(n/2, r/2),
    n = d - r, two copies of x that share K x give, at equal frequencies,

        E[...]^2 = sum_m 8/(pi m)^2 E[(1 - exp(-2 pi^2 m^2 S)) e^-c 0F1(n/2; c^2/4)],

    c = pi^2 m^2 R^2, the last factor being E exp(-c (1 - t)) for one coordinate t of S^(n-1). Two
    different frequencies contribute of the order exp(-4 pi^2 d) and are left out. psi_a itself
    differs where |z| > a >= d^2, with probability below 2 exp(-d^3 / 4).
    """
    d, r = _checked(d, r)
    n = d - r
    share, weights = _beta_rule(n / 2, r / 2)
    total = 0.0
    for m in range(1, FREQUENCIES, 2):
        c = (math.pi * m) ** 2 * 2 * d * share
        seen = -np.expm1(-2 * (math.pi * m) ** 2 * 2 * d * (1 - share))
        # e^-c 0F1(n/2; c^2/4) = Gamma(n/2) (2/c)^(n/2-1) I_{n/2-1}(c) e^-c.
        log_power = math.lgamma(n / 2) + (n / 2 - 1) * np.log(2 / c)
        total += (
            8
            / (math.pi * m) ** 2
            * float(weights @ (seen * np.exp(log_power) * special.ive(n / 2 - 1, c)))
        )
    return Estimate(math.sqrt(total))


def correlation_by_thresholds(d: int, r: int, nodes: int = 64) -> float:
    """The same number without a Fourier series, from psi as a sum of thresholds.

    Given s = K x and y, <x, y> = z_0 + B t with z_0 = <s, K y> ~ N(0, S) and B = R |y_perp|, so
    E[psi | K x, y] = sum_j w_j P(t >= (b_j - z_0) / B) is a sum of incomplete beta functions,
    whose square is averaged over S, |y_perp| and z_0 modulo 1. Cancellation limits it to 1e-7.
    """
    d, r = _checked(d, r)
    n = d - r
    phases = (np.arange(16) + 0.5) / 16
    share, share_weights = _root_rule(
        nodes, 1.0, lambda p: special.xlogy(n / 2 - 1, p) + special.xlog1py(r / 2 - 1, -p)
    )
    far = 4 * float(special.gammaincinv(n / 2, 1 - 1e-14))  # twice the quantile of chi squared
    length, length_weights = _root_rule(
        2 * nodes, far, lambda v: special.xlogy(n / 2 - 1, v) - v / 2
    )
    total = 0.0
    for part, weight in zip(share, share_weights, strict=True):
        B = np.sqrt(2 * d * part * length)
        breaks, jumps = thresholds(math.ceil(B.max()) + 1)
        cut = (breaks[None, None, :] - phases[None, :, None]) / B[:, None, None]
        squares = (_coordinate_tail(n, np.clip(cut, -1, 1)) @ jumps) ** 2
        near = _wrapped_normal(phases, math.sqrt(2 * d * (1 - part)))
        total += weight * float(length_weights @ squares @ near)
    return math.sqrt(total)


def _beta_rule(a: float, b: float, nodes: int = NODES) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Jacobi for a Beta(a, b) variable."""
    u, weights = special.roots_jacobi(nodes, b - 1, a - 1)
    return (1 + u) / 2, weights / weights.sum()


def _root_rule(
    nodes: int, end: float, log_density: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre in the root of a variable on (0, end), finest near 0.

    The log density may lack a constant, since the weights are divided by their sum. Nodes whose
    weight is below `NEGLIGIBLE` of it are left out.
    """
    u, weights = special.roots_legendre(nodes)
    root = (1 + u) / 2 * math.sqrt(end)
    logs = log_density(root**2)
    weights = weights * root * np.exp(logs - logs.max())
    weights /= weights.sum()
    kept = weights > NEGLIGIBLE
    return root[kept] ** 2, weights[kept]


def _wrapped_normal(phases: np.ndarray, deviation: float) -> np.ndarray:
    """Weights of z_0 ~ N(0, deviation^2) modulo 1 on equally spaced phases."""
    turns = np.arange(1, 60)
    waves = np.exp(-2 * (math.pi * deviation * turns) ** 2)
    density = 1 + 2 * np.cos(2 * math.pi * phases[:, None] * turns[None, :]) @ waves
    return density / density.sum()


def _coordinate_tail(n: int, t: np.ndarray) -> np.ndarray:
    """P(coordinate of a uniform point of S^(n-1) >= t)."""
    tail = special.betainc((n - 1) / 2, 0.5, 1 - t * t) / 2
    return np.where(t >= 0, tail, 1 - tail)


def _checked(d: int, r: int) -> tuple[int, int]:
    d, r = arguments.integer("d", d, 3), arguments.integer("r", r, 1)
    if r > d - 2:
        raise UserError(f"r must be an integer from 1 to d - 2 = {d - 2}, got {r!r}.")
    return d, r
