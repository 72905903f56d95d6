"""The lemma on the energy of high degrees, and the constants that follow from it for all d."""

import math
from collections import defaultdict

import numpy as np
import pytest

from attnlab.maths.harmonics import energy, marginal_constant, odd_energies
from attnlab.rank.theory.biased_bound import needed
from attnlab.rank.theory.lower_bound import lower_bound, tail_share
from attnlab.rank.theory.printed_bounds import (
    least_dimension,
    log2_heads_high_accuracy,
    log2_heads_high_dimension,
)
from attnlab.rank.theory.spectral_tail import (
    HIGH_ACCURACY,
    MULTIPLE,
    high_accuracy_constant,
    least_tail,
    one_head_error,
)


class Polynomial(defaultdict):
    """Integer coefficients of m^i k^j, so that signs are exact."""

    def __init__(self, *terms):
        super().__init__(int, terms)

    def __add__(self, other):
        total = Polynomial(*self.items())
        for powers, value in other.items():
            total[powers] += value
        return total

    def __mul__(self, other):
        total = Polynomial()
        for (a, b), value in self.items():
            for (c, d), factor in other.items():
                total[a + c, b + d] += value * factor
        return total


def constant(value):
    return Polynomial(((0, 0), value))


def product(*factors):
    return math.prod(factors, start=constant(1))


M, K = Polynomial(((1, 0), 1)), Polynomial(((0, 1), 1))


def ratio(l, d):  # noqa: E741 (the degree)
    """Numerator and denominator of eta_(l+2)^2 / eta_l^2."""
    twice = l + l + d
    above = product(twice + constant(2), l + d + constant(-1), l + d + constant(-2), l, l)
    below = product(twice + constant(-2), l + constant(1), l + constant(2), l + d, l + d)
    return above, below


def test_the_ratio_of_energies_is_that_of_the_lemma():
    for d in (3, 4, 7, 64):
        for degree in (1, 3, 9):
            above, below = ratio(constant(degree), constant(d))
            law = above[0, 0] / below[0, 0]
            assert energy(d, degree + 2) / energy(d, degree) == pytest.approx(law, rel=1e-9)


def test_energies_fall_faster_than_the_function_of_the_lemma_everywhere():
    """The squared inequality in l = 1 + m and d = 3 + k has positive coefficients alone."""
    l, d = M + constant(1), K + constant(3)  # noqa: E741
    later = l + constant(2)
    above, below = ratio(l, d)
    inner, outer = l * (l + d), later * (later + d)
    twice = l + l + d
    left = product(above, above, outer, outer, outer, twice, twice)
    further = twice + constant(4)
    right = product(below, below, inner, inner, inner, further, further)
    found = [value for value in (right + constant(-1) * left).values() if value]
    assert len(found) == 138
    assert min(found) > 0


def test_energies_times_the_squared_shifted_degree_fall():
    """The second inequality, in l = 1 + m and d = 3 + 2 k, which bounds the tail from above."""
    l, d = M + constant(1), K + K + constant(3)  # noqa: E741
    above, below = ratio(l, d)
    now = l + l + d + constant(-2)  # twice l + d/2 - 1
    later = now + constant(4)
    found = [
        value
        for value in (
            product(below, now, now) + constant(-1) * product(above, later, later)
        ).values()
        if value
    ]
    assert min(found) > 0


@pytest.mark.parametrize("d", [3, 4, 5, 8, 16, 64, 256])
def test_the_tail_is_at_least_what_the_lemma_says_and_not_far_above(d):
    degrees = np.arange(1, 1001, 2)
    tails = 1 - np.concatenate([[0], np.cumsum(odd_energies(d, 1001))[:-1]])
    shares = tails / [least_tail(d, int(degree)) for degree in degrees]
    assert shares.min() >= 1
    assert (np.diff(shares) < 0).all()
    assert shares[-1] < 1.02


@pytest.mark.parametrize("d", [3, 4, 10, 1000])
def test_the_largest_density_is_at_least_that_of_watsons_inequality(d):
    assert marginal_constant(d) >= math.sqrt((d - 1.5) / (2 * math.pi))


@pytest.mark.parametrize("d", [4, 5, 6, 8, 16, 40])
def test_the_heads_of_theorem_2_i_reach_half_of_the_energy_at_most(d):
    cut = MULTIPLE * (d - 3)
    cut += 1 - cut % 2
    for r in range(1, d - 2):
        heads = 2 ** log2_heads_high_accuracy(d, r, HIGH_ACCURACY)
        assert heads * tail_share(d, r, cut, "B") <= 0.5
        if heads >= 1:
            found = lower_bound(d, r, math.floor(heads)).value * (d + 1)
            assert found >= high_accuracy_constant(d) >= 0.02


def test_the_constant_of_theorem_2_i_grows_in_the_end():
    far = [high_accuracy_constant(4**k) for k in range(3, 9)]
    assert far == sorted(far)


@pytest.mark.parametrize("d", [3, 4, 6, 10, 30, 100])
def test_an_error_of_one_twentieth_needs_a_power_of_3_of_heads(d):
    for r in range(1, d - 1):
        assert needed(d, r).log_heads >= math.log(0.14) + (d - r) * math.log(3)


@pytest.mark.parametrize("r", [1, 2, 5, 64])
@pytest.mark.parametrize("epsilon", [0.46, 0.4, 0.3, 0.19, 0.1799, 0.17, 0.1, 0.06, 0.05, 0.02])
def test_the_corrected_theorem_2_ii_holds_from_its_least_dimension_on(r, epsilon):
    for factor in (1, 1.3, 2, 5, 40):
        d = math.ceil(least_dimension(r, epsilon, 0.18) * factor)
        heads = math.floor(2 ** log2_heads_high_dimension(d, r, epsilon, 0.18))
        assert heads >= 1
        assert lower_bound(d, r, heads, degree=101).value >= epsilon


@pytest.mark.parametrize(("r", "epsilon", "C"), [(1, 0.4, 0.18), (5, 0.499, 0.18), (3, 0.1, 0.05)])
def test_the_least_dimension_is_the_first_with_one_head(r, epsilon, C):
    d = least_dimension(r, epsilon, C)
    assert log2_heads_high_dimension(d, r, epsilon, C) >= 0
    before = log2_heads_high_dimension(d - 1, r, epsilon, C)
    assert before is None or before < 0


def test_one_head_has_the_error_of_its_law(seed):
    """Sampled with and without the clip, which only helps."""
    rng = np.random.default_rng(seed)
    d, r, samples = 12, 4, 200_000
    x, y = rng.standard_normal((2, samples, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    s = math.sqrt(energy(d, 1) / d) * d * (x[:, :r] * y[:, :r]).sum(1)
    sign = np.sign((x * y).sum(1))
    plain, clipped = ((sign - score) ** 2 / 2 for score in (s, np.clip(s, -1, 1)))
    assert abs(plain.mean() - one_head_error(d, r)) < 5 * plain.std() / math.sqrt(samples)
    assert clipped.mean() < plain.mean()
    assert one_head_error(d, r) >= lower_bound(d, r, 1, "C").value
    assert one_head_error(200, 5) == pytest.approx(0.49202, abs=1e-5)
