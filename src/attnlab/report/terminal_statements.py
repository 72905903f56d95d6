"""The statements of a paper in the terminal, in the paper's order."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from attnlab.lab.coverage import JudgedStatement
from attnlab.lab.ledger import Entry
from attnlab.report.terminal import GAP, shown
from attnlab.report.verdicts import LONGEST, mark_of


def print_statements(study: str, judged: Sequence[JudgedStatement], console: Console) -> None:
    """One record per statement: where it stands, what it says, and the claims about it."""
    console.print(shown(study, "bold"))
    if not judged:
        console.print("This study lists no statements.")
    grid = Table.grid(padding=(0, GAP, 0, 0))
    grid.add_column(no_wrap=True, min_width=LONGEST)
    grid.add_column(overflow="fold")
    for each in judged:
        given = each.statement
        record = shown(given.id, "bold")
        record.append(f"  {given.kind}, {given.where}", "not bold dim")
        record.append(f"\n{given.statement}", "not bold")
        grid.add_row(shown("" if each.asserts else "· no verdict", "dim"), record)
        if given.reason:
            grid.add_row("", shown(given.reason, "dim"))
        for entry in (*each.entries, *each.beside):
            mark = mark_of(entry)
            grid.add_row(shown(f"{mark.sign} {mark.short}", mark.style), _line(entry))
    console.print(grid)


def _line(entry: Entry):
    line = shown(entry.id)
    if entry.ours:
        line.append(" (ours)", "dim")
    if entry.smaller:
        line.append(f" at {entry.differs}", "dim")
    elif entry.grade:
        line.append(f" {entry.grade}", "dim")
    if not entry.decided and entry.best is not entry and entry.shipped:
        mark = mark_of(entry.best)
        line.append(f"; shipped: {mark.sign} {mark.verdict} ({entry.shipped.run})", "dim")
    return line
