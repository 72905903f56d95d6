"""How many random rank-1 heads reach an error: the upper bound of Appendix B.8, with constants.

Source: Amsel, Yehudai, Bruna (arXiv 2407.16153), Section 4 and Appendix B.8, where heads
sgn((x_1 - x_2)^T k) sgn(q^T y) with random k and q are random features, and F. Bach, "On the
equivalence between kernel quadrature rules and random feature expansions", 2017, Proposition 1: for
a target of norm F in the space of the kernel, n >= 5 D log(16 D / delta) features have a squared
error of at most 4 lambda F^2 with probability 1 - delta, where D is the largest leverage score at
lambda. Here all features have the same, since their law is invariant under rotations, and
D <= 1 / lambda because the trace of the kernel is 1.

The target is sgn(x.y) and, for the sum of the points, the constant 1. The sign has the coefficient
lambda_l in each of N(d, l) directions of degree l, whose eigenvalue is lambda_l^4, so that its
degrees up to L have the norm F^2 = sum_l N / lambda_l^2.
"""

from __future__ import annotations

import math

from attnlab import arguments
from attnlab.maths.harmonics import dimension, energy, log_abs_coefficient

FAILURE = 0.5  # the probability delta; any below 1 proves that the heads exist
DEGREES = 201


def log_features(d: int, epsilon: float) -> float:
    """The logarithm of a number of random heads of rank 1 that have this error or less.

    2 error <= (sqrt(T) + sqrt(4 lambda (F^2 + 1)))^2, T the energy above degree L; the best L is
    taken. Infinite where no L below `DEGREES` leaves less energy than 2 epsilon.

    Parameters
    ----------
    d
        Dimension.
    epsilon
        The squared error, of at most 1/2.
    """
    d = arguments.integer("d", d, 3)
    goal = math.sqrt(2 * arguments.positive("epsilon", epsilon))
    best, tail, log_norm = math.inf, 1.0, 0.0  # the constant 1 has the norm 1
    for degree in range(1, DEGREES, 2):
        tail = max(tail - energy(d, degree), 0.0)
        term = math.log(dimension(d, degree)) - 2 * log_abs_coefficient(d, degree)
        log_norm = max(log_norm, term) + math.log1p(math.exp(-abs(log_norm - term)))
        if goal > math.sqrt(tail):
            log_scores = math.log(4) + log_norm - 2 * math.log(goal - math.sqrt(tail))
            best = min(
                best, math.log(5) + log_scores + math.log(math.log(16 / FAILURE) + log_scores)
            )
    return best
