"""`attnlab run KIND`: cells with configurations of the user's own.

The options of `attnlab run KIND` are the fields of the kind's configuration, so the kind is found
before the rest is parsed.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from attnlab.cli.options import Common
from attnlab.cli.parsing import nearest, parse_as
from attnlab.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from attnlab.lab.cell import Cell, CellKind
    from attnlab.lab.engine import Engine
    from attnlab.lab.study import Study

MOST = 10_000  # cells of one command
SHORT_KEY = 12  # digits of a key that a person types


@dataclass(frozen=True)
class Run(Common):
    """Run a cell with a configuration of your own and print every row of its result.

    Without KIND, list the kinds; with KIND --help, list its parameters. A list of numbers or
    choices, as in --n 100,200,400, runs one cell for each, and several lists every combination.
    Results are kept in the store like any other.

    For example:
      attnlab run
      attnlab run separation_attention --n 400 --d 22 --m 30 --x ones
      attnlab run separation_attention --n 200,400 --d 22 --m 15,30
    """

    kind: Annotated[Positional[str | None], arg(metavar="[KIND]")] = None
    """A kind of cell, then its parameters."""

    def run(self, console: Console) -> int:
        """List the kinds."""
        from attnlab.report.terminal import print_rows

        if self.kind is not None:
            raise UserError(
                f"KIND comes first, then its parameters: attnlab run {self.kind} --store DIR ..."
            )
        rows = [
            (kind.name, study.name, ", ".join(f.name for f in dataclasses.fields(kind.config)))
            for study in self.load(())
            for kind in study.kinds
        ]
        print_rows(["kind", "study", "parameters"], rows, console)
        return 0


@dataclass(frozen=True)
class RunCells:
    """The cells of one kind to compute, one for each configuration."""

    study: Study
    kind: CellKind
    configs: Sequence[Any]
    common: Common

    def run(self, console: Console) -> int:
        """Compute the cells, keep them and print every row."""
        from attnlab.lab.runner import run_plans
        from attnlab.lab.study import Plan, check_seed

        for config in self.configs:
            check_seed(getattr(config, "seed", 0))
        cells = {cell.key: cell for cell in map(self.kind, self.configs)}
        engine = self._engine(next(iter(cells.values())), console)
        plan = Plan(self.study, "quick", 0, cells)
        (summary,) = run_plans([plan], self.common.open(create=True), engine, console)
        found = {key: cell for key, cell in cells.items() if key in summary.results}
        self._print(list(found.values()), summary.results, console)
        for cell, error in summary.failed:
            if len(cells) == 1:
                raise error
            raise type(error)(
                f"{len(summary.failed)} of {len(cells)} cells failed, the others are stored; "
                f"{cell}: {error}"
            )
        return 0

    def _engine(self, first: Cell, console: Console) -> Engine:
        """This process. Without a store the first cell makes one with its first checkpoint, or
        when it is finished: a refused configuration leaves none behind."""
        from attnlab.lab import interruption
        from attnlab.lab.engine import Begun, InProcess
        from attnlab.lab.progress import meter
        from attnlab.lab.runner import failure, show_inside
        from attnlab.lab.task import attempt
        from attnlab.lab.watch import RunLimits

        root = self.common.store
        if root.exists():
            return InProcess()
        folder = root / "checkpoints"  # of the store, as soon as there is one
        running = interruption.RunningCells(folder)
        interruption.begin(running)
        with meter(console, first.kind.name, 1, first.cost) as progress:
            limits = RunLimits(
                folder,
                report=lambda key, *far: show_inside(progress, first, *far),
                began=lambda key: running.began(key, first.kind.name),
                prepare=lambda: self.common.open(create=True),
            )
            finished = attempt(first, limits.of(first.key))
            progress.advance(first.kind.name, first.cost, first.key)
        interruption.end()
        if finished.error:
            raise failure(finished)
        return Begun((finished,))

    def _print(
        self, cells: Sequence[Cell], results: Mapping[str, Sequence[Any]], console: Console
    ) -> None:
        from attnlab.lab.cell import config_values
        from attnlab.lab.network_names import weights_of
        from attnlab.report.terminal import print_rows, shown

        given = [config_values(cell.config) for cell in cells]
        rows = [
            (settings, config_values(row))
            for cell, settings in zip(cells, given, strict=True)
            for row in results[cell.key]
        ]
        if not rows:
            return
        if len(rows) == 1:
            ((settings, row),) = rows
            print_rows(["quantity", "value"], list({**settings, **row}.items()), console)
        else:
            swept = [n for n in given[0] if any(each[n] != given[0][n] for each in given)]
            same = ", ".join(f"{n} = {v}" for n, v in given[0].items() if n not in swept)
            if same:
                console.print(shown(same, "dim"), soft_wrap=not console.is_terminal)
            columns = [*swept, *rows[0][1]]
            table = [[*(settings[n] for n in swept), *row.values()] for settings, row in rows]
            print_rows(columns, table, console)
        store = self.common.open(create=False)
        for cell in cells:
            path = weights_of(store, cell.kind.name, cell.key)
            if path is not None:
                line = f"Weights: {path} (attnlab read {cell.key[:SHORT_KEY]})"
                console.print(shown(line), soft_wrap=True)


def parse(arguments: list[str]) -> Any:
    """The command from its arguments; those of a kind are parsed by its configuration."""
    if not arguments or arguments[0].startswith("-"):
        return parse_as(Run, arguments, "attnlab run")
    name, *rest = arguments
    study, kind = find_kind(name, _studies_dir(rest))
    options = dataclasses.make_dataclass(
        "Options",
        [
            ("config", Annotated[kind.config, arg(name="")]),
            ("common", Annotated[Common, arg(name="")]),
        ],
    )
    parsed = [
        parse_as(options, each, f"attnlab run {name}", kind.config.__doc__)
        for each in swept(rest, kind)
    ]
    return RunCells(study, kind, [each.config for each in parsed], parsed[0].common)


def swept(arguments: Sequence[str], kind: CellKind) -> list[list[str]]:
    """The arguments once for each combination of the lists in them, as in --n 100,200,400.

    A field that is a free text may hold commas of its own: it is no list.
    """
    from attnlab.lab.cell import column_types

    hints = typing.get_type_hints(kind.config)
    free = {n for n, (scalar, _) in column_types(kind.config).items() if scalar is str}
    free -= {n for n in free if typing.get_origin(hints[n]) is typing.Literal}
    listed = {f"--{n.replace('_', '-')}" for n in hints if n not in free}
    choices: list[list[str]] = []
    before = ""
    for word in arguments:
        name, equals, given = word.partition("=")
        flag = name.replace("_", "-")
        if equals and flag in listed:
            choices.append([f"{name}={each}" for each in given.split(",")])
        elif before in listed and "," in word:
            choices.append(word.split(","))
        else:
            choices.append([word])
        before = "" if equals else flag
    total = math.prod(len(each) for each in choices)
    if total > MOST:
        raise UserError(f"The lists make {total} cells; a command runs at most {MOST}.")
    return [list(each) for each in itertools.product(*choices)]


def _studies_dir(arguments: Sequence[str]) -> Path | None:
    """The folder of the user's studies, which decides what kinds there are to be parsed."""
    for name in ("--studies-dir", "--studies_dir"):
        for index, word in enumerate(arguments):
            if word == name and index + 1 < len(arguments):
                return Path(arguments[index + 1])
            if word.startswith(f"{name}="):
                return Path(word.partition("=")[2])
    return Common().studies_dir


def find_kind(name: str, extra: Path | None) -> tuple[Study, CellKind]:
    """The kind of cell of this name, and its study."""
    from attnlab.lab.catalog import load_study, study_names

    known = []
    # A kind is usually named after its study: the others need not be imported then.
    names = sorted(study_names(extra), key=lambda each: not name.startswith(f"{each}_"))
    for study in (load_study(each, extra) for each in names):
        for kind in study.kinds:
            if kind.name == name:
                return study, kind
            known.append(kind.name)
    raise UserError(nearest("kind of cell", name, known))
