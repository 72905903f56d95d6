"""Sums of random signs over the worst data that Definition 3.8 allows.

The lemmas of Deng, Song, Zhou (arXiv 2310.11685) hold for every A in D0 or D1, so they are judged
on the worst one. By Hoeffding's inequality (Lemma 3.1)

    Pr[<f, sigma> > t] <= exp(-t^2 / (2 |f|^2)),

and |f| = |u| / <u, 1> is quasi-convex in u > 0, so that its largest value over the box
u_i in [low, high] is taken at a corner: at two-level data, with h of the coordinates high. Ours.
"""

import math

from attnlab import arguments
from attnlab.separation.models.attention import KINDS, Kind
from attnlab.separation.problem.regression import HIGH, LOW, SPIKE


def worst_norm(n: int, kind: Kind, label: int) -> float:
    """The largest |f|^2 over D0 (label 0) or D1 (label 1).

    With R = high / low, S the spiked entry over low (none on D0) and N coordinates without spike,
    |f|^2 = (S^2 + N + h (R^2 - 1)) / (S + N + h (R - 1))^2 is largest at
    h = ((R + 1) (S + N) - 2 (S^2 + N)) / (R^2 - 1). A real h bounds the integers from above.
    """
    n, label = arguments.integer("n", n, 2), arguments.label(label)
    R, S = worst_levels(n, kind)
    S, N = (S, n - 1) if label else (0.0, n)
    h = ((R + 1) * (S + N) - 2 * (S**2 + N)) / (R**2 - 1)
    h = min(max(h, 0.0), float(N))
    return (S**2 + N + h * (R**2 - 1)) / (S + N + h * (R - 1)) ** 2


def worst_levels(n: int, kind: Kind) -> tuple[float, float]:
    """The highest entry and the spiked entry of u, in units of the lowest."""
    if arguments.one_of("kind", kind, KINDS) == "linear":
        return HIGH / LOW, SPIKE / LOW
    return float(n) ** (HIGH - LOW), float(n) ** (SPIKE - LOW)


def worst_share(n: int, kind: Kind) -> float:
    """The share 1 / (R + 1) of high coordinates at which |f| is largest on D0."""
    return 1 / (worst_levels(n, kind)[0] + 1)


def log_worst_tail(n: int, kind: Kind, label: int, t: float) -> float:
    """log of exp(-t^2 / (2 |f|^2)) >= Pr[<f, sigma> > t], for every A of the dataset.

    Parameters
    ----------
    n
        Number of coordinates.
    kind, label
        f_exp ("softmax") or f_lin ("linear"), on D0 or D1.
    t
        The threshold that the sum should not pass.
    """
    return -(arguments.positive("t", t) ** 2) / (2 * worst_norm(n, kind, label))


def log_zero_failure(n: int, kind: Kind, label: int, tau: float, width: int) -> float:
    """log of the bound on Pr[F > 0] for every A: the tail, times the number m of neurons.

    Parameters
    ----------
    n
        Number of coordinates.
    kind, label
        F_exp ("softmax") or F_lin ("linear"), on D0 or D1.
    tau, width
        Threshold and number m of neurons.
    """
    width = arguments.integer("width", width, 1)
    return math.log(width) + log_worst_tail(n, kind, label, tau)
