"""A number with its standard error: how it is made from samples, and how it is shown."""

import math

import numpy as np
import pytest

from attnlab.stats import Estimate


def test_the_mean_of_samples_has_the_standard_error_of_its_law(seed):
    """Over many repetitions (mean - truth) / standard error has variance (n - 1) / (n - 3)."""
    rng, n, repetitions = np.random.default_rng(seed), 12, 4000
    found = [Estimate.of(rng.normal(3.0, 2.0, n)) for _ in range(repetitions)]
    z = np.array([(e.value - 3.0) / e.standard_error for e in found])
    expected = (n - 1) / (n - 3)
    assert abs(np.mean(z**2) - expected) < 6 * np.std(z**2) / math.sqrt(repetitions)
    assert {e.samples for e in found} == {n}


def test_it_is_the_textbook_formula():
    estimate = Estimate.of(iter([1.0, 2.0, 4.0]))
    assert estimate.value == pytest.approx(7 / 3)
    assert estimate.standard_error == pytest.approx(math.sqrt(7 / 3) / math.sqrt(3))


def test_one_value_and_a_value_that_overflowed_have_no_finite_error():
    assert Estimate.of([2.0]) == Estimate(2.0, math.inf, 1)
    assert Estimate.of([2.0, math.inf]) == Estimate(math.inf, math.inf, 2)
    assert Estimate.of([2.0, math.nan]).cautious == math.inf


def test_it_is_shown_to_two_digits_of_its_error():
    assert str(Estimate(0.77163, 0.0042, 10_000)) == "0.7716 ± 0.0042"
    assert str(Estimate(1234.5678, 12.0, 9)) == "1235 ± 12"
    assert str(Estimate(0.763312345)) == "0.763312"
    assert repr(Estimate(0.5)) == "Estimate(0.5, exact)"
    assert repr(Estimate(0.5, 0.1, 25)) == "Estimate(0.50 ± 0.10, 25 samples)"
    assert "10,000 samples" in Estimate(0.5, 0.1, 10_000)._repr_html_()
    assert str(Estimate(1e-30, 1e-31, 5)) == "1e-30 ± 1e-31"
    assert str(Estimate(2.0, math.inf, 1)) == "2 ± inf"


def test_candidates_are_ranked_with_three_standard_errors_added():
    assert Estimate(1.0, 0.5, 4).cautious == 2.5
    assert Estimate(1.0).cautious == 1.0


def test_values_whose_squares_overflow_have_an_infinite_estimate_and_no_warning():
    assert Estimate.of([1e200, -1e200, 3.0]) == Estimate(math.inf, math.inf, 3)
