"""Spherical harmonics of the sign: dimensions, Gegenbauer polynomials, and the spectrum of sgn.

Source: the Funk-Hecke formula on S^(d-1), used by Amsel, Yehudai, Bruna (arXiv 2407.16153) for the
nearest neighbour of two points, which is sgn(<x, y>). The coefficients come from Rodrigues' formula
in logarithms, so that d = 64 and degrees in the thousands lose nothing, and a second time from an
exact quadrature. The bounds that follow from the spectrum are in `attnlab.rank.theory`.
"""

import math
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import special

from attnlab import arguments


def dimension(d: int, degree: int) -> int:
    """N(d, l) = C(d+l-1, l) - C(d+l-3, l-2), the dimension of the harmonics of degree l."""
    d, degree = arguments.integer("d", d, 2), arguments.integer("degree", degree, 0)
    lower = math.comb(d + degree - 3, degree - 2) if degree >= 2 else 0
    return math.comb(d + degree - 1, degree) - lower


def monomials(r: int, m: int) -> int:
    """M(r, m) = C(r+m-1, m), the monomials of degree m in r variables; 0 for m < 0."""
    if m < 0:
        return 0
    return math.comb(r + m - 1, m) if r else int(m == 0)


def marginal_constant(d: int) -> float:
    """c_d of the density c_d (1 - t^2)^((d-3)/2) of one coordinate of a uniform point."""
    return math.exp(math.lgamma(d / 2) - math.lgamma((d - 1) / 2)) / math.sqrt(math.pi)


def log_abs_coefficient(d: int, degree: int) -> float:
    """log |lambda_l| for odd l, from Rodrigues' formula integrated l - 1 times.

    lambda_l = c_d Gamma((d-1)/2) (l-1)! (-1)^k C(a, k) / (2^(l-1) Gamma(l + (d-1)/2)) with
    l = 2k + 1 and a = l + (d-3)/2.
    """
    k, a = (degree - 1) // 2, degree + (d - 3) / 2
    binomial = math.lgamma(a + 1) - math.lgamma(k + 1) - math.lgamma(a - k + 1)
    scale = math.lgamma((d - 1) / 2) - math.lgamma(degree + (d - 1) / 2)
    powers = math.lgamma(degree) - (degree - 1) * math.log(2)
    return math.log(marginal_constant(d)) + scale + powers + binomial


def coefficient(d: int, degree: int) -> float:
    """lambda_l = E[sgn(t) P_l(t)], t one coordinate of a uniform point of S^(d-1); 0 for even l."""
    d, degree = arguments.integer("d", d, 2), arguments.integer("degree", degree, 0)
    if degree % 2 == 0:
        return 0.0
    return (-1) ** ((degree - 1) // 2) * math.exp(log_abs_coefficient(d, degree))


def energy(d: int, degree: int) -> float:
    """eta_l^2 = N(d, l) lambda_l^2, the part of E sgn^2 = 1 that lies in degree l."""
    d, degree = arguments.integer("d", d, 2), arguments.integer("degree", degree, 0)
    if degree % 2 == 0:
        return 0.0
    return math.exp(math.log(dimension(d, degree)) + 2 * log_abs_coefficient(d, degree))


@lru_cache(maxsize=256)
def odd_energies(d: int, below: int) -> Float[np.ndarray, " degrees"]:
    """eta_l^2 for l = 1, 3, 5, ... below the given degree; read-only, since it is kept."""
    found = np.array([energy(d, degree) for degree in range(1, below, 2)])
    found.flags.writeable = False
    return found


def energy_tail(d: int, degree: int) -> float:
    """sum of eta_l^2 over odd l >= degree (odd), asymptotically: 4 c_d / (pi (degree + d/2 - 2)).

    Near the equator sqrt(N) P_l is a cosine of frequency l + (d-2)/2 and amplitude
    sqrt(2 / (pi c_d)) in the angle: the jump leaves eta_l^2 ~ 8 c_d / (pi (l + (d-2)/2)^2).
    """
    return 4 * marginal_constant(d) / (math.pi * (degree + d / 2 - 2))


def gegenbauer(d: int, degree: int, t: Any) -> list[Any]:
    """P_0(t), ..., P_degree(t), normalised to P_l(1) = 1; `t` is a NumPy or a JAX array.

    (l + d - 2) P_{l+1} = (2l + d - 2) t P_l - l P_{l-1}.
    """
    found = [t * 0 + 1, t]
    for l in range(1, degree):  # noqa: E741 (l is the degree in every text)
        found.append(((2 * l + d - 2) * t * found[l] - l * found[l - 1]) / (l + d - 2))
    return found[: degree + 1]


def marginal_quadrature(
    d: int, points: int
) -> tuple[Float[np.ndarray, " points"], Float[np.ndarray, " points"]]:
    """Nodes and weights with E g(t) = sum weights g(nodes), exact for degrees below 2 points."""
    nodes, weights = special.roots_jacobi(points, (d - 3) / 2, (d - 3) / 2)
    return nodes, weights / weights.sum()


def half_quadrature(
    d: int, points: int
) -> tuple[Float[np.ndarray, " points"], Float[np.ndarray, " points"]]:
    """The same for E[g(|t|)]: nodes in (0, 1), exact where g(t) is t times a polynomial in t^2.

    With s = t^2, E[|t| q(t^2)] = c_d int_0^1 q(s) (1 - s)^((d-3)/2) ds.
    """
    u, weights = special.roots_jacobi(points, (d - 3) / 2, 0.0)
    nodes = np.sqrt((1 + u) / 2)
    # sum(weights) is int q for q = 1 on the scale of u, where E|t| = 2 c_d / (d - 1).
    mean = 2 * marginal_constant(d) / (d - 1)
    return nodes, weights / weights.sum() * mean / nodes


def energy_by_quadrature(d: int, degree: int) -> float:
    """eta_l^2 for odd l a second time: (E[|t| p(t^2)])^2 for sqrt(N) P_l(t) = t p(t^2).

    The polynomials are normalised before they are integrated, because a small lambda_l would
    disappear in rounding.
    """
    nodes, weights = half_quadrature(d, degree // 4 + 8)
    before, now = np.zeros_like(nodes), np.ones_like(nodes)
    for l in range(degree):  # noqa: E741
        grow = math.sqrt(dimension(d, l + 1) / dimension(d, l))
        back = math.sqrt(dimension(d, l + 1) / dimension(d, l - 1)) if l else 0.0
        step = (2 * l + d - 2) * grow * nodes * now - l * back * before
        before, now = now, (step / (l + d - 2) if l else grow * nodes)
    return float(weights @ now) ** 2
