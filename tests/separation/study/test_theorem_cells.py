"""Theorem 6.2 at growing sizes: our law against numbers that others found with theirs."""

import math

import pytest

from attnlab.errors import UserError
from attnlab.separation.study import grids_theory
from attnlab.separation.study.cells_theorem import (
    LargestSpike,
    LeastDimension,
    TheoremPoint,
    largest_spike,
    least_dimension,
    theorem,
)

# An independent implementation of the law, which takes n itself and not a multiple of d - 2.
INDEPENDENT = {
    (3, 0.1): 23, (4, 0.1): 26, (6, 0.1): 33,
    (3, 0.2): 101, (4, 0.2): 116, (6, 0.2): 152,
    (3, 0.5): 612, (4, 0.5): 704, (6, 0.5): 952,
}  # fmt: skip
FAILURES = {(4, 202, 49): 7.6e-7, (6, 1002, 65): 7.6e-9}
SPIKES = {20.0: 3e-4, 29.0: 0.94}


@pytest.mark.parametrize(("exponent", "b"), INDEPENDENT)
def test_the_least_dimension_is_that_of_an_independent_law(exponent, b):
    m = grids_theory.width(3.55, 10.0**exponent)
    row = least_dimension.run(LeastDimension(exponent, m, b))
    assert row.first == pytest.approx(INDEPENDENT[exponent, b], rel=0.06)
    assert row.first <= row.settled < row.predicted


@pytest.mark.parametrize(("exponent", "d", "m"), FAILURES)
def test_the_failure_is_that_of_an_independent_law(exponent, d, m):
    row = theorem.run(TheoremPoint(exponent, d, m))
    assert row.failure == pytest.approx(FAILURES[exponent, d, m], rel=0.01)
    assert row.failure <= row.goal


@pytest.mark.parametrize("a1", SPIKES)
def test_a_large_spike_breaks_the_theorem(a1):
    row = theorem.run(TheoremPoint(4, 202, 60, a1=a1))
    assert row.failure == pytest.approx(SPIKES[a1], rel=0.05)


@pytest.mark.parametrize(("a1", "exponent", "failure"), [(29.0, 5, 3.5e-18), (100.0, 6, 7e-19)])
def test_a_large_spike_serves_at_a_larger_n(a1, exponent, failure):
    m = grids_theory.width(3.55, 10.0**exponent)
    row = theorem.run(TheoremPoint(exponent, 402, m, a1=a1))
    assert row.failure == pytest.approx(failure, rel=0.02)


def test_the_largest_spike_is_the_last_that_serves():
    row = largest_spike.run(LargestSpike(4, 402, 50))
    assert row.tokens == 10_000
    assert row.predicted <= row.largest < math.sqrt(0.1 * row.tokens)
    for times, serves in ((0.999, True), (1.001, False)):
        found = theorem.run(TheoremPoint(4, 402, 50, a1=times * row.largest))
        assert (found.failure <= found.goal) == serves
    added = row.predicted * (1 + row.predicted) / (row.tokens + row.predicted)
    assert added == pytest.approx(0.1 - 0.2 * math.sqrt(2 * math.log(50 * 1e6) / 402))


def test_a_dimension_too_small_for_the_theorem_has_no_largest_spike():
    assert largest_spike.run(LargestSpike(4, 22, 50)).largest is None


def test_one_neuron_can_fire_with_less_than_a_quarter_at_a_small_n():
    assert theorem.run(TheoremPoint(3, 52, 41, a1=0.7, b=0.545)).firing == pytest.approx(
        0.24488, abs=1e-5
    )


def test_the_least_width_is_the_constant_of_a_quarter():
    row = theorem.run(TheoremPoint(12, 1002, 1))
    assert row.firing == pytest.approx(0.25, abs=1e-12)
    assert row.least_width == math.ceil(math.log(row.goal) / math.log(0.75))


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (TheoremPoint(exponent=0), "exponent must be an integer of at least 1, got 0"),
        (TheoremPoint(d=3), "d must be an integer of at least 4, got 3"),
        (TheoremPoint(model="none"), "model must be one of"),
        (TheoremPoint(delta=2.0), "delta must be"),
    ],
)
def test_bad_input_is_one_sentence(config, sentence):
    with pytest.raises(UserError, match=sentence):
        theorem.run(config)
