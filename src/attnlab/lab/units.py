"""Units of a long cell that does not train: networks, depths, evaluations, blocks.

Between two units the cell shows how far it is, saves what is finished, and stops where the time is
up. What is saved is small, such as finished rows; a cell whose state is large keeps nothing and
begins again. Outside of a run of the lab nothing of this happens.

    rows = in_units("network", Row, [functools.partial(rows_of, each) for each in networks])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from attnlab.errors import Stopped
from attnlab.lab.cell import config_values
from attnlab.lab.watch import current_sitting

Row = TypeVar("Row")
Saved = tuple[Any, Mapping[str, np.ndarray]]  # JSON, and arrays


class Units:
    """The units of a cell that are finished.

    Parameters
    ----------
    unit
        What one is called, as in "network 3 of 7".
    total
        How many there are.
    kept
        Whether finished units can be saved.
    """

    def __init__(self, unit: str, total: int, *, kept: bool = True):
        self._unit, self._total = unit, total
        self._sitting = current_sitting()
        here = kept and self._sitting is not None
        self._file = self._sitting.checkpoint("units") if here and self._sitting else None
        self.done = 0
        self.notes: Any = None
        self.arrays: Mapping[str, np.ndarray] = {}
        held = None if self._file is None else self._file.load()
        if held is not None and held.configuration == self._configuration:
            self.done, self.notes = held.notes
            self.arrays = held.arrays

    @property
    def _configuration(self) -> dict[str, Any]:
        return {"unit": self._unit, "units": self._total}

    def finish(self, saved: Callable[[], Saved] = lambda: (None, {})) -> None:
        """One more unit is finished; `saved` gives all that the next sitting needs of them.

        Raises
        ------
        Stopped
            If the cell was asked to stop and this was not the last unit.
        """
        self.done += 1
        if self._sitting is None:
            return
        self._sitting.reached(self.done, self._total, self._unit)
        if self.done >= self._total:
            return
        stopping = self._sitting.asked_to_stop()
        if self._file is not None and (stopping or self._file.due(self.done)):
            from attnlab.training.checkpoint import Snapshot

            notes, arrays = saved()
            self._file.save(Snapshot.of(dict(arrays), self._configuration, [self.done, notes]))
        if stopping:
            kept = None if self._file is None else str(self._file)
            raise Stopped(self.done, self._total, kept, self._unit)


def in_units(unit: str, row: type[Row], parts: Sequence[Callable[[], Sequence[Row]]]) -> list[Row]:
    """The rows of all parts, one part after the other; finished ones are kept as their rows.

    Parameters
    ----------
    unit
        What a part is called, as in "network 3 of 7".
    row
        The type of the rows.
    parts
        One function per unit, each of which returns rows.
    """
    units = Units(unit, len(parts))
    rows: list[Row] = [row(**values) for values in units.notes or ()]
    for part in parts[units.done :]:
        rows.extend(part())
        units.finish(lambda: ([config_values(each) for each in rows], {}))
    return rows
