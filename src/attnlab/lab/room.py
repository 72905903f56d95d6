"""Room for cells: one that does not fit is refused before it starts, and the other cells go on.

Cells that fit alone but not beside each other run one after the other on the processes of one
machine. The sentence of a refusal has the number of gigabytes.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Generator

from attnlab.lab.cell import AnyCell
from attnlab.lab.needs import Needs
from attnlab.memory import LITTLE, available_device_memory, available_memory, require_memory


def needs_of(cell: AnyCell) -> Needs:
    """What a cell declares; of a sweep, whose points run one after the other, the largest.

    A configuration that makes no sense needs nothing: the cell itself says what is wrong with it.
    """
    if cell.kind.needs is None:
        return Needs()
    try:
        found = [cell.kind.needs(point.config) for point in cell.points]
    except (ValueError, ArithmeticError):
        return Needs()
    return max(found, key=lambda needs: (needs.host_bytes, needs.device_bytes), default=Needs())


def require_room(cell: AnyCell) -> None:
    """Refuse a cell that takes more memory than this process can have."""
    needs = needs_of(cell)
    what = f"The numbers of {cell.kind.name}"
    if max(needs.host_bytes, needs.device_bytes) <= LITTLE:
        return
    if not needs.device_bytes or _without_gpu():
        require_memory(what, needs.host_bytes, needs.reduce)
    elif (free := available_device_memory()) is not None:
        require_memory(f"{what} on {device_name()}", needs.device_bytes, needs.reduce, free)


def _without_gpu() -> bool:
    import jax

    return jax.default_backend() == "cpu"


def device_name() -> str:
    """What JAX computes on in this process: "cpu", or the name of the card."""
    if "jax" not in sys.modules:
        return "cpu"
    import jax

    device = jax.devices()[0]
    return "cpu" if device.platform == "cpu" else str(device.device_kind)


class Room:
    """The memory of a machine that several workers share."""

    def __init__(self, total: float | None = None):
        self._total = total
        self._taken = 0.0
        self._cells = 0
        self._changed = threading.Condition()

    @contextlib.contextmanager
    def taken(self, size: float) -> Generator[None]:
        """Wait until so many bytes are left beside the cells that run, and hold them inside.

        A cell always gets its turn when no other runs: whether it fits alone is for itself to say.
        """
        if not size:
            yield
            return
        with self._changed:
            if self._total is None:
                self._total = available_memory()
            total = self._total
            self._changed.wait_for(lambda: not self._cells or self._taken + size <= total)
            self._taken, self._cells = self._taken + size, self._cells + 1
        try:
            yield
        finally:
            with self._changed:
                self._taken, self._cells = self._taken - size, self._cells - 1
                self._changed.notify_all()
