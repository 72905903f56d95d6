"""Theorem 2 as printed, and the limit of the bound in high dimension."""

import math

import pytest

from attnlab.maths.harmonics import energy
from attnlab.rank.theory.lower_bound import lower_bound
from attnlab.rank.theory.printed_bounds import (
    limit_bound,
    limit_energy,
    log2_heads_high_accuracy,
    log2_heads_high_dimension,
)


@pytest.mark.parametrize("degree", [1, 3, 5, 9])
def test_energies_tend_to_those_of_hermite_polynomials(degree):
    # The difference is of the order of degree^2 / d.
    far = abs(energy(4000, degree) / limit_energy(degree) - 1)
    near = abs(energy(1000, degree) / limit_energy(degree) - 1)
    assert far < near / 3
    assert far < degree**2 / 1000


def test_limit_energies_sum_to_one():
    # The tail beyond degree L is of the order of L^-1/2.
    total = sum(limit_energy(degree) for degree in range(1, 20_001, 2))
    assert 0 < 1 - total < 1 / math.sqrt(20_000)
    assert limit_energy(4) == 0


@pytest.mark.parametrize(("exponent", "r"), [(0.5, 1), (2.0, 1), (2.0, 4), (4.0, 1)])
def test_the_bound_tends_to_its_limit_in_high_dimension(exponent, r):
    distances = []
    for d in (10**3, 10**5, 10**7):
        heads = math.floor((d / r) ** exponent)
        distances.append(abs(lower_bound(d, r, heads, degree=41).value - limit_bound(exponent)))
    # The tail above degree 41 is counted by its rule; what is left falls with d.
    assert distances[2] < distances[1] < distances[0]
    assert distances[2] < 0.01


def test_the_printed_numbers_of_heads():
    assert log2_heads_high_accuracy(8, 1) == pytest.approx(8 - 2 * math.log2(16))
    assert log2_heads_high_accuracy(8, 1, 4.0) == pytest.approx(8 - 2 * math.log2(16) + 2)
    power = 0.18 / 0.1
    base = 512 / (2 * math.e * (2 + power))
    assert log2_heads_high_dimension(512, 2, 0.1, 0.18) == pytest.approx(
        math.log2(0.5 * base**power)
    )
    assert log2_heads_high_dimension(16, 8, 0.1, 0.18) is None
