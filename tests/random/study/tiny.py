"""The whole study at very small dimensions, in a process of its own and without shape checks.

    python -m tests.random.study.tiny FOLDER SEED

computes every cell as `attnlab reproduce` does and writes its part to the folder.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attnlab.lab.part import compute
from attnlab.random.study import grids, panels

SIZE = grids.Size(10, 2, 60, (8, 12, 20), 3, 400, 400, (8, 12, 16), (6, 8))


@contextmanager
def in_place_of_quick() -> Iterator[None]:
    """The quick scale is this one; a degree of 4 has no moments at such a d."""
    usual = grids.SIZES["quick"], panels.DEGREES
    grids.SIZES["quick"], panels.DEGREES = SIZE, (1, 2)
    yield
    grids.SIZES["quick"], panels.DEGREES = usual


if __name__ == "__main__":
    with in_place_of_quick():
        for cell in grids.cells("quick", int(sys.argv[2])):
            Path(sys.argv[1], cell.key).write_bytes(compute(cell).part)
