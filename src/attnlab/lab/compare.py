"""Two ledgers of one study at two scales: a verdict may become decided, and never turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attnlab.lab.ledger import Entry, Ledger


@dataclass(frozen=True)
class Flip:
    """A claim that two scales decide differently."""

    first: Entry
    second: Entry

    def __str__(self) -> str:
        return (
            f"{self.first.id} of {self.first.study}: {self.first.verdict} at {self.first.scale}, "
            f"{self.second.verdict} at {self.second.scale}"
        )


def flips(first: Ledger, second: Ledger) -> Sequence[Flip]:
    """The claims that both ledgers decide, and not alike."""
    others = {(entry.study, entry.id): entry for entry in second}
    found = []
    for entry in first:
        other = others.get((entry.study, entry.id))
        if other and entry.decided and other.decided and entry.verdict != other.verdict:
            found.append(Flip(entry, other))
    return found
