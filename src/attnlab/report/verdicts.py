"""How a verdict is written: a sign, a short word and a style, so that colour never speaks alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from attnlab.lab.ledger import Entry, Ledger
from attnlab.lab.study import VERDICTS, Verdict


@dataclass(frozen=True)
class Mark:
    """`name` is the CSS class and the value that the page's filter knows."""

    verdict: Verdict
    name: str
    sign: str
    short: str
    plural: str  # after a number
    style: str  # of the terminal
    order: int


def _marks() -> dict[Verdict, Mark]:
    looks: dict[Verdict, tuple[str, str, str, str, str]] = {
        "holds": ("holds", "✓", "holds", "hold", "green"),
        "holds as corrected": ("corrected", "✓*", "corrected", "corrected", "cyan"),
        "fails": ("fails", "✗", "fails", "fail", "bold red"),
        "undecided at this scale": ("undecided", "?", "undecided", "undecided", "yellow"),
    }
    return {v: Mark(v, *looks[v], order) for order, v in enumerate(VERDICTS)}


MARKS = _marks()


def plain_mark(entry: Entry) -> Mark:
    """The mark of a verdict, whatever the setting."""
    return MARKS[entry.verdict]


def mark_of(entry: Entry) -> Mark:
    """The mark of a line of the ledger: in brackets where the setting was smaller."""
    mark = MARKS[entry.verdict]
    if not entry.smaller:
        return mark
    return replace(mark, sign=f"({mark.sign})", name=f"{mark.name} smaller")


LONGEST = max(len(f"{mark.sign} {mark.short}") for mark in MARKS.values())


def counts(entries: Iterable[Entry]) -> list[tuple[Mark, int]]:
    """How many entries have each verdict."""
    return [(MARKS[verdict], number) for verdict, number in Ledger(entries).counts.items()]
