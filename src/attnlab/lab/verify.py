"""Verifying: cells drawn from the shipped ones are computed again here and compared.

On the same kind of device, with the same versions of the libraries, rows have to be equal bit for
bit. Elsewhere they agree within the tolerance that their kind declares. Of a kind that trains, the
short cells are computed that were shipped with it (`attnlab.lab.evidence.companions`).
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from attnlab.errors import AttnlabError
from attnlab.lab.cell import AnyCell, Cell, column_types
from attnlab.lab.evidence import Evidence, ShippedRun, Source, companions
from attnlab.lab.part import decode
from attnlab.lab.provenance import machine, versions
from attnlab.lab.room import device_name
from attnlab.lab.study import Study
from attnlab.lab.task import attempt

SLOWER = 100.0  # how much longer a processor may take than an accelerator that computed a cell
SAME = ("instructions", "cores")  # of processors of one kind
NUMERICAL = ("numpy", "scipy", "jax", "jaxlib")  # libraries that decide the last digits


class Drawn(NamedTuple):
    """A shipped cell to be computed again, and how long that may take here."""

    run: ShippedRun
    cell: Cell
    source: Source
    seconds: float


class Difference(NamedTuple):
    """A value that was computed again and is another."""

    row: int
    column: str
    shipped: Any
    found: Any

    def __str__(self) -> str:
        return f"{self.column} of row {self.row}: shipped {self.shipped!r}, found {self.found!r}"


@dataclass(frozen=True)
class Verified:
    """A cell that was computed again; `exact` says whether equal bits were asked for."""

    drawn: Drawn
    exact: bool
    rows: int
    seconds: float
    differences: Sequence[Difference]


def candidates(study: Study, evidence: Evidence) -> dict[str, list[Drawn]]:
    """What can be computed again of the shipped cells, by the name of their kind.

    A point of a sweep takes its share of the sweep's time. Cells of which the study has a newer
    version are not among them. Short cells of training are short everywhere.
    """
    found: dict[str, list[Drawn]] = {}
    for run in evidence.runs:
        plan = study.plan(run.scale, run.seed)
        whole = (cell for cell in plan.cells.values() if cell.kind.shortened is None)
        known: dict[str, AnyCell] = {cell.key: cell for cell in (*whole, *companions(plan))}
        for source in run.sources:
            slower = SLOWER if source.device != _processor_of(source) and on_processor() else 1.0
            for key, seconds in source.seconds.items():
                cell = known.get(key)
                if cell is None:
                    continue
                factor = slower if cell.kind.shortened is None else 1.0
                share = factor * seconds / len(cell.points)
                group = found.setdefault(cell.kind.name, [])
                group.extend(Drawn(run, point, source, share) for point in cell.points)
    return found


def draw(
    groups: dict[str, list[Drawn]], cells: int, longest: float, chance: random.Random
) -> list[Drawn]:
    """Cells drawn at random, none of which should take longer than `longest` seconds here.

    Every kind that has such a cell is drawn from once, and then all of them together, up to `cells`
    in all.
    """
    short = {
        name: [each for each in group if each.seconds <= longest]
        for name, group in sorted(groups.items())
    }
    picked = [chance.choice(group) for group in short.values() if group]
    rest = [each for group in short.values() for each in group if each not in picked]
    more = min(max(cells - len(picked), 0), len(rest))
    return [*picked, *chance.sample(rest, more)]


def verify(evidence: Evidence, drawn: Drawn, exact: bool | None = None) -> Verified:
    """Compute a shipped cell again and compare; a cell that fails is an error.

    Parameters
    ----------
    evidence
        Where the cell was drawn from.
    drawn
        The cell.
    exact
        Whether equal bits are asked for; unless given, where the device and the versions are the
        same and no compiler of the machine has a part in the last digits.
    """
    cell = drawn.cell
    shipped = evidence.rows(drawn.run, cell)
    assert shipped is not None
    finished = attempt(cell)
    if finished.error:
        raise AttnlabError(f"{cell} could not be computed here: {finished.error}")
    found = decode(cell, finished.part)[cell.key]
    if exact is None:
        exact = same_place(drawn.source) and not _compiled_differently(cell)
    differences = compare(cell, shipped, found, exact)
    return Verified(drawn, exact, len(shipped), finished.seconds, differences)


def compare(
    cell: Cell, shipped: Sequence[Any], found: Sequence[Any], exact: bool
) -> list[Difference]:
    """Where the rows of a cell differ: in any bit, or by more than its kind's tolerance."""
    if len(shipped) != len(found):
        return [Difference(0, "number of rows", len(shipped), len(found))]
    agree = cell.kind.tolerance.agree
    return [
        Difference(index, name, old, new)
        for index, (first, second) in enumerate(zip(shipped, found, strict=True))
        for name in column_types(cell.kind.row)
        if (old := getattr(first, name)) != (new := getattr(second, name))
        and (exact or not agree(old, new))
    ]


def _compiled_differently(cell: Cell) -> bool:
    """Whether the same device and libraries may still compute other last digits.

    On an accelerator the programs of a training consist of kernels that JAX's compiler chose by
    timing them (`attnlab.lab.programs`).
    """
    timed = cell.kind.shortened is not None and not on_processor()
    return cell.kind.compiled_here or timed


def same_place(source: Source) -> bool:
    """Whether cells have the same bits here: the same kind of device and the same libraries.

    Options of the compiler (XLA_FLAGS) may change the last digits. Processors are of one kind if
    they have the same instruction sets and are as many; a run that does not say so is of none.
    """
    own = versions()
    same = all(source.versions.get(name) == own.get(name) for name in NUMERICAL)
    if not same or "XLA_FLAGS" in os.environ:
        return False
    if not on_processor():
        return device_name() == source.device
    here = machine()
    known = here["instructions"] is not None and source.device == here["processor"]
    return known and all(source.machine.get(name) == here[name] for name in SAME)


def on_processor() -> bool:
    """Whether cells are computed on a processor here, and not on an accelerator."""
    return device_name() == "cpu"


def _processor_of(source: Source) -> str:
    return str(source.machine.get("processor", ""))
