"""Two ledgers of one study: at two scales or seeds a verdict may become decided, and never turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attnlab.lab.ledger import NOT_COMPUTED, Entry, Ledger


@dataclass(frozen=True)
class Pair:
    """One claim in two ledgers."""

    first: Entry
    second: Entry

    @property
    def comparable(self) -> bool:
        """Whether both ledgers had the results that the claim is judged on."""
        return NOT_COMPUTED not in (self.first.measured, self.second.measured)

    @property
    def turned(self) -> bool:
        """Whether both decide it, and not alike."""
        return self.first.decided and self.second.decided and self.reworded

    @property
    def reworded(self) -> bool:
        """Whether the verdicts differ in any way."""
        return self.first.verdict != self.second.verdict

    @property
    def moved(self) -> bool:
        """Whether what was measured, or what it was compared with, differs."""
        return (self.first.measured, self.first.reference) != (
            self.second.measured,
            self.second.reference,
        )

    def __str__(self) -> str:
        return (
            f"{self.first.id} of {self.first.study}: {self.first.verdict} at {self.first.scale}, "
            f"{self.second.verdict} at {self.second.scale}"
        )


def pairs(first: Ledger, second: Ledger) -> list[Pair]:
    """The claims that are in both ledgers."""
    others = {(entry.study, entry.id): entry for entry in second}
    found = ((entry, others.get((entry.study, entry.id))) for entry in first)
    return [Pair(entry, other) for entry, other in found if other is not None]


def flips(first: Ledger, second: Ledger) -> Sequence[Pair]:
    """The claims that both ledgers decide, and not alike."""
    return [pair for pair in pairs(first, second) if pair.turned]
