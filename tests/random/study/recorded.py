"""A recorded run of the quick scale, so that claims are judged on real evidence in no time.

    python tests/random/study/recorded.py STORE

writes what `attnlab reproduce random` left in a store. Record again when the cells of the quick
scale change; the draws themselves may be old.
"""

import gzip
import json
import sys
from dataclasses import astuple
from pathlib import Path

from attnlab.lab.cell import Cell
from attnlab.lab.study import View
from attnlab.random.study import grids

SCALE, SEED = "quick", 0
DIGITS, EXACT = 6, 12  # digits of sampled numbers, and of those of the limit laws
FILE = Path(__file__).with_name("quick_seed_0.json.gz")


def load() -> View:
    """The recorded rows by the keys of today's cells."""
    cells = grids.cells(SCALE, SEED)
    recorded = json.loads(gzip.decompress(FILE.read_bytes()))
    results = {
        cell.key: [cell.kind.row(*values) for values in rows]
        for cell, rows in zip(cells, recorded, strict=True)
    }
    return View(SCALE, SEED, results)


def write(store: str) -> None:
    """Write the rows of all cells."""
    from attnlab.lab.store import Store

    kept = Store(Path(store), create=False)
    rows = [
        [[_short(value, _digits(cell)) for value in astuple(row)] for row in kept.rows(cell) or ()]
        for cell in grids.cells(SCALE, SEED)
    ]
    text = json.dumps(rows, separators=(",", ":")).encode()
    FILE.write_bytes(gzip.compress(text, 9, mtime=0))


def _digits(cell: Cell) -> int:
    return EXACT if cell.kind.name == "random_law_numbers" else DIGITS


def _short(value: object, digits: int) -> object:
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


if __name__ == "__main__":
    write(sys.argv[1])
