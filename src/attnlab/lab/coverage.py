"""A paper from front to back with its verdicts, and how much of it is judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from attnlab.lab.ledger import Entry, Ledger
from attnlab.lab.statement import Statement
from attnlab.lab.study import Study


@dataclass(frozen=True)
class JudgedStatement:
    """A statement with the lines of the ledger that judge it."""

    study: str
    statement: Statement
    entries: Sequence[Entry]
    beside: Sequence[Entry]

    @property
    def asserts(self) -> bool:
        """Whether it can be true or false."""
        return not self.statement.reason

    @property
    def covered(self) -> bool:
        """Whether it is decided, here or by a shipped run.

        It is if all of its claims are, or if one of them fails: what is left cannot make it true.
        """
        return bool(self._deciding([entry.best for entry in self.entries]))

    @property
    def by_shipped(self) -> bool:
        """Whether that takes a shipped run."""
        return self.covered and not self._deciding(self.entries)

    @property
    def as_stated(self) -> bool:
        """Whether it was judged exactly or at the paper's setting."""
        deciding = self._deciding([entry.best for entry in self.entries])
        return bool(deciding) and {e.grade for e in deciding} <= {"exact", "paper's setting"}

    def _deciding(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """The lines that decide it: all of them, or else those that fail, or none."""
        if all(entry.decided for entry in entries):
            return entries
        return [entry for entry in entries if entry.verdict == "fails"]

    def as_dict(self) -> dict[str, Any]:
        """The statement as `attnlab statements --json` prints it."""
        given = self.statement
        return {
            "id": given.id,
            "study": self.study,
            "where": given.where,
            "kind": given.kind,
            "statement": given.statement,
            "claims": list(given.claims),
            "beside": list(given.beside),
            "verdicts": {e.id: e.verdict for e in (*self.entries, *self.beside)},
            "shipped": {
                e.id: e.shipped.entry.verdict for e in (*self.entries, *self.beside) if e.shipped
            },
            "reason": given.reason,
        }


@dataclass(frozen=True)
class Coverage:
    """How much of a paper is judged."""

    statements: int
    assertions: int  # statements that can be true or false
    judged: int  # assertions whose claims are all decided, or of which one fails
    as_stated: int  # of these, exactly or at the paper's setting
    by_shipped: int = 0  # of the judged, those that some shipped run was needed for

    @classmethod
    def of(cls, judged: Sequence[JudgedStatement]) -> Coverage:
        """Count."""
        asserted = [each for each in judged if each.asserts]
        return cls(
            len(judged),
            len(asserted),
            sum(each.covered for each in asserted),
            sum(each.as_stated for each in asserted),
            sum(each.by_shipped for each in asserted),
        )

    def __str__(self) -> str:
        shipped = f" ({self.by_shipped} by a shipped run)" if self.by_shipped else ""
        return (
            f"{self.statements} statements, {self.assertions} of them can be true or false; "
            f"{self.judged} judged{shipped}, {self.as_stated} exactly or at the paper's setting, "
            f"{self.assertions - self.judged} open"
        )


def judged_statements(study: Study, ledger: Ledger) -> list[JudgedStatement]:
    """Every statement of a study with its lines of the ledger, in the paper's order."""
    entries = {entry.id: entry for entry in ledger}
    return [
        JudgedStatement(
            study.name,
            each,
            [entries[name] for name in each.claims],
            [entries[name] for name in each.beside],
        )
        for each in study.statements
    ]
