"""Where a study's results come from: what was planned, and which runs on which machine computed it.

The questions come from the study's cells, the answers' origin from the store's run logs. Nothing
here looks at the clock, so the same store gives the same account.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from attnlab.lab.cell import AnyCell, config_values
from attnlab.lab.provenance import read_runs
from attnlab.lab.store import Store
from attnlab.lab.study import Plan, View
from attnlab.report import text

SHOWN_SINGLY = 6


@dataclass(frozen=True)
class Planned:
    """The configurations of one kind of cell: for each column, what it ranged over."""

    kind: str
    version: int
    cells: int
    columns: list[tuple[str, str]]


@dataclass(frozen=True)
class Run:
    """One run that computed some of the cells; `Provenance` lists what all runs share."""

    cells: int
    seconds: float
    facts: dict[str, str]


@dataclass(frozen=True)
class Provenance:
    cells: int
    stored: int
    planned: list[Planned]
    runs: list[Run]
    common: dict[str, str]
    seconds: float
    unknown: int  # stored cells that no run's log names


def provenance_of(store: Store, plan: Plan, seen: View) -> Provenance:
    """Where the results of a plan come from."""
    cells = plan.cells
    held = {k for k, cell in cells.items() if all(p.key in seen.results for p in cell.points)}
    runs = _runs(store, held)
    facts = [run.facts for run in runs]
    common = _common(facts)
    return Provenance(
        cells=len(cells),
        stored=len(held),
        planned=_planned(cells.values()),
        runs=[
            Run(r.cells, r.seconds, {k: v for k, v in r.facts.items() if k not in common})
            for r in runs
        ],
        common=common,
        seconds=sum(run.seconds for run in runs),
        unknown=len(held) - sum(run.cells for run in runs),
    )


def span(values: Iterable[Any]) -> str:
    """The set of a column's values if it is small, their range if they are many numbers."""
    distinct = set(values)
    known = sorted((v for v in distinct if v is not None), key=_order)
    none = ["none"] if None in distinct else []
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in known)
    if numbers and len(known) > SHOWN_SINGLY:
        ends = f"{text.value(known[0])} to {text.value(known[-1])} ({len(known)} values)"
        return ", ".join([ends, *none])
    return ", ".join([*(_word(v) for v in known), *none])


def _order(value: Any) -> tuple[bool, Any]:
    return isinstance(value, str), value


def _word(value: Any) -> str:
    return ("no", "yes")[value] if isinstance(value, bool) else text.value(value)


def _planned(cells: Iterable[AnyCell]) -> list[Planned]:
    kinds: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for cell in cells:
        group = kinds.setdefault((cell.kind.name, cell.kind.version), [])
        group.extend(config_values(point.config) for point in cell.points)
    return [
        Planned(kind, version, len(group), [(c, span(row[c] for row in group)) for c in group[0]])
        for (kind, version), group in sorted(kinds.items())
    ]


def _runs(store: Store, stored: set[str]) -> list[Run]:
    """The runs behind these cells, oldest first; a cell computed twice counts for the later run."""
    logs = list(read_runs(store.root / "runs"))
    last = {line["key"]: index for index, (_, lines) in enumerate(logs) for line in lines}
    runs = []
    for index, (header, lines) in enumerate(logs):
        spent = {
            line["key"]: float(line.get("seconds", 0.0))
            for line in lines
            if line["key"] in stored and last[line["key"]] == index
        }
        if spent:
            runs.append(Run(len(spent), sum(spent.values()), _facts(header)))
    return runs


def _facts(header: dict[str, Any]) -> dict[str, str]:
    machine = header.get("machine", {})
    cores = f"{machine['cores']} cores" if machine.get("cores") else ""
    where = [machine.get("processor", ""), cores, machine.get("system", "")]
    versions = header.get("versions", {})
    return {
        "Started": header.get("started", "unknown"),
        "Command": header.get("command", "unknown"),
        "Engine": header.get("engine", "unknown"),
        "Machine": ", ".join(str(part) for part in where if part) or "unknown",
        "Versions": ", ".join(f"{name} {number}" for name, number in versions.items()),
    }


def _common(facts: Sequence[dict[str, str]]) -> dict[str, str]:
    if not facts:
        return {}
    return {name: value for name, value in facts[0].items() if all(f[name] == value for f in facts)}
