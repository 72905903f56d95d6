"""`attnlab explain`: everything that is known about one claim."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from attnlab.cli.options import OfScale
from attnlab.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from attnlab.lab.ledger import Entry
    from attnlab.lab.study import Claim, Study


@dataclass(frozen=True, kw_only=True)
class Explain(OfScale):
    """Print everything about one claim: what it says, what was found, and where it is checked.

    For example:
      attnlab explain theorem-6.2
      attnlab explain figure-4b --scale paper
      attnlab explain rank/equation-10
    """

    id: Annotated[Positional[str], arg(metavar="ID")]
    """The id of a claim, or as much of its beginning as no other claim shares; STUDY/ID where two
    studies have claims of the same id."""

    def run(self, console: Console) -> int:
        """Judge the claim and print."""
        from attnlab.lab.evidence import with_shipped
        from attnlab.lab.ledger import Ledger, full_id, judge, select
        from attnlab.lab.runner import look_up
        from attnlab.lab.study import View
        from attnlab.report.terminal import print_sentence, shown

        found = select(self.load(()), [self.id])
        if len(found) > 1:
            listed = ", ".join(full_id(*pair) for pair in found)
            raise UserError(f"{self.id!r} fits more than one claim: {listed}; give one of them.")
        ((study, claim),) = found
        (plan,) = self.plans([study])
        seen = View(self.scale, self.seed, {})
        if self.store.exists():
            seen = look_up(plan, self.open(create=False)).view
        (entry,) = with_shipped(study, Ledger([judge(study, claim, seen)]))
        console.print(shown(f"{entry.id} ({study.name})", "bold"))
        for name, words in self._facts(study, claim, entry):
            if words:
                console.print(shown(f"\n{name}", "dim"))
                print_sentence(words, console)
        return 0

    def _facts(self, study: Study, claim: Claim, entry: Entry) -> list[tuple[str, str]]:
        from attnlab.report.deciding import command_of
        from attnlab.report.terminal_ledger import shipped_words
        from attnlab.report.text import value
        from attnlab.report.verdicts import mark_of

        mark = mark_of(entry)
        drawn = {figure.id: figure.title for figure in study.figures}
        figures = [f"{name}: {drawn[name]}" for name in claim.figures if name in drawn]
        whose = ", a claim of ours" if claim.ours else ""
        judged = [
            f"{each.id}, {each.where}: {each.statement}"
            for each in study.statements
            if claim.id in (*each.claims, *each.beside)
        ]
        return [
            ("Statement", entry.statement),
            ("Source", f"{entry.source}{whose}; {study.source}"),
            ("Sentence of the paper", "\n".join(judged)),
            ("Verdict", f"{mark.sign} {entry.verdict} (scale {entry.scale}, seed {self.seed})"),
            ("Measured", value(entry.measured)),
            ("Reference", value(entry.reference)),
            ("Tolerance", entry.tolerance),
            ("Evidence", ": ".join(filter(None, (entry.grade, entry.differs)))),
            ("Would have noticed", str(entry.resolution or "")),
            ("Note", _note(entry)),
            ("Decided by", command_of(entry, self.seed)),
            ("Shipped run", shipped_words(entry)),
            ("Note of the shipped run", _note(entry.shipped.entry) if entry.shipped else ""),
            ("Figures", "\n".join(figures)),
            ("Check", where(claim.check)),
        ]


def _note(entry: Entry) -> str:
    return " ".join(entry.note.split())


def where(function: Any) -> str:
    """File and line of a function, however it was wrapped; the file as seen from here."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    if not hasattr(function, "__code__"):
        function = type(function).__call__
    try:
        file = Path(inspect.getsourcefile(function) or "")
        _, line = inspect.getsourcelines(function)
    except (OSError, TypeError):
        return f"{function.__module__}.{function.__qualname__}"
    here = Path.cwd()
    named = file.relative_to(here) if file.is_relative_to(here) else file
    return f"{named}:{line}"
