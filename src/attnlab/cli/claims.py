"""`attnlab claims`: the ledger, judged on what the store holds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import tyro
from tyro.conf import Positional, arg

from attnlab.cli.options import OfScale
from attnlab.errors import AttnlabError, UserError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from attnlab.lab.ledger import Entry


@dataclass(frozen=True)
class Claims(OfScale):
    """Judge the claims on what the store holds and print the ledger.

    For example:
      attnlab claims
      attnlab claims separation --only theorem-6.2-zero
      attnlab claims --json > ledger.json
    """

    study: Annotated[Positional[tuple[str, ...]], arg(metavar="[STUDY ...]")] = ()
    """Studies to judge; all of them if none is named."""
    only: Annotated[
        tuple[str, ...] | None, arg(metavar="ID ...", help_behavior_hint="(default: all)")
    ] = None
    """Only the claims with these ids."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print a list of objects instead of a table."""

    def run(self, console: Console) -> int:
        """Judge and print."""
        from attnlab.lab.ledger import Judged, Ledger, select
        from attnlab.lab.runner import look_up
        from attnlab.report.terminal import print_ledger

        if self.only == ():
            raise UserError(
                "--only needs the id of at least one claim; 'attnlab claims' lists them."
            )
        studies = self.load(self.study)
        chosen = {claim.id for _, claim in select(studies, self.only or ())}
        store = self.open(create=False)
        judged = [Judged.of(plan, look_up(plan, store).view) for plan in self.plans(studies)]
        entries = Ledger(e for each in judged for e in each.ledger if e.id in chosen)
        if self.json:
            print(json.dumps([entry.as_dict() for entry in entries], indent=2, ensure_ascii=False))
        else:
            print_ledger(entries, console)
        refuse_broken(entries)
        return 0


def refuse_broken(entries: Iterable[Entry]) -> None:
    """Raise if the check of a claim stopped with an error."""
    broken = [entry.id for entry in entries if entry.broken]
    if broken:
        raise AttnlabError(
            f"The checks of these claims stopped with an error and decided nothing: "
            f"{', '.join(broken)}; 'attnlab claims --json' says why."
        )
