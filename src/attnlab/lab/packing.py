"""Packing: the results of a store become the evidence that ships with a study.

Nothing is made by hand: rows come from the parts of the store, and their origin from its run logs.
A large scale takes several sittings: of a run that a folder holds already, of the same scale and
seed, the cells stay which the plan still has and the store has not. Other runs stay as they are.
Weights are not packed.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from attnlab.errors import UserError
from attnlab.files import trouble, write_whole, writer_name
from attnlab.lab.cell import AnyCell, CellKind, config_values
from attnlab.lab.evidence import (
    FILE,
    FORMAT,
    KEY,
    RUN,
    Evidence,
    ShippedRun,
    Source,
    companions,
    evidence_of,
)
from attnlab.lab.part import VERSION, schema_of
from attnlab.lab.provenance import read_runs
from attnlab.lab.store import Store
from attnlab.lab.study import Plan, Scale, Study

VERSIONS = ("attnlab", "python", "numpy", "scipy", "pyarrow", "jax", "jaxlib")
SCRIPT = "pack_evidence.py"  # which computes the short cells
PLACES = ("--store", "--report", "--studies-dir", "--studies_dir")  # say nothing about results


@dataclass(frozen=True)
class Unrecorded:
    """What run logs leave out: those of a tree without its history have no commit.

    `commits` has the commit by what the log names in its place: "" for nothing, or "HASH-dirty" for
    a copy of the files of one commit beside the history of another. Cells of the kinds
    `on_processor`, and those of runs on a machine with another processor than `beside`, ran on the
    processor that the log names; all others on `device`.
    """

    commits: Mapping[str, str] = field(default_factory=dict)
    device: str | None = None
    on_processor: tuple[str, ...] = ()
    beside: str | None = None


NOTHING = Unrecorded()


def pack(
    store: Store,
    study: Study,
    scale: Scale,
    seed: int = 0,
    unrecorded: Unrecorded | None = None,
    *,
    fresh: bool = False,
) -> ShippedRun:
    """Write what a store holds of a study at one scale and seed into the study's evidence.

    Parameters
    ----------
    store
        Where the results are; a part of the scale's cells is enough.
    study
        The study, which says where its evidence is.
    scale, seed
        Which of its plans.
    unrecorded
        Commit and device of runs whose logs do not name them.
    fresh
        Whether what the folder holds is left out, as it has to be where it is damaged.
    """
    if study.evidence is None:
        raise UserError(f"Study {study.name!r} declares no folder of evidence.")
    plan = study.plan(scale, seed)
    short = {cell.key: cell for cell in companions(plan)}
    held = store.holding(plan.cells.values())
    if not held:
        raise UserError(
            f"The store {store.root} has no results of {study.name} at the scale {scale!r} and "
            f"seed {seed}."
        )
    extra = store.holding(cell for key, cell in short.items() if key not in plan.cells)
    every = {**plan.cells, **short}
    cells = [cell for key, cell in every.items() if key in {**held, **extra}]
    results = {**held, **extra}
    run = ShippedRun(
        scale,
        seed,
        len(plan.cells),
        tuple(extra),
        tuple(key for each in results.values() for key, rows in each.items() if not rows),
        _sources(store, list(results), unrecorded or NOTHING),
    )
    before = None if fresh else evidence_of(study)
    kept = _kept(before, run, {k: cell for k, cell in every.items() if k not in results})
    _write(study, _joined(kept, run), _tables(run, cells, results), before, kept)
    return _joined(kept, run)


@dataclass(frozen=True)
class Kept:
    """What stays of an earlier run of the same scale and seed: its part, and the keys of rows."""

    run: ShippedRun
    points: frozenset[str]


def _kept(before: Evidence | None, run: ShippedRun, missing: Mapping[str, AnyCell]) -> Kept | None:
    """The cells of the shipped run that are among these, which the store does not have."""
    old = next((each for each in before.runs if each.name == run.name), None) if before else None
    if old is None:
        return None
    sources = []
    for source in old.sources:
        seconds = {key: time for key, time in source.seconds.items() if key in missing}
        if seconds:
            sources.append(replace(source, seconds=seconds))
    keys = {key for source in sources for key in source.seconds}
    points = frozenset(point.key for key in keys for point in missing[key].points)
    part = replace(
        old,
        companions=tuple(key for key in old.companions if key in keys),
        empty=tuple(key for key in old.empty if key in points),
        sources=tuple(sources),
    )
    return Kept(part, points) if keys else None


def _joined(kept: Kept | None, run: ShippedRun) -> ShippedRun:
    """A run with what stays of an earlier one, the sources in the order of their dates."""
    if kept is None:
        return run
    old = kept.run
    return replace(
        run,
        companions=(*old.companions, *run.companions),
        empty=(*old.empty, *run.empty),
        sources=tuple(sorted((*old.sources, *run.sources), key=lambda source: source.started)),
    )


def companion_plan(study: Study, scale: Scale, seed: int = 0) -> Plan:
    """The short cells of a scale as a plan of their own, to be computed where the others were."""
    short = companions(study.plan(scale, seed))
    return Plan(study, scale, seed, {cell.key: cell for cell in short})


def _sources(store: Store, keys: list[str], unrecorded: Unrecorded) -> tuple[Source, ...]:
    """The runs behind these cells, oldest first; a cell computed twice counts for the later run."""
    logs = list(read_runs(store.root / "runs"))
    last = {line["key"]: (index, line) for index, (_, lines) in enumerate(logs) for line in lines}
    unknown = [key for key in keys if key not in last]
    if unknown:
        raise UserError(
            f"The store {store.root} does not say which run made {len(unknown)} of {len(keys)} "
            "cells; its run logs (runs/*.jsonl) are needed."
        )
    groups: dict[tuple[int, str], dict[str, float]] = {}
    for key in keys:
        index, line = last[key]
        device = device_of(logs[index][0], line, unrecorded)
        if not device:
            raise UserError("The run logs do not name the device; give it (--device NAME).")
        groups.setdefault((index, device), {})[key] = round(float(line["seconds"]), 4)
    return tuple(
        _source(logs[index][0], device, seconds, unrecorded)
        for (index, device), seconds in sorted(groups.items(), key=lambda item: item[0])
    )


def device_of(
    header: dict[str, Any], line: dict[str, Any], unrecorded: Unrecorded = NOTHING
) -> str | None:
    """The name of the card or, for "cpu", of the processor; None where a log does not say it.

    Parameters
    ----------
    header, line
        The first line of a run log, and the one of a cell.
    unrecorded
        What to take for logs that leave it out.
    """
    named, processor = line.get("device"), header.get("machine", {}).get("processor")
    if named:
        return processor if named == "cpu" else named
    elsewhere = unrecorded.beside not in (None, processor)
    return processor if elsewhere or line["kind"] in unrecorded.on_processor else unrecorded.device


def devices(store: Store, unnamed: str | None = None) -> Callable[[AnyCell], str]:
    """Where the cells of a store were computed, by its run logs; the last run of a cell counts.

    `unnamed` is the device of those of which no log says it; without it they are refused.
    """
    named = {
        line["key"]: name
        for header, lines in read_runs(store.root / "runs")
        for line in lines
        if (name := device_of(header, line))
    }

    def device(cell: AnyCell) -> str:
        found = named.get(cell.key, unnamed)
        if found is None:
            raise UserError(
                f"No run log of {store.root} names the device of {cell}; give --device."
            )
        return found

    return device


def _source(
    header: dict[str, Any], device: str, seconds: dict[str, float], unrecorded: Unrecorded
) -> Source:
    named = header.get("commit") or ""
    commit = unrecorded.commits.get(named, named)
    if not commit:
        raise UserError("The run logs do not name the commit; give it (--commit HASH).")
    if commit.endswith("-dirty"):
        raise UserError(
            f"A run was made from a tree with changes that no commit has ({commit}); commit them "
            "and run again, or say which commit has these files (--commit HASH-dirty=HASH)."
        )
    versions = header["versions"]
    return Source(
        started=header["started"],
        command=_without_places(header["command"]),
        engine=header["engine"],
        commit=commit,
        device=device,
        machine=header.get("machine", {}),
        versions={name: versions[name] for name in VERSIONS if name in versions},
        seconds=seconds,
    )


def _without_places(command: str) -> str:
    """A command as it is called elsewhere, without the folders of the machine that it ran on."""
    program, *rest = shlex.split(command)
    words, kept = iter(rest), [SCRIPT if Path(program).name == SCRIPT else "attnlab"]
    for word in words:
        if word in PLACES:
            next(words, None)
        elif word.partition("=")[0] not in PLACES and "/" not in word:
            kept.append(word)
    return shlex.join(kept)


def _tables(
    run: ShippedRun, cells: Iterable[AnyCell], results: Mapping[str, Mapping[str, list[Any]]]
) -> dict[str, pa.Table]:
    """The rows of a run, one table per kind; a point that two cells share is there once."""
    records: dict[str, list[dict[str, Any]]] = {}
    kinds: dict[str, CellKind] = {}
    seen: set[str] = set()
    for cell in cells:
        name = cell.kind.name
        kinds[name] = cell.kind
        for point in cell.points:
            if point.key in seen:
                continue
            seen.add(point.key)
            given = {RUN: run.name, KEY: point.key, VERSION: cell.kind.version}
            given |= config_values(point.config)
            rows = results[cell.key][point.key]
            records.setdefault(name, []).extend({**given, **config_values(row)} for row in rows)
    return {
        name: pa.Table.from_pylist(records[name], _schema(kind))
        for name, kind in kinds.items()
        if records.get(name)
    }


def _schema(kind: CellKind) -> pa.Schema:
    own = [pa.field(name, pa.string(), nullable=False) for name in (RUN, KEY)]
    return pa.schema([*own, *schema_of(kind)])


def _write(
    study: Study,
    run: ShippedRun,
    tables: dict[str, pa.Table],
    before: Evidence | None,
    kept: Kept | None,
) -> None:
    """Write the files of all runs, the new one in place of the old; the JSON comes last."""
    folder = study.evidence
    assert folder is not None
    others = [each for each in before.runs if each.name != run.name] if before else []
    names = {each.name for each in others}
    points = kept.points if kept else frozenset()
    for name in before.files if before else ():
        kind = Path(name).stem
        old = before.table(kind) if before else None
        assert old is not None
        pairs = zip(old.column(RUN).to_pylist(), old.column(KEY).to_pylist(), strict=True)
        stays = [own in names or (own == run.name and key in points) for own, key in pairs]
        rows = old.filter(pa.array(stays, pa.bool_()))
        if rows.num_rows:
            both = [rows, *([tables[kind]] if kind in tables else [])]
            tables[kind] = pa.concat_tables(both, promote_options="default")
    data = {f"{kind}.parquet": _encoded(tables[kind]) for kind in sorted(tables)}
    about = {
        "about": "Results that ship with attnlab, made by scripts/pack_evidence.py.",
        "format": FORMAT,
        "study": study.name,
        "files": {
            name: {
                "sha256": hashlib.sha256(content).hexdigest(),
                "rows": tables[Path(name).stem].num_rows,
            }
            for name, content in data.items()
        },
        "runs": [
            {**asdict(each), "cells": each.cells}
            for each in sorted([*others, run], key=lambda each: each.name)
        ],
    }
    data[FILE] = (json.dumps(about, indent=1, allow_nan=False) + "\n").encode()
    try:
        folder.mkdir(exist_ok=True)
        for name, content in data.items():
            write_whole(folder / name, content, folder / writer_name("."))
        for path in folder.glob("*.parquet"):
            if path.name not in data:
                path.unlink()
    except OSError as reason:
        raise UserError(f"The evidence {folder} cannot be written: {trouble(reason)}.") from reason


def _encoded(table: pa.Table) -> bytes:
    """The bytes of a file. Floats that seldom repeat are split into their bytes, of which the
    leading ones compress; a dictionary serves all other columns better."""
    buffer = pa.BufferOutputStream()
    split = [
        name
        for name in table.column_names
        if pa.types.is_floating(table.schema.field(name).type)
        and 2 * len(table[name].unique()) > len(table)
    ]
    layout: dict[str, Any] = {
        "compression": "zstd",
        "compression_level": 19,
        "store_schema": False,
        "use_dictionary": [name for name in table.column_names if name not in split],
        "use_byte_stream_split": split,
    }
    pq.write_table(table, buffer, **layout)
    return buffer.getvalue().to_pybytes()
