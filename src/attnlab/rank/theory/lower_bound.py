"""A lower bound without constants: H heads of rank r on the nearest of two orthonormal points.

Our own theorem in the setting of Theorem 2 of Amsel, Yehudai, Bruna (arXiv 2407.16153), stated and
proved on the documentation's page on it. It is about a bare sum of heads V_h X phi_h(K_h^T X, y)
over the keys x_1 and x_2 with weights that sum to one; a bias or residual in y, an MLP, a norm or a
second layer is outside it, and `models.majority_vote` has a network of two layers that passes
below.
"""

from functools import lru_cache
from typing import Literal

import numpy as np
from jaxtyping import Float

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.maths.harmonics import dimension, monomials, odd_energies
from attnlab.stats import Estimate

Variant = Literal["A", "B", "C"]
VARIANTS: tuple[Variant, ...] = ("A", "B", "C")
DEGREE = 1001  # odd degrees below it are summed, the rest is the tail rule's


def head_dimension(d: int, r: int, degree: int, variant: Variant, values: int | None = None) -> int:
    """D(r, l): no head of rank r reaches more dimensions of the harmonics of degree l.

    (A) M(r, l-2) + M(r, l) + M(r, l+2); (B) M(r, l-2) + 2 M(r, l) - M(r-rho, l) with
    rho = min(r, d-r), or min(r, d-r, 2 values) where every V_h has a rank of at most `values`; (C)
    M(r, l), for V_h that are multiples of the identity. At r = d all of N(d, l) is reached.

    Parameters
    ----------
    d, r
        Dimension, and rank of the head.
    degree
        The degree l.
    variant, values
        As in `lower_bound`.
    """
    if r == d:
        return dimension(d, degree)
    if variant == "C":
        return monomials(r, degree)
    if variant == "A":
        return sum(monomials(r, degree + step) for step in (-2, 0, 2))
    rho = min(r, d - r) if values is None else min(r, d - r, 2 * values)
    return monomials(r, degree - 2) + 2 * monomials(r, degree) - monomials(r - rho, degree)


def lower_bound(
    d: int,
    r: int,
    heads: int,
    variant: Variant = "B",
    *,
    values: int | None = None,
    degree: int = DEGREE,
) -> Estimate:
    """No sum of H generalised heads of rank r has a smaller mean squared error.

    1/2 sum_{l odd} eta_l^2 max(0, 1 - H D(r, l) / N(d, l)).

    Parameters
    ----------
    d, r, heads
        Dimension, rank of every head, and number of heads H.
    variant
        "A" or "B" for any V_h, "C" where every V_h is a multiple of the identity.
    values
        Largest rank of the V_h, which may improve variant B; None for any.
    degree
        Where the sum stops. Later degrees count by the tail rule: their energy times
        max(0, 1 - H rho) with a rho >= D / N at all of them, which exists for r <= d - 2; else
        they are left out. Both leave a lower bound.
    """
    d, r, heads = check_head(d, r, heads)
    variant = arguments.one_of("variant", variant, VARIANTS)
    if values is not None:
        values = arguments.integer("values", values, 1)
    below = arguments.integer("degree", degree, 1) // 2 * 2 + 1
    energies = odd_energies(d, below)
    shares = _shares(d, r, below, variant, values)
    covered = np.maximum(0.0, 1 - heads * shares)
    tail = max(0.0, 1 - float(energies.sum())) * max(
        0.0, 1 - heads * tail_share(d, r, below, variant)
    )
    return Estimate((float(energies @ covered) + tail) / 2)


def tail_share(d: int, r: int, degree: int, variant: Variant) -> float:
    """A rho with D(r, l) / N(d, l) <= rho for all l >= degree; 1 where none below 1 is known.

    3 M(r, L+2) / N(d, L) for (A), 3 M(r, L) / N(d, L) for (B), M(r, L) / N(d, L) for (C).
    """
    if r > d - 2:
        return 1.0
    counted = monomials(r, degree + 2) if variant == "A" else monomials(r, degree)
    return (1 if variant == "C" else 3) * counted / dimension(d, degree)


def heads_needed(d: int, r: int, error: float, variant: Variant = "B") -> int:
    """The least number of heads of rank r that the bound allows to have this error.

    Parameters
    ----------
    d, r
        Dimension, and rank of every head.
    error
        The squared error that is wanted.
    variant
        As in `lower_bound`.
    """
    error = arguments.positive("error", error)
    high = 1
    while lower_bound(d, r, high, variant).value > error:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if lower_bound(d, r, middle, variant).value > error:
            low = middle
        else:
            high = middle
    return high


def check_head(d: int, r: int, heads: int) -> tuple[int, int, int]:
    """d, r and H as integers with 1 <= r <= d and H >= 1, d >= 3."""
    d, r = arguments.integer("d", d, 3), arguments.integer("r", r, 1)
    if r > d:
        raise UserError(f"r must be an integer from 1 to d = {d}, got {r!r}.")
    return d, r, arguments.integer("heads", heads, 1)


@lru_cache(maxsize=512)
def _shares(
    d: int, r: int, below: int, variant: Variant, values: int | None
) -> Float[np.ndarray, " degrees"]:
    """D(r, l) / N(d, l) for l = 1, 3, ..., from exact integers."""
    found = [
        head_dimension(d, r, degree, variant, values) / dimension(d, degree)
        for degree in range(1, below, 2)
    ]
    return np.array(found)
