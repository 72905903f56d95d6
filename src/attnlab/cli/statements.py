"""`attnlab statements`: each paper from front to back, with the verdict on every statement."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import tyro
from tyro.conf import Positional, arg

from attnlab.cli.options import OfScale
from attnlab.errors import UserError, did_you_mean

if TYPE_CHECKING:
    from rich.console import Console

    from attnlab.lab.coverage import JudgedStatement


@dataclass(frozen=True)
class Statements(OfScale):
    """Print what a paper says, from front to back, with the verdict on every statement.

    A statement that can be true or false counts as judged once all claims about it are decided or
    one of them fails, in your own run or in one that ships with attnlab.

    For example:
      attnlab statements separation
      attnlab statements --only theorem-6.2
      attnlab statements --json > statements.json
    """

    study: Annotated[Positional[tuple[str, ...]], arg(metavar="[STUDY ...]")] = ()
    """Studies to print; all of them if none is named."""
    only: Annotated[
        tuple[str, ...] | None, arg(metavar="ID ...", help_behavior_hint="(default: all)")
    ] = None
    """Only the statements with these ids, or whose ids begin so; STUDY/ID means one study's."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print a list of objects instead of a table."""

    def run(self, console: Console) -> int:
        """Judge and print."""
        from attnlab.lab.coverage import Coverage, judged_statements
        from attnlab.lab.evidence import judged_beside_shipped
        from attnlab.report.terminal_statements import print_statements

        if self.only == ():
            raise UserError("--only needs the id of at least one statement.")
        found: dict[str, list[JudgedStatement]] = {}
        for held in self.look_up(self.load(self.study)):
            study = held.plan.study
            judged = judged_beside_shipped(held.plan, held.view)
            found[study.name] = judged_statements(study, judged.ledger)
        chosen = _chosen(found, self.only)
        if self.json:
            listed = [each.as_dict() for group in chosen.values() for each in group]
            print(json.dumps(listed, indent=2, ensure_ascii=False))
            return 0
        for name, group in chosen.items():
            print_statements(name, group, console)
        if self.only is None:
            for name, group in found.items():
                console.print(f"{name}: {Coverage.of(group)}", soft_wrap=True, highlight=False)
        return 0


def _chosen(
    found: dict[str, list[JudgedStatement]], only: tuple[str, ...] | None
) -> dict[str, list[JudgedStatement]]:
    if only is None:
        return found
    every = {(study, each.statement.id) for study, group in found.items() for each in group}
    known = {id for _, id in every}
    picked: set[tuple[str, str]] = set()
    for name in only:
        study, _, id = name.rpartition("/")
        own = {pair for pair in every if study in ("", pair[0])}
        fits = {pair for pair in own if pair[1] == id}
        fits = fits or {pair for pair in own if id and pair[1].startswith(id)}
        if not fits:
            raise UserError(
                f"Unknown statement {name!r}; {did_you_mean(id, known, 3)}'attnlab statements' "
                f"lists the {len(known)} of {', '.join(found)}."
            )
        picked |= fits
    chosen = {
        name: [each for each in group if (name, each.statement.id) in picked]
        for name, group in found.items()
    }
    return {name: group for name, group in chosen.items() if group}
