"""Rounding errors are shown as a limit, never digit by digit."""

from attnlab.stats import below


def test_a_difference_within_the_limit_shows_the_limit_and_not_its_digits():
    assert below(3.8e-16, 1e-13) == below(5.8e-16, 1e-13) == "below 1e-13"
    assert below(0.0, 1e-6) == "below 1e-6"


def test_a_difference_beyond_the_limit_shows_itself():
    assert below(3.2e-4, 1e-13) == "3.2e-04"
