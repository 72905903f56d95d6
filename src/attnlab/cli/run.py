"""`attnlab run KIND`: one cell with a configuration of the user's own.

The options of `attnlab run KIND` are the fields of the kind's configuration, so the kind is found
before the rest is parsed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from attnlab.cli.options import Common
from attnlab.cli.parsing import nearest, parse_as
from attnlab.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from attnlab.lab.cell import CellKind
    from attnlab.lab.study import Study


@dataclass(frozen=True)
class Run(Common):
    """Run one cell with a configuration of your own and print its row.

    Without KIND, list the kinds; with KIND --help, list its parameters. The result is kept in the
    store like any other.

    For example:
      attnlab run
      attnlab run separation_attention --n 400 --d 22 --m 30 --x ones
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
class RunOne:
    """One cell to compute."""

    study: Study
    kind: CellKind
    config: Any
    common: Common

    def run(self, console: Console) -> int:
        """Compute the cell, keep it and print its row."""
        from attnlab.lab.cell import config_values
        from attnlab.lab.engine import Done, InProcess
        from attnlab.lab.runner import failure, run_plans
        from attnlab.lab.study import Plan, check_seed
        from attnlab.lab.task import attempt
        from attnlab.report.terminal import print_rows

        check_seed(getattr(self.config, "seed", 0))
        cell = self.kind(self.config)
        engine = InProcess()
        if not self.common.store.exists():
            # Computed first: a refused configuration leaves no store behind.
            finished = attempt(cell)
            if finished.error:
                raise failure(finished)
            engine = Done((finished,))
        plan = Plan(self.study, "quick", 0, {cell.key: cell})
        (summary,) = run_plans([plan], self.common.open(create=True), engine, console)
        for _, error in summary.failed:
            raise error
        rows = summary.results[cell.key]
        values = {**config_values(cell.config), **config_values(rows[0])} if rows else {}
        print_rows(["quantity", "value"], list(values.items()), console)
        return 0


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
    parsed = parse_as(options, rest, f"attnlab run {name}", kind.config.__doc__)
    return RunOne(study, kind, parsed.config, parsed.common)


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
