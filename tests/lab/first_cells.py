"""The bytes of every kind of cell, computed as the first of a process and as a later one.

    python -m tests.lab.first_cells STUDY

prints a JSON object: kind -> digests of the part as the first and as a later cell. A child forked
before SciPy is imported is a fresh process: what a cell imports brings SciPy's BLAS along. JAX has
none of its own, and is imported before, because forty children would take a minute to do so.
"""

import dataclasses
import importlib
import json
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import threadpoolctl

from attnlab.lab.catalog import load_studies
from attnlab.lab.cell import AnyCell, CellKind
from attnlab.lab.part import digest
from attnlab.lab.study import SCALES, Study
from attnlab.lab.task import attempt

# What makes a cell long, and how much of it is enough to see a different rounding error.
SMALL = {
    "sequences": 64, "level_sequences": 64, "tuning": 256, "sigma_points": 2, "contexts": 4,
    "steps": 20, "batch": 16, "samples": 64, "prompts": 64, "trials": 8, "starts": 1,
    "screening": 16, "fitted": 96, "pool": 512, "tail": 32, "fresh": 96, "networks": 2,
    "points": 20, "seeds": 1, "held_out": 64, "chunk": 10, "depth": 2, "evaluated": 64,
}  # fmt: skip


def smallest(study: Study, kind: CellKind) -> AnyCell:
    """The cheapest cell of a kind, its first point alone and with less of everything.

    A kind that no scale asks for is that of an explorer.
    """
    plans = (study.plan(scale, 0).cells.values() for scale in SCALES)
    own = ([cell for cell in cells if cell.kind is kind] for cells in plans)
    planned = next((cells for cells in own if cells), [])
    if planned:
        config = min(planned, key=lambda cell: cell.cost).points[0].config
    else:
        explorer = next(each for each in study.explorers if each.kind is kind)
        config = explorer.configs(**explorer.values({}))[0]
    less = {
        item.name: min(SMALL[item.name], value)
        for item in dataclasses.fields(config)
        if item.name in SMALL and isinstance(value := getattr(config, item.name), int)
    }
    return kind(dataclasses.replace(config, **less))


def bytes_of(cell: AnyCell) -> str:
    """A digest of the part of a cell and the threads that its BLAS had, or why there is none."""
    threads: list[int] = []

    def watched(config: Any) -> Any:
        result = cell.kind.run(config)
        pools = threadpoolctl.threadpool_info()
        threads.extend(p["num_threads"] for p in pools if p["user_api"] == "blas")
        return result

    kind = dataclasses.replace(cell.kind, run=watched)
    finished = attempt(kind(cell.points[0].config))
    return finished.error or f"{digest(finished.part)} {digest(finished.weights)} {max(threads)}"


def as_first(cells: Sequence[AnyCell]) -> list[str]:
    """The digests as child processes find them that compute one cell each, two at a time."""
    found: list[str] = []
    for pair in batched(cells, 2):
        answers = [_forked(cell) for cell in pair]
        for child, answer in answers:
            with os.fdopen(answer) as file:
                found.append(file.read())
            os.waitpid(child, 0)
    return found


def _forked(cell: AnyCell) -> tuple[int, int]:
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.write(write, bytes_of(cell).encode())
        os._exit(0)
    os.close(write)
    return child, read


def batched(cells: Sequence[AnyCell], size: int) -> Iterator[Sequence[AnyCell]]:
    return (cells[at : at + size] for at in range(0, len(cells), size))


def main() -> None:
    warnings.filterwarnings("ignore", "os.fork.. was called", RuntimeWarning)  # JAX has not begun
    (study,) = load_studies(sys.argv[1:])
    if study.name in ("linear", "rank"):
        importlib.import_module("equinox")  # and with it JAX
    assert not any(name.startswith("scipy") for name in sys.modules)
    cells = [smallest(study, kind) for kind in study.kinds]
    first = as_first(cells)
    later = [bytes_of(cell) for cell in reversed(cells)][::-1]
    names = [kind.name for kind in study.kinds]
    print(json.dumps({name: list(pair) for name, *pair in zip(names, first, later, strict=True)}))


if __name__ == "__main__":
    main()
