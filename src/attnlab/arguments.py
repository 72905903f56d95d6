"""Checks of arguments, each ending in one sentence: the name, what is accepted, what was given."""

import math
import numbers
from collections.abc import Iterable
from typing import Any, TypeVar

from attnlab.errors import UserError

Choice = TypeVar("Choice", bound=str)


def integer(name: str, value: Any, at_least: int) -> int:
    """`value` as an int; a bool is not an integer here."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < at_least:
        raise UserError(f"{name} must be an integer of at least {at_least}, got {value!r}.")
    return int(value)


def non_negative(name: str, value: Any) -> float:
    """`value` as a finite float that is zero or more."""
    if not _finite(value) or value < 0:
        raise UserError(f"{name} must be a finite number of at least 0, got {value!r}.")
    return float(value)


def positive(name: str, value: Any) -> float:
    """`value` as a finite float above zero."""
    if not _finite(value) or value <= 0:
        raise UserError(f"{name} must be a finite number above 0, got {value!r}.")
    return float(value)


def fraction(name: str, value: Any) -> float:
    """`value` as a float in [0, 1]."""
    if not _finite(value) or not 0 <= value <= 1:
        raise UserError(f"{name} must be a number between 0 and 1, got {value!r}.")
    return float(value)


def open_fraction(name: str, value: Any) -> float:
    """`value` as a float in (0, 1), the ends excluded."""
    if not _finite(value) or not 0 < value < 1:
        raise UserError(f"{name} must be a number strictly between 0 and 1, got {value!r}.")
    return float(value)


def one_of(name: str, value: Any, accepted: Iterable[Choice]) -> Choice:
    """`value` if it is one of the accepted words."""
    accepted = tuple(accepted)
    for choice in accepted:
        if isinstance(value, str) and value == choice:
            return choice
    listed = ", ".join(repr(choice) for choice in accepted)
    raise UserError(f"{name} must be one of {listed}, got {value!r}.")


def label(value: Any) -> int:
    """`value` as the label of a dataset, 0 for D0 and 1 for D1."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value not in (0, 1):
        raise UserError(f"label must be 0 (for D0) or 1 (for D1), got {value!r}.")
    return int(value)


def _finite(value: Any) -> bool:
    # Abstract classes take a while to say that a float is a number.
    is_number = type(value) is float or (
        isinstance(value, numbers.Real) and not isinstance(value, bool)
    )
    return is_number and math.isfinite(value)
