"""Comparisons of two losses with their standard errors, as claims make them."""

from __future__ import annotations

import math

from attnlab.stats import Estimate

MARGIN = 2.0  # standard errors by which a loss may exceed another one and still match it


def difference(first: Estimate, second: Estimate) -> tuple[float, float]:
    """first - second and its standard error.

    Both losses are of the same sequences, so that the true standard error is smaller.
    """
    error = math.hypot(first.standard_error, second.standard_error)
    return first.value - second.value, error


def log_ratio(first: Estimate, second: Estimate) -> Estimate:
    """The logarithm of first / second."""
    relative = (each.standard_error / each.value for each in (first, second))
    return Estimate(math.log(first.value / second.value), math.hypot(*relative))


def clearly_positive(found: Estimate) -> bool:
    """Whether a number is above 0 by more than MARGIN standard errors."""
    return found.value > MARGIN * found.standard_error


def clearly_negative(found: Estimate) -> bool:
    """Whether a number is below 0 by more than MARGIN standard errors."""
    return found.value < -MARGIN * found.standard_error


def margin(first: Estimate, second: Estimate) -> float:
    """The difference of two losses that would be noticed, as a share of the second."""
    return MARGIN * difference(first, second)[1] / second.value


def clearly_below(first: Estimate, second: Estimate) -> bool:
    """Whether first < second by more than MARGIN standard errors."""
    return not at_most(second, first)


def at_most(first: Estimate, second: Estimate, slack: float = 0.0) -> bool:
    """Whether first <= second, up to MARGIN standard errors and the share `slack` of second."""
    gap, error = difference(first, second)
    return gap <= MARGIN * error + slack * second.value
