"""The ledger and query results as tables in the terminal, readable at 80 columns and in a pipe."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from attnlab.lab.ledger import Entry
from attnlab.lab.progress import duration
from attnlab.report import text
from attnlab.report.verdicts import LONGEST, counts, mark_of

if TYPE_CHECKING:
    from attnlab.lab.presentation import TextTable
    from attnlab.lab.reader import Reading
    from attnlab.lab.runner import Summary

LINES = 3  # of a statement at most
LEAST = 28  # characters of a statement's column
GAP = 2
UNBOUNDED = 1_000_000
WIDE = 136  # columns from which the widest tables of a reading fit


def shown(words: str, style: str = "") -> Text:
    """Words as they are: brackets are no markup, control characters are written out."""
    return Text(text.printable(words), style)


def print_ledger(entries: Iterable[Entry], console: Console) -> None:
    """One table per study, then one line that counts the verdicts.

    Where five columns would leave the statements too little room, a claim becomes a record
    of a few lines instead.
    """
    entries = list(entries)
    studies: dict[str, list[Entry]] = {}
    for entry in entries:
        studies.setdefault(entry.study, []).append(entry)
    widths = _widths(entries, console.width)
    for study, group in studies.items():
        console.print(shown(study, "bold"))
        console.print(_table(group, widths) if _fits(widths) else _records(group, console.width))
    if not entries:
        console.print("No claims.")
        return
    undecided = [entry for entry in entries if entry.verdict == "undecided at this scale"]
    if undecided and undecided[0].note:
        console.print(shown(f"{undecided[0].id} is undecided: {undecided[0].note}"))
    line = shown(f"{text.counted(len(entries), 'claim')}: ")
    for index, (mark, number) in enumerate(counts(entries)):
        line.append(", " if index else "")
        line.append(f"{number} {mark.sign} {mark.verdict}", mark.style)
    smaller = sum(entry.smaller for entry in entries)
    if smaller:
        line.append(f"; {smaller} of them decided at a smaller setting than the paper's")
    console.print(line, soft_wrap=True)


def print_summary(summary: Summary, console: Console) -> None:
    """The cells that failed, then one line on what became of a plan."""
    for cell, error in summary.failed:
        line = shown("failed ", "red").append_text(shown(f"{cell}: {error}", "default"))
        console.print(line, soft_wrap=True)
    plan = summary.plan
    line = (
        f"{plan.study.name} ({plan.scale}): {text.counted(summary.total, 'cell')}, "
        f"{summary.from_store} from the store, {summary.computed} computed in "
        f"{duration(summary.seconds)}"
    )
    console.print(shown(line), soft_wrap=True)
    if summary.stopped or summary.not_begun:
        under_way = f"{text.counted(len(summary.stopped), 'cell')} under way"
        line = f"Stopped: {under_way}, {summary.not_begun} not begun; run it again to go on."
        console.print(shown(line, "yellow"), soft_wrap=True)


def print_rows(columns: Sequence[str], rows: Iterable[Sequence[Any]], console: Console) -> None:
    """Query results: numbers to the right, missing values blank, nothing cut off."""
    rows = [list(row) for row in rows]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, GAP - 1, 0, 0))
    for index, name in enumerate(columns):
        known = [row[index] for row in rows if row[index] is not None]
        numbers = bool(known) and all(
            isinstance(v, int | float) and not isinstance(v, bool) for v in known
        )
        table.add_column(shown(str(name)), justify="right" if numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(shown(text.value(v, 6)) for v in row))
    if console.is_terminal:
        console.print(table)
    else:
        print_whole(table, console)
    console.print(shown(text.counted(len(rows), "row")))


def print_reading(reading: Reading, path: str, console: Console) -> None:
    """The sentences of a reading, then its tables: as many columns as the terminal has room for."""
    console.print(shown(path, "bold"), soft_wrap=True)
    for sentence in reading.sentences:
        print_sentence(sentence, console)
    for table in reading.tables(console.width >= WIDE or not console.is_terminal):
        print_text_table(table, console)


def print_sentence(sentence: str, console: Console) -> None:
    """A sentence broken at a terminal's width; in a pipe it is one line."""
    console.print(shown(sentence), soft_wrap=not console.is_terminal)


def print_text_table(given: TextTable, console: Console) -> None:
    """A reading's table under its title; texts to the left, numbers to the right."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, GAP - 1, 0, 0), show_edge=False)
    for index, name in enumerate(given.columns):
        words = bool(given.rows) and not any(row[index][:1].isdigit() for row in given.rows)
        side = "left" if words and index == 0 else "right"
        table.add_column(shown(name), justify=side, overflow="fold")
    for index, row in enumerate(given.rows):
        style = "" if not given.own else "bold" if index < given.own else "dim"
        table.add_row(*(shown(item) for item in row), style=style)
    console.print(shown(f"\n{given.title}", "bold"))
    if console.is_terminal:
        console.print(table)
    else:
        print_whole(table, console)
    if given.note:
        console.print(shown(given.note, "dim"), soft_wrap=not console.is_terminal)


def shortened(statement: str, width: int, lines: int = LINES) -> str:
    """The first words that fit, with an ellipsis for the rest."""
    return " ".join(textwrap.wrap(statement, width, max_lines=lines, placeholder=" …"))


def print_whole(table: Table, console: Console) -> None:
    """Print as wide as the table is: a pipe or a file has no width to fit."""
    before = console.width
    console.width = UNBOUNDED
    needed = Measurement.get(console, console.options, table).maximum
    console.width = max(before, needed)
    console.print(table)
    console.width = before


def _widths(entries: Sequence[Entry], available: int) -> dict[str, int]:
    """Ids and verdicts whole; numbers get what they need up to a share; statements the rest."""
    longest = {
        "id": max((len(e.id) for e in entries), default=2),
        "verdict": LONGEST,
        "measured": max([8, *(len(text.value(e.measured)) for e in entries)]),
        "reference": max([9, *(len(text.value(e.reference)) for e in entries)]),
    }
    rest = available - longest["id"] - longest["verdict"] - 4 * GAP
    share = max(9, rest // 4)
    widths = {**longest, **{n: min(longest[n], share) for n in ("measured", "reference")}}
    widths["statement"] = rest - widths["measured"] - widths["reference"]
    return widths


def _fits(widths: dict[str, int]) -> bool:
    return widths["statement"] >= LEAST


def _records(entries: Sequence[Entry], available: int) -> Table:
    grid = Table.grid(padding=(0, GAP, 0, 0))
    verdict = LONGEST
    grid.add_column(no_wrap=True, min_width=verdict)
    grid.add_column(overflow="fold")
    for entry in entries:
        mark = mark_of(entry)
        record = shown(entry.id, "bold")
        if entry.ours:
            record.append(" (ours)", "not bold dim")
        record.append(f"\n{shortened(entry.statement, available - verdict - GAP, 2)}", "not bold")
        for name, found in (("measured", entry.measured), ("reference", entry.reference)):
            if found != "":
                record.append(f"\n{name} ", "not bold dim")
                record.append(text.value(found), "not bold")
        if entry.smaller:
            record.append("\nsetting ", "not bold dim")
            record.append(entry.differs, "not bold")
        grid.add_row(shown(f"{mark.sign} {mark.short}", mark.style), record)
    return grid


def _stated(entry: Entry) -> str:
    """The statement, with whose it is and where it was decided if that is not the paper."""
    setting = f" (decided at {entry.differs})" if entry.smaller else ""
    return f"{'Ours: ' if entry.ours else ''}{entry.statement}{setting}"


def _table(entries: Sequence[Entry], widths: dict[str, int]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, GAP - 1, 0, 0), show_edge=False)
    table.add_column("id", no_wrap=True, min_width=widths["id"])
    table.add_column("statement", width=widths["statement"])
    table.add_column("verdict", no_wrap=True, min_width=widths["verdict"])
    table.add_column("measured", width=widths["measured"], overflow="fold")
    table.add_column("reference", width=widths["reference"], overflow="fold")
    for entry in entries:
        mark = mark_of(entry)
        table.add_row(
            shown(entry.id),
            shown(shortened(_stated(entry), widths["statement"])),
            shown(f"{mark.sign} {mark.short}", mark.style),
            shown(text.value(entry.measured)),
            shown(text.value(entry.reference)),
        )
    return table
