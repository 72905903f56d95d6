"""What a run found, on one screen: counts, failures, corrections and what is still open.

The digest has at most `LINES` lines. In a terminal a line is cut at its width; in a pipe it is
whole. `attnlab claims` prints what is left out here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from attnlab.lab.ledger import Entry, Judged
from attnlab.report.deciding import by_command
from attnlab.report.terminal import shown
from attnlab.report.terminal_ledger import count_line
from attnlab.report.verdicts import MARKS

LINES = 40
UNBOUNDED = 1_000_000
LEAD = "    "


@dataclass(frozen=True)
class Digest:
    """The lines of a digest, and how wide each may be."""

    judged: Sequence[Judged]
    width: int = UNBOUNDED

    def lines(self, most: int) -> list[Text]:
        """At most `most` lines; failures that have no room are named in one."""
        around = [*self._corrected(), *self._undecided(), *self._broken()]
        counted = [self._cut(count_line(list(j.ledger), f"{_name(j)}: ")) for j in self.judged]
        room = most - len(counted) - len(around)
        return [*counted, *self._failed(room), *around]

    @property
    def _entries(self) -> list[Entry]:
        return [entry for each in self.judged for entry in each.ledger]

    def _failed(self, room: int) -> list[Text]:
        failed = [entry for entry in self._entries if entry.verdict == "fails"]
        if not failed:
            return []
        shown_whole = failed if 2 * len(failed) < room else failed[: max(0, (room - 2) // 2)]
        mark = MARKS["fails"]
        lines = [shown(f"{mark.sign} fails ({len(failed)}): the statement, and what was found")]
        for entry in shown_whole:
            title = f"  {entry.id} ({entry.study}): "
            lines.append(self._cut(Text.assemble((title, mark.style), shown(entry.statement))))
            lines.append(self._cut(shown(f"{LEAD}{what_is_wrong(entry)}", "dim")))
        rest = failed[len(shown_whole) :]
        if rest:
            lines.append(self._listed("  and ", [entry.id for entry in rest]))
        return lines

    def _corrected(self) -> list[Text]:
        lines = []
        for each in self.judged:
            names = [e.id for e in each.ledger if e.verdict == "holds as corrected"]
            if names:
                lines.append(self._listed(f"  {each.plan.study.name}: ", names))
        title = f"{MARKS['holds as corrected'].sign} hold as corrected"
        return [shown(title), *lines] if lines else []

    def _undecided(self) -> list[Text]:
        seed = self.judged[0].plan.seed if self.judged else 0
        undecided = [e for e in self._entries if not e.decided and not e.broken]
        groups = by_command((e for e in undecided if not _found_elsewhere(e)), seed)
        sign, lines = MARKS["undecided at this scale"].sign, self._elsewhere(undecided)
        if groups:
            lines.append(shown(f"{sign} undecided, and what decides them"))
        for command, entries in groups.items():
            names = [entry.id for entry in entries]
            lines.append(self._listed(f"  {command or 'open at every scale'}: ", names))
        return lines

    def _elsewhere(self, undecided: Sequence[Entry]) -> list[Text]:
        """What shipped runs found of claims that are undecided here, a line per verdict."""
        groups: dict[str, list[str]] = {}
        for entry in undecided:
            if found := _found_elsewhere(entry):
                groups.setdefault(f"  {found}: ", []).append(entry.id)
        sign = MARKS["undecided at this scale"].sign
        title = shown(f"{sign} undecided here, decided by a shipped run")
        lines = [self._listed(lead, names) for lead, names in groups.items()]
        return [title, *lines] if lines else []

    def _broken(self) -> list[Text]:
        names = [entry.id for entry in self._entries if entry.broken]
        return [self._listed("not judged, the check stopped: ", names)] if names else []

    def _listed(self, lead: str, names: Sequence[str]) -> Text:
        """Names in one line; those that have no room are counted."""
        for kept in range(len(names), 0, -1):
            more = f" and {len(names) - kept} more" if kept < len(names) else ""
            line = f"{lead}{', '.join(names[:kept])}{more}"
            if len(line) <= self.width:
                return shown(line)
        return self._cut(shown(f"{lead}{len(names)} claims"))

    def _cut(self, line: Text) -> Text:
        if len(line) <= self.width:
            return line
        end = line.plain.rfind(" ", 0, self.width - 1)
        return line[:end].append(" …")


def print_digest(judged: Sequence[Judged], console: Console, most: int = LINES) -> None:
    """Print the digest of a run."""
    width = console.width if console.is_terminal else UNBOUNDED
    for line in Digest(judged, width).lines(most):
        console.print(line, soft_wrap=True)


def what_is_wrong(entry: Entry) -> str:
    """The first sentences of a claim's note, or else its numbers."""
    note = " ".join(entry.note.split())
    if note:
        return note
    measured = f"measured {entry.measured}"
    return f"{measured}, reference {entry.reference}" if entry.reference != "" else measured


def _found_elsewhere(entry: Entry) -> str:
    """What a shipped run found of a claim that is undecided here; nothing where it did not."""
    if entry.shipped is None or not entry.shipped.entry.decided:
        return ""
    verdict = entry.shipped.entry.verdict
    return f"{MARKS[verdict].sign} {verdict}"


def _name(judged: Judged) -> str:
    return f"{judged.plan.study.name} ({judged.plan.scale})"
