"""How much of the sign lies in high degrees, at least: the lemma that proves constants for all d.

Our own lemma, proved on the study's page (docs/rank.md, "For all dimensions"). For odd l the ratio
of eta_l^2 to (4 c_d / pi) (2l + d) / (l (l + d))^(3/2) falls with l, and tends to 1. So
sum_{l >= L} eta_l^2 >= (4 c_d / pi) / sqrt(L (L + d)) for every d >= 3 and odd L.
"""

from __future__ import annotations

import math

from attnlab import arguments
from attnlab.maths.harmonics import energy, marginal_constant
from attnlab.rank.theory.lower_bound import check_head

HIGH_ACCURACY = 64.0  # C of Theorem 2 (i) in the proof
MULTIPLE = 9  # of d - 3: the degree at which the proof cuts the spectrum


def least_tail(d: int, degree: int) -> float:
    """(4 c_d / pi) / sqrt(L (L + d)), at most the energy of the sign in odd degrees from L on."""
    d, degree = arguments.integer("d", d, 3), arguments.integer("degree", degree, 1)
    return 4 * marginal_constant(d) / (math.pi * math.sqrt(degree * (degree + d)))


def high_accuracy_constant(d: int) -> float:
    """A c with which Theorem 2 (i) is proved at one d and every r <= d - 3, for C = 64.

    At the least odd L >= 9 (d - 3) the heads of the theorem reach at most half of the energy, so
    that (d + 1) times the error is at least (d + 1) / 4 of the tail.
    """
    d = arguments.integer("d", d, 4)
    cut = MULTIPLE * (d - 3)
    return (d + 1) * least_tail(d, cut + 1 - cut % 2) / 4


def one_head_error(d: int, r: int) -> float:
    """(1 - eta_1^2 r / d) / 2: one head of rank r with V = I has at most this error.

    Its weights are ((1 + s) / 2, (1 - s) / 2) with s = lambda_1 d <x_S, y_S> / sqrt(2), clipped to
    [-1, 1], x = x_1 - x_2 and S the r coordinates that it sees. Without the clip the error is equal
    to this, and the clip brings s nearer to the sign.
    """
    d, r, _ = check_head(d, r, 1)
    return (1 - energy(d, 1) * r / d) / 2
