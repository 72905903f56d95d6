"""Theorem 2 as printed: how many heads it allows, and what is left of it in high dimension.

Source: Amsel, Yehudai, Bruna (arXiv 2407.16153), Theorem 2 and the sentences after it. Its
constants are unspecified; with `lower_bound` they can be found. Part (ii) is garbled in the text
that we have. Our reading is eps >= c' / (d - 2 e^2 r) and
H <= (1/2) (d / (2 e (r + C'/eps)))^(C'/eps), because with c' = 2 e^2 C' the first condition says
that the base of the power is at least e.

In high dimension the degrees of the harmonics separate: with H = (d/r)^s heads, H D(r, l) / N(d, l)
tends to 0 for l > s and to infinity for l < s, so that the bound tends to half of the energy of the
sign in degrees above s. The energies tend to those of Hermite polynomials.
"""

from __future__ import annotations

import math

from attnlab import arguments
from attnlab.rank.theory.lower_bound import check_head


def log2_heads_high_accuracy(d: int, r: int, C: float = 1.0) -> float:
    """The logarithm to base 2 of C 2^(d - (r+1) log2(2d/r)), equation (5)."""
    d, r, _ = check_head(d, r, 1)
    return math.log2(arguments.positive("C", C)) + d - (r + 1) * math.log2(2 * d / r)


def log2_heads_high_dimension(d: int, r: int, epsilon: float, C: float) -> float | None:
    """The same of (1/2) (d / (2 e (r + C/eps)))^(C/eps), equation (6); None outside of its range.

    Parameters
    ----------
    d, r
        Dimension, and rank of every head.
    epsilon
        The squared error.
    C
        The constant C' of the text.
    """
    d, r, _ = check_head(d, r, 1)
    power = arguments.positive("C", C) / arguments.positive("epsilon", epsilon)
    base = d / (2 * math.e * (r + power))
    return power * math.log2(base) - 1 if base >= math.e else None


def least_dimension(r: int, epsilon: float, C: float) -> int:
    """The least d at which equation (6) allows one head; its arguments are those of the above."""
    power = arguments.positive("C", C) / arguments.positive("epsilon", epsilon)
    base = max(math.e, 2 ** (1 / power))
    # Rounding may leave the number of heads a little below 1.
    return math.ceil(2 * math.e * (arguments.integer("r", r, 1) + power) * base * (1 + 1e-12))


def limit_energy(degree: int) -> float:
    """eta_l^2 for d to infinity: (2/pi) ((l-2)!!)^2 / l! for odd l, 0 for even l."""
    degree = arguments.integer("degree", degree, 0)
    if degree % 2 == 0:
        return 0.0
    half = (degree - 1) // 2  # (l - 2)!! = (2 half)! / (2^half half!)
    log_double = math.lgamma(2 * half + 1) - half * math.log(2) - math.lgamma(half + 1)
    return 2 / math.pi * math.exp(2 * log_double - math.lgamma(degree + 1))


def limit_bound(exponent: float) -> float:
    """The lower bound for H = (d/r)^exponent heads in the limit of large d / r.

    Half of the energy in degrees above the exponent. At an odd exponent, where a share of the
    degree remains that depends on the constant before the power, that degree is left out.
    """
    exponent = arguments.positive("exponent", exponent)
    return 0.5 - sum(limit_energy(degree) for degree in range(1, math.floor(exponent) + 1, 2)) / 2
