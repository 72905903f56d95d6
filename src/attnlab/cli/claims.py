"""`attnlab claims`: the ledger, judged on what the store holds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import tyro
from tyro.conf import Positional, arg

from attnlab.cli.options import OfScale
from attnlab.errors import AttnlabError, UserError
from attnlab.lab.study import SCALES, Scale
from attnlab.report.text import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from rich.console import Console

    from attnlab.lab.ledger import Entry
    from attnlab.lab.study import Study


@dataclass(frozen=True)
class Claims(OfScale):
    """Judge the claims on what the store holds and print the ledger.

    Each claim has the verdict of your own run and that of a run which ships with attnlab, with its
    scale, device and date. Without a run of your own the shipped ledger is printed.

    For example:
      attnlab claims
      attnlab claims separation --only theorem-6
      attnlab claims --verdict fails undecided
      attnlab claims --json > ledger.json
      attnlab claims random --compare quick paper
    """

    study: Annotated[Positional[tuple[str, ...]], arg(metavar="[STUDY ...]")] = ()
    """Studies to judge; all of them if none is named."""
    only: Annotated[
        tuple[str, ...] | None, arg(metavar="ID ...", help_behavior_hint="(default: all)")
    ] = None
    """Only the claims with these ids, or whose ids begin so; STUDY/ID means one study's."""
    verdict: Annotated[
        tuple[Literal["holds", "corrected", "fails", "undecided"], ...],
        arg(metavar="VERDICT ...", help_behavior_hint="(default: all)"),
    ] = ()
    """Only the claims with these verdicts: holds, corrected, fails, undecided."""
    verbose: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print source, tolerance, evidence and note of every claim."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print a list of objects instead of records."""
    compare: Annotated[
        tuple[str, ...] | None,
        arg(metavar="SCALE SCALE", help_behavior_hint="(default: judge one scale)"),
    ] = None
    """Judge two scales, stored or shipped, and name the claims that they decide differently (exit
    code 1)."""

    def run(self, console: Console) -> int:
        """Judge and print."""
        from attnlab.lab.evidence import with_shipped
        from attnlab.lab.ledger import Ledger, judge, select
        from attnlab.report.terminal_ledger import print_ledger, print_shipped_ledger
        from attnlab.report.verdicts import MARKS

        if self.only == ():
            raise UserError(
                "--only needs the id of at least one claim; 'attnlab claims' lists them."
            )
        studies = self.load(self.study)
        chosen = {(study.name, claim.id) for study, claim in select(studies, self.only or ())}
        if self.compare is not None:
            return self._compare(studies, chosen, console)
        held = self.look_up(studies)
        own = any(each.from_store for each in held)
        found: list[Entry] = []
        for each in held:
            study, seen = each.plan.study, each.view
            claims = (claim for claim in study.claims if (study.name, claim.id) in chosen)
            found += with_shipped(study, Ledger(judge(study, claim, seen) for claim in claims))

        def wanted(entry: Entry) -> bool:
            shown = entry if own or self.json or not entry.shipped else entry.shipped.entry
            return not self.verdict or MARKS[shown.verdict].short in self.verdict

        entries = Ledger(filter(wanted, found))
        if self.json:
            listed = [entry.as_dict() for entry in entries]
            print(json.dumps(listed, indent=2, ensure_ascii=False, allow_nan=False))
        elif own or not any(entry.shipped for entry in found):
            print_ledger(entries, console, self.verbose, self.seed)
        else:
            where = f"{self.store} has no results at scale {self.scale}, seed {self.seed}"
            print_shipped_ledger(entries, console, self.verbose, where)
        refuse_broken(entries)
        return 0

    def _compare(
        self, studies: list[Study], chosen: Collection[tuple[str, str]], console: Console
    ) -> int:
        from attnlab.lab.compare import flips, run_at
        from attnlab.lab.ledger import Ledger

        first, second = self._two_scales()
        beside = {"--json": self.json, "--verdict": self.verdict, "--verbose": self.verbose}
        if given := [name for name, value in beside.items() if value]:
            raise UserError(f"--compare prints claims that turned; leave out {', '.join(given)}.")
        found, seen = [], 0
        for study in [each for each in studies if each.name in {name for name, _ in chosen}]:
            runs = [run_at(study, scale, self.seed, self.store) for scale in (first, second)]
            ledgers = [Ledger(e for e in r.ledger if (e.study, e.id) in chosen) for r in runs]
            found += flips(*ledgers)
            seen += len(ledgers[0])
            for words in (run.shipped for run in runs if run.shipped):
                console.print(words, soft_wrap=True, highlight=False, markup=False)
        for flip in found:
            console.print(f"✗ {flip}", soft_wrap=True, highlight=False, markup=False)
        console.print(
            f"{counted(seen, 'claim')} at {first} and {second}: {len(found) or 'none'} decided "
            "differently.",
            soft_wrap=True,
            highlight=False,
        )
        return 1 if found else 0

    def _two_scales(self) -> tuple[Scale, Scale]:
        given = self.compare or ()
        known: list[Scale] = [SCALES[SCALES.index(word)] for word in given if word in SCALES]
        if len(given) != 2 or len(known) != 2 or known[0] == known[1]:
            named = repr(" ".join(given)) if given else "none"
            raise UserError(
                f"--compare needs two different scales of {', '.join(SCALES)}, got {named}."
            )
        return known[0], known[1]


def refuse_broken(entries: Iterable[Entry]) -> None:
    """Raise if the check of a claim stopped with an error."""
    broken = [entry.id for entry in entries if entry.broken]
    if broken:
        raise AttnlabError(
            f"The checks of these claims stopped with an error and decided nothing: "
            f"{', '.join(broken)}; 'attnlab claims --json' says why."
        )
