"""What the commands of the command line do, once their arguments are parsed."""

from __future__ import annotations

import csv
import dataclasses
import decimal
import json
import math
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
from attnlab.lab.engine import Done, InProcess, attempt, open_engine
from attnlab.lab.progress import duration
from attnlab.lab.runner import Summary, failure, run_cells
from attnlab.lab.store import Store
from attnlab.lab.study import Scale, Study, check_seed, parse_scale

if TYPE_CHECKING:
    from attnlab import cli


def reproduce(command: cli.Reproduce, console: Console) -> int:
    from attnlab.report.folder import refuse_foreign
    from attnlab.report.terminal import print_ledger

    scale, seed = parse_scale(command.scale), check_seed(command.seed)
    studies = command.load(command.study)
    if not command.no_report:
        refuse_foreign(command.report)
    failed = 0
    with open_engine(command.workers, command.scheduler, command.studies_dir) as engine:
        store = command.open(create=True)
        for study in studies:
            started = time.monotonic()
            cells = study.cells(scale, seed)
            summary = run_cells(cells, study.name, store, engine, console)
            _print_summary(study, scale, summary, time.monotonic() - started, console)
            failed += len(summary.failed)
    entries = _judge(studies, store, scale, seed)
    print_ledger(entries, console)
    if not command.no_report:
        _write_report(store, studies, scale, seed, command.report, console)
    if failed:
        cells = "1 cell" if failed == 1 else f"{failed} cells"
        raise AttnlabError(f"{cells} failed, named above; all others are stored.")
    _refuse_broken(entries)
    return 1 if command.strict and any(entry.verdict == "fails" for entry in entries) else 0


def claims(command: cli.Claims, console: Console) -> int:
    from attnlab.report.terminal import print_ledger

    scale, seed = parse_scale(command.scale), check_seed(command.seed)
    studies = command.load(command.study)
    chosen = {claim.id for _, claim in lab_ledger.select(studies, command.only)}
    store = command.open(create=False)
    entries = [e for e in _judge(studies, store, scale, seed) if e.id in chosen]
    if command.json:
        print(json.dumps([entry.as_dict() for entry in entries], indent=2, ensure_ascii=False))
    else:
        print_ledger(entries, console)
    _refuse_broken(entries)
    return 0


def report(command: cli.Report, console: Console) -> int:
    scale, seed = parse_scale(command.scale), check_seed(command.seed)
    studies = command.load(command.study)
    store = command.open(create=False)
    _write_report(store, studies, scale, seed, command.out, console)
    return 0


def query(command: cli.Query, console: Console) -> int:
    from attnlab.lab import query as lab_query
    from attnlab.report.terminal import print_rows

    if command.format not in ("table", "json", "csv"):
        raise UserError(f"Unknown format {command.format!r}; accepted are table, json, csv.")
    store = command.open(create=False)
    sql = command.sql
    answer = lab_query.tables(store) if sql is None else lab_query.query(store, sql)
    if command.format == "json":
        rows = [[_json_value(value) for value in row] for row in answer.rows]
        records = [dict(zip(answer.columns, row, strict=True)) for row in rows]
        print(json.dumps(records, indent=2, default=str, ensure_ascii=False))
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

    from attnlab.cli import Common, or_one_sentence
    from attnlab.report.terminal import print_rows

    # The folder of the user's studies decides which kinds exist, so it is looked for first.
    program = f"attnlab run {kind_name}"
    before, _ = or_one_sentence(
        lambda: tyro.cli(Common, args=list(arguments), return_unknown_args=True, add_help=False),
        program,
    )
    study, kind = _find_kind(kind_name, before.studies_dir)
    asked = dataclasses.make_dataclass(
        "Asked",
        [
            ("config", Annotated[kind.config, tyro.conf.arg(name="")]),
            ("common", Annotated[Common, tyro.conf.arg(name="")]),
        ],
    )
    parsed: Any = or_one_sentence(
        lambda: tyro.cli(
            asked, prog=program, description=kind.config.__doc__, args=list(arguments)
        ),
        program,
    )
    check_seed(getattr(parsed.config, "seed", 0))
    cell = kind(parsed.config)
    engine = InProcess()
    if not parsed.common.store.exists():
        # Computed first: a refused configuration leaves no store behind.
        finished = attempt(cell)
        if finished.error:
            raise failure(finished)
        engine = Done((finished,))
    store = parsed.common.open(create=True)
    summary = run_cells([cell], study.name, store, engine, console)
    for _, error in summary.failed:
        raise error
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
    for name in command.name or [name for name in scripts if not name.endswith("_gpu")]:
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


def _refuse_broken(entries: Sequence[lab_ledger.Entry]) -> None:
    broken = [entry.id for entry in entries if entry.broken]
    if broken:
        raise AttnlabError(
            f"The checks of these claims stopped with an error and decided nothing: "
            f"{', '.join(broken)}; 'attnlab claims --json' says why."
        )


def _json_value(value: Any) -> Any:
    """JSON has neither Decimal nor NaN nor infinity."""
    number = float(value) if isinstance(value, decimal.Decimal) else value
    return None if isinstance(number, float) and not math.isfinite(number) else number


def _write_report(
    store: Store, studies: Sequence[Study], scale: Scale, seed: int, out: Path, console: Console
) -> None:
    from attnlab.report.site import write_report

    index = write_report(store, studies, scale, seed, out, console=console)
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
    # A kind is usually named after its study: the others need not be imported then.
    names = sorted(study_names(extra), key=lambda each: not name.startswith(f"{each}_"))
    for study in (load_study(each, extra) for each in names):
        for kind in study.kinds:
            if kind.name == name:
                return study, kind
            known.append(kind.name)
    raise UserError(f"Unknown kind of cell {name!r}; accepted are {', '.join(known)}.")
