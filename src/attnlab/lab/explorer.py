"""An explorer: a kind of cell with knobs, and a figure that follows them.

The mathematics stays in the cell: an explorer says which cells the knobs' values ask for and how
their rows are drawn. A page is made from it (`attnlab.report.explore`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attnlab.errors import UserError, did_you_mean
from attnlab.lab.cell import CellKind, Outcome, config_values

MOST_CELLS = 400  # of one request


@dataclass(frozen=True)
class Knob:
    """A number between two ends in steps, or one of several choices.

    Parameters
    ----------
    name
        The argument of `Explorer.configs` that it gives.
    label
        What a person reads; mathematics between dollar signs.
    default
        Where it stands at first.
    low, high, step
        The ends and the step of a number, which is an integer where the default is one.
    choices
        The values of a menu.
    """

    name: str
    label: str
    default: float | int | str
    low: float = 0
    high: float = 0
    step: float = 0
    choices: tuple[str, ...] = ()

    def value(self, given: Any) -> float | int | str:
        """The value that was meant; what is out of range is the user's mistake."""
        if self.choices:
            if given not in self.choices:
                accepted = ", ".join(self.choices)
                raise UserError(f"{self.name} must be one of {accepted}, got {given!r}.")
            return given
        try:
            number = float(given)
        except (TypeError, ValueError):
            number = math.nan
        if not self.low <= number <= self.high:
            raise UserError(
                f"{self.name} must be a number from {self.low} to {self.high}, got {given!r}."
            )
        whole = isinstance(self.default, int)
        if whole and not number.is_integer():
            raise UserError(f"{self.name} must be an integer, got {given!r}.")
        return int(number) if whole else number


@dataclass(frozen=True)
class Explorer:
    """Knobs, the cells that they ask for, and the figure of these cells' rows.

    Parameters
    ----------
    id, title, about
        Its name, and what a person reads.
    kind
        The kind of cell that computes.
    knobs
        What can be moved.
    configs
        The configurations that the knobs' values ask for, at most `MOST_CELLS`.
    draw
        The chart of the rows, which have the columns of configuration and result.
    live
        Whether its one cell is a training (`attnlab.lab.watch`): it is started and stopped by
        hand, and drawn while it runs from rows that have a `step` and a `loss` and are None
        elsewhere.
    """

    id: str
    title: str
    about: str
    kind: CellKind
    knobs: tuple[Knob, ...]
    configs: Callable[..., Sequence[Any]]
    draw: Callable[[list[dict[str, Any]]], Any]
    live: bool = False

    def values(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The value of every knob, checked; those that are not given stand at their defaults."""
        known = {knob.name: knob for knob in self.knobs}
        for name in given:
            if name not in known:
                hint = did_you_mean(name, known)
                raise UserError(f"There is no knob {name!r}; {hint}it has {', '.join(known)}.")
        return {name: knob.value(given.get(name, knob.default)) for name, knob in known.items()}

    def rows(self, **given: Any) -> list[dict[str, Any]]:
        """The rows of all cells that the knobs ask for, computed now."""
        configs = self.configs(**self.values(given))
        if len(configs) > MOST_CELLS:
            raise UserError(
                f"These knobs ask for {len(configs)} cells; a request computes at most "
                f"{MOST_CELLS}."
            )
        found = []
        for config in configs:
            result = self.kind.run(config)
            for row in result.rows if isinstance(result, Outcome) else [result]:
                found.append({**config_values(config), **config_values(row)})
        return found
