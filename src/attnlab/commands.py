"""What the commands of the command line do, once their arguments are parsed."""

from __future__ import annotations

import csv
import dataclasses
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Console

from attnlab.errors import AttnlabError, UserError
from attnlab.lab import ledger as lab_ledger
from attnlab.lab.catalog import load_study, study_names
from attnlab.lab.cell import CellKind, config_values
from attnlab.lab.engine import open_engine
from attnlab.lab.progress import duration
from attnlab.lab.runner import Summary, run_cells
from attnlab.lab.store import Store
from attnlab.lab.study import Scale, Study, parse_scale

if TYPE_CHECKING:
    from attnlab import cli


def reproduce(command: cli.Reproduce, console: Console) -> int:
    from attnlab.report.terminal import print_ledger

    scale = parse_scale(command.scale)
    studies = command.load(command.study)
    store = command.open(create=True)
    failed = 0
    with open_engine(command.workers, command.scheduler, command.studies_dir) as engine:
        for study in studies:
            started = time.monotonic()
            cells = study.cells(scale, command.seed)
            summary = run_cells(cells, study.name, store, engine, console)
            _print_summary(study, scale, summary, time.monotonic() - started, console)
            failed += len(summary.failed)
    entries = _judge(studies, store, scale, command.seed)
    print_ledger(entries, console)
    if not command.no_report:
        _write_report(store, studies, scale, command.seed, command.report, console)
    if failed:
        raise AttnlabError(f"{failed} cells failed, named above; all others are stored.")
    return 1 if command.strict and any(entry.verdict == "fails" for entry in entries) else 0


def claims(command: cli.Claims, console: Console) -> int:
    from attnlab.report.terminal import print_ledger

    scale = parse_scale(command.scale)
    studies = command.load(command.study)
    chosen = {claim.id for _, claim in lab_ledger.select(studies, command.only)}
    store = command.open(create=False)
    entries = [e for e in _judge(studies, store, scale, command.seed) if e.id in chosen]
    if command.json:
        print(json.dumps([entry.as_dict() for entry in entries], indent=2, ensure_ascii=False))
    else:
        print_ledger(entries, console)
    return 0


def report(command: cli.Report, console: Console) -> int:
    scale = parse_scale(command.scale)
    studies = command.load(command.study)
    store = command.open(create=False)
    _write_report(store, studies, scale, command.seed, command.out, console)
    return 0


def query(command: cli.Query, console: Console) -> int:
    from attnlab.lab import query as lab_query
    from attnlab.report.terminal import print_rows

    if command.format not in ("table", "json", "csv"):
        raise UserError(f"Unknown format {command.format!r}; accepted are table, json, csv.")
    store = command.open(create=False)
    answer = lab_query.query(store, command.sql) if command.sql else lab_query.tables(store)
    if command.format == "json":
        records = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
        print(json.dumps(records, indent=2, default=str))
    elif command.format == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(answer.columns)
        writer.writerows(answer.rows)
    else:
        print_rows(answer.columns, answer.rows, console)
    return 0


def list_kinds(command: cli.Run, console: Console) -> int:
    from attnlab.report.terminal import print_rows

    rows = [
        (kind.name, study.name, ", ".join(field.name for field in dataclasses.fields(kind.config)))
        for study in command.load(())
        for kind in study.kinds
    ]
    print_rows(["kind", "study", "parameters"], rows, console)
    return 0


def run_one(kind_name: str, arguments: Sequence[str], console: Console) -> int:
    """`attnlab run KIND --parameter value ...`: the parser is made from the kind's config."""
    import tyro

    from attnlab.cli import Common, one_sentence
    from attnlab.report.terminal import print_rows

    # The folder of the user's studies decides which kinds exist, so it is looked for first.
    before, _ = tyro.cli(Common, args=list(arguments), return_unknown_args=True, add_help=False)
    study, kind = _find_kind(kind_name, before.studies_dir)
    asked = dataclasses.make_dataclass(
        "Asked",
        [
            ("config", Annotated[kind.config, tyro.conf.arg(name="")]),
            ("common", Annotated[Common, tyro.conf.arg(name="")]),
        ],
    )
    with one_sentence():
        parsed: Any = tyro.cli(
            asked,
            prog=f"attnlab run {kind.name}",
            description=kind.config.__doc__,
            args=list(arguments),
        )
    cell = kind(parsed.config)
    store = parsed.common.open(create=True)
    with open_engine() as engine:
        summary = run_cells([cell], study.name, store, engine, console)
    for _, error in summary.failed:
        raise UserError(error) if error.startswith("UserError") else AttnlabError(error)
    rows = store.rows(cell) or []
    values = {**config_values(cell.config), **config_values(rows[0])} if rows else {}
    print_rows(["quantity", "value"], list(values.items()), console)
    return 0


def bench(command: cli.Bench, console: Console) -> int:
    folder = Path(__file__).parents[2] / "benchmarks"
    scripts = {path.stem: path for path in sorted(folder.glob("*.py"))}
    if not scripts:
        raise UserError(
            f"There are no benchmarks at {folder}; 'attnlab bench' needs a source checkout."
        )
    for name in command.name:
        if name not in scripts:
            raise UserError(f"Unknown benchmark {name!r}; accepted are {', '.join(scripts)}.")
    for name in command.name or scripts:
        console.rule(name)
        done = subprocess.run([sys.executable, str(scripts[name])], check=False)
        if done.returncode:
            raise AttnlabError(f"The benchmark {name} ended with exit code {done.returncode}.")
    return 0


def _judge(
    studies: Sequence[Study], store: Store, scale: Scale, seed: int
) -> list[lab_ledger.Entry]:
    return [
        entry
        for study in studies
        for entry in lab_ledger.ledger(study, lab_ledger.view(store, study, scale, seed))
    ]


def _write_report(
    store: Store, studies: Sequence[Study], scale: Scale, seed: int, out: Path, console: Console
) -> None:
    from attnlab.report.site import write_report

    index = write_report(store, studies, scale, seed, out)
    console.print(f"Report: {index}", soft_wrap=True, highlight=False)


def _print_summary(
    study: Study, scale: Scale, summary: Summary, seconds: float, console: Console
) -> None:
    for cell, error in summary.failed:
        console.print(f"[red]failed[/] {cell}: {error}", soft_wrap=True, highlight=False)
    console.print(
        f"{study.name} ({scale}): {summary.total} cells, {summary.from_store} from the store, "
        f"{summary.computed} computed in {duration(seconds)}",
        soft_wrap=True,
        highlight=False,
    )


def _find_kind(name: str, extra: Path | None) -> tuple[Study, CellKind]:
    known = []
    for study in (load_study(each, extra) for each in study_names(extra)):
        for kind in study.kinds:
            if kind.name == name:
                return study, kind
            known.append(kind.name)
    raise UserError(f"Unknown kind of cell {name!r}; accepted are {', '.join(known)}.")
