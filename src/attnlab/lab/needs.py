"""What a kind of cell declares: the device its cells belong on, and the memory one takes.

`room` compares that with what there is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Device = Literal["cpu", "gpu", "any"]
ROW = 2500.0  # bytes of a row: as an object, as a record of the part, and in its columns


@dataclass(frozen=True)
class Needs:
    """An estimate of the memory that one cell takes.

    Parameters
    ----------
    host_bytes
        Held at once in the memory of the machine, where the cell runs on a processor.
    device_bytes
        Held at once in the memory of a GPU, where the cell runs on one.
    reduce
        The fields of the configuration to make smaller, for the sentence of a refusal.
    """

    host_bytes: float = 0.0
    device_bytes: float = 0.0
    reduce: str = "its sizes"
