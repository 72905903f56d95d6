"""Evidence: results that ship with a study, where they come from, and the ledger they give.

A folder holds one Parquet file per kind of cell, with the rows of all shipped runs, and
`evidence.json` with the origin of every run and a digest of every file. `attnlab.lab.packing`
writes it from a store. Opening reads the JSON alone; a file is read when a claim asks for a cell of
its kind. Cells are found by their keys: what an older version of a kind answered is not found.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from attnlab.errors import UserError
from attnlab.lab.cell import Cell, CellKind, Sweep, column_types
from attnlab.lab.ledger import NOT_COMPUTED, Judged, Ledger, Shipped, judge
from attnlab.lab.part import VERSION
from attnlab.lab.study import SCALES, Claim, Missing, Plan, Scale, Study, View

FILE = "evidence.json"
FORMAT = 1
RUN = "shipped_run"  # the column that names the run of a row
KEY = "cell_key"  # the column with the key of its cell, or of its point of a sweep
COMPANIONS = 2  # short cells that are shipped with the cells of a kind that trains


@dataclass(frozen=True)
class Source:
    """One run of the lab on one device; `seconds` names the cells that it computed."""

    started: str
    command: str
    engine: str
    commit: str
    device: str
    machine: Mapping[str, Any]
    versions: Mapping[str, str]
    seconds: Mapping[str, float] = field(repr=False)


@dataclass(frozen=True)
class ShippedRun:
    """A study at one scale and seed, or as much of it as was computed.

    Parameters
    ----------
    scale, seed
        Which plan of the study.
    planned
        Cells of that plan when it was packed.
    companions
        Keys of the short cells that stand for those which train (see `companions`).
    empty
        Keys of cells, or of points of sweeps, that have no rows.
    sources
        Where the cells come from, each of them once.
    """

    scale: Scale
    seed: int
    planned: int
    companions: tuple[str, ...]
    empty: tuple[str, ...]
    sources: tuple[Source, ...]

    @property
    def name(self) -> str:
        """The run's name in the column `shipped_run`."""
        return f"{self.scale}-{self.seed}"

    @property
    def cells(self) -> int:
        """Shipped cells of the plan."""
        return sum(len(each.seconds) for each in self.sources) - len(self.companions)

    @property
    def device(self) -> str:
        """The devices that computed its cells, the one with most of the time first."""
        return self.where(self.keys)[0]

    @property
    def date(self) -> str:
        """The day on which the last of it was started."""
        return self.where(self.keys)[1]

    @functools.cached_property
    def keys(self) -> set[str]:
        """Its cells, without the companions."""
        return {key for each in self.sources for key in each.seconds} - {*self.companions}

    def where(self, keys: Collection[str]) -> tuple[str, str]:
        """The devices that computed some of its cells, and the day of the last of them."""
        spent: dict[str, float] = {}
        days = []
        for each in self.sources:
            own = [time for key, time in each.seconds.items() if key in keys]
            if own:
                spent[each.device] = spent.get(each.device, 0.0) + sum(own)
                days.append(each.started[:10])
        return " and ".join(sorted(spent, key=lambda name: -spent[name])), max(days)

    @property
    def seconds(self) -> float:
        """The time that its cells took."""
        return sum(sum(each.seconds.values()) for each in self.sources)


@dataclass(frozen=True, repr=False)
class Evidence:
    """The shipped runs of one study, largest scale first."""

    folder: Path
    runs: tuple[ShippedRun, ...]
    files: Mapping[str, str]  # name of a file -> its digest

    def __repr__(self) -> str:
        listed = ", ".join(f"{run.name}: {run.cells} of {run.planned} cells" for run in self.runs)
        return f"Evidence({self.folder.parent.name}: {listed})"

    def view(self, run: ShippedRun) -> ShippedView:
        """The results of a run as claims see them; every file is proved first.

        A check that met a damaged file would count as a bug of the check.
        """
        self.prove()
        return ShippedView(run.scale, run.seed, {}, self, run)

    @functools.cached_property
    def _proved(self) -> dict[str, bytes]:
        return {}

    def prove(self) -> None:
        """Read every file and compare it with its digest."""
        for name in self.files:
            self.data(name)

    def data(self, name: str) -> bytes:
        """The bytes of a file, which are those that the JSON promises."""
        if name not in self._proved:
            try:
                data = (self.folder / name).read_bytes()
            except OSError as reason:
                raise _damaged(self.folder, f"{name} cannot be read ({reason.strerror})") from None
            if hashlib.sha256(data).hexdigest() != self.files[name]:
                raise _damaged(self.folder, f"the bytes of {name} are not those that were packed")
            self._proved[name] = data
        return self._proved[name]

    @functools.cached_property
    def _tables(self) -> dict[str, pa.Table]:
        return {}

    def table(self, kind: str) -> pa.Table | None:
        """The rows of a kind, of all runs; None where it has none."""
        name = f"{kind}.parquet"
        if name in self.files and kind not in self._tables:
            try:
                # See `attnlab.lab.part.decode` on threads.
                file = pq.ParquetFile(pa.BufferReader(self.data(name)))
                self._tables[kind] = file.read(use_threads=False)
            except pa.ArrowException:
                raise _damaged(self.folder, f"{name} is not a Parquet file") from None
            if not {RUN, KEY} <= set(self._tables[kind].column_names):
                raise _damaged(self.folder, f"{name} does not say which cells its rows are of")
        return self._tables.get(kind)

    @functools.cached_property
    def _rows(self) -> dict[str, dict[tuple[str, str], list[Any]]]:
        return {}

    def rows(self, run: ShippedRun, cell: Cell) -> list[Any] | None:
        """The rows of a cell in a run; None where the run does not have it."""
        kind = cell.kind
        if kind.name not in self._rows:
            self._rows[kind.name] = self._decoded(kind)
        found = self._rows[kind.name].get((run.name, cell.key))
        return [] if found is None and cell.key in run.empty else found

    def _decoded(self, kind: CellKind) -> dict[tuple[str, str], list[Any]]:
        """The rows of the present version of a kind, by run and key."""
        table = self.table(kind.name)
        if table is None:
            return {}
        columns = list(column_types(kind.row))
        if not {VERSION, *columns} <= set(table.column_names):
            return {}  # what an older version of the kind answered
        found: dict[tuple[str, str], list[Any]] = {}
        values = zip(*(table.column(name).to_pylist() for name in columns), strict=True)
        names = (table.column(name).to_pylist() for name in (RUN, KEY, VERSION))
        for run, key, version, row in zip(*names, values, strict=True):
            if version == kind.version:
                found.setdefault((run, key), []).append(
                    kind.row(**dict(zip(columns, row, strict=True)))
                )
        return found


@dataclass(frozen=True, repr=False)
class ShippedView(View):
    """The results of a shipped run, as claims see them."""

    evidence: Evidence
    run: ShippedRun
    read: set[str] = field(default_factory=set)
    """Keys of the cells, or points of sweeps, that were asked for."""

    def rows(self, cell: Cell[Any, Any]) -> list[Any]:
        """The rows of a cell; `Missing` where the run does not have it."""
        found = self.evidence.rows(self.run, cell)
        if found is None:
            raise Missing(str(cell))
        self.read.add(cell.key)
        return found


def _damaged(folder: Path, what: str) -> UserError:
    return UserError(
        f"The shipped evidence in {folder} is damaged: {what}; install attnlab again or pack it "
        "anew (scripts/pack_evidence.py --fresh)."
    )


def evidence_of(study: Study) -> Evidence | None:
    """What ships with a study; None where nothing does."""
    if study.evidence is None or not (study.evidence / FILE).is_file():
        return None
    return _opened(study.evidence, (study.evidence / FILE).stat().st_mtime_ns)


def prove_evidence(studies: Iterable[Study]) -> None:
    """Refuse studies whose shipped evidence is damaged."""
    for study in studies:
        if evidence := evidence_of(study):
            evidence.prove()


@functools.cache
def _opened(folder: Path, changed: int) -> Evidence:
    """The evidence of a folder, read once for as long as its JSON does not change."""
    del changed
    try:
        known = json.loads((folder / FILE).read_bytes())
        if known["format"] != FORMAT:
            raise UserError(
                f"The shipped evidence in {folder} has format {known['format']}; this version of "
                f"attnlab reads format {FORMAT}."
            )
        runs = tuple(_run(each) for each in known["runs"])
        files = {str(name): str(about["sha256"]) for name, about in known["files"].items()}
    except UserError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as reason:
        raise _damaged(folder, f"{FILE} cannot be understood ({type(reason).__name__})") from reason
    if any(Path(name).name != name for name in files):
        raise _damaged(folder, f"{FILE} names files elsewhere")
    return Evidence(folder, tuple(sorted(runs, key=_size)), files)


def _run(known: dict[str, Any]) -> ShippedRun:
    if known["scale"] not in SCALES or not known["sources"]:
        raise ValueError(known["scale"])
    return ShippedRun(
        known["scale"],
        int(known["seed"]),
        int(known["planned"]),
        tuple(known["companions"]),
        tuple(known["empty"]),
        tuple(Source(**each) for each in known["sources"]),
    )


def _size(run: ShippedRun) -> tuple[int, int]:
    """Sorts the largest scale first, then the smallest seed."""
    return -SCALES.index(run.scale), run.seed


def shipped_run(study: Study, scale: Scale, seed: int = 0) -> ShippedRun | None:
    """The shipped run of a scale, with this seed if there is one; None where none ships."""
    evidence = evidence_of(study)
    runs = [run for run in evidence.runs if run.scale == scale] if evidence else []
    return min(runs, key=lambda run: (run.seed != seed, run.seed), default=None)


def shipped_verdicts(
    study: Study, claims: Iterable[Claim], runs: Collection[ShippedRun] | None = None
) -> dict[str, Shipped]:
    """What the shipped runs found of some claims, by the claim's id.

    Of several runs the largest scale that decides a claim is taken, or else the largest that has
    the results for it. A claim of which no run has the results is left out.
    """
    evidence = evidence_of(study)
    if evidence is None:
        return {}
    found: dict[str, Shipped] = {}
    views = [evidence.view(run) for run in (evidence.runs if runs is None else runs)]
    cells = {seen.run.name: _cells_of_points(study, seen.run) for seen in views}
    for claim in claims:
        for seen in views:
            run = seen.run
            seen.read.clear()
            entry = judge(study, claim, seen)
            if entry.measured == NOT_COMPUTED or (claim.id in found and not entry.decided):
                continue
            used = {cells[run.name].get(key, key) for key in seen.read} & run.keys
            device, date = run.where(used or run.keys)
            found[claim.id] = Shipped(entry, device, date, run.cells, run.planned)
            if entry.decided:
                break
    return found


def _cells_of_points(study: Study, run: ShippedRun) -> dict[str, str]:
    """The key of the sweep to which a point belongs; other cells are not named."""
    plan = study.plan(run.scale, run.seed)
    sweeps = [cell for cell in plan.cells.values() if isinstance(cell, Sweep)]
    return {point.key: cell.key for cell in sweeps for point in cell.points}


def with_shipped(study: Study, own: Ledger) -> Ledger:
    """The lines of a study's ledger, each with what the shipped runs found of its claim."""
    names = {entry.id for entry in own}
    found = shipped_verdicts(study, (claim for claim in study.claims if claim.id in names))
    return Ledger(dataclasses.replace(entry, shipped=found.get(entry.id)) for entry in own)


def judged_beside_shipped(plan: Plan, seen: View) -> Judged:
    """A study's results with its ledger, each line with what the shipped runs found."""
    own = Judged.of(plan, seen)
    return dataclasses.replace(own, ledger=with_shipped(plan.study, own.ledger))


@dataclass(frozen=True, repr=False)
class JudgedLater:
    """What `judged_beside_shipped` gives, judged when its ledger is first asked for."""

    plan: Plan
    view: View

    @functools.cached_property
    def ledger(self) -> Ledger:
        """Every claim with what the shipped runs found of it."""
        return judged_beside_shipped(self.plan, self.view).ledger


def companions(plan: Plan) -> list[Cell]:
    """The short cells that stand for those of a plan which train: the cheapest of each kind."""
    found: dict[str, dict[str, Cell]] = {}
    for cell in sorted(plan.cells.values(), key=lambda cell: cell.cost):
        if cell.kind.shortened is not None:
            group = found.setdefault(cell.kind.name, {})
            for point in cell.points:
                short = cell.kind(cell.kind.shortened(point.config))
                if len(group) < COMPANIONS:
                    group[short.key] = short
    return [cell for group in found.values() for cell in group.values()]


def outdated(study: Study, run: ShippedRun) -> int:
    """Shipped cells that the study no longer plans, or of which it has a newer version."""
    plan = study.plan(run.scale, run.seed)
    known = {*plan.cells, *(cell.key for cell in companions(plan))}
    return sum(key not in known for each in run.sources for key in each.seconds)
