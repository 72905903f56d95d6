"""Tables and sentences in the terminal, readable at 80 columns and in a pipe."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from attnlab.lab.progress import duration
from attnlab.report import text

if TYPE_CHECKING:
    from attnlab.lab.presentation import TextTable
    from attnlab.lab.reader import Reading
    from attnlab.lab.runner import Summary

GAP = 2
UNBOUNDED = 1_000_000
WIDE = 136  # columns from which the widest tables of a reading fit


def shown(words: str, style: str = "") -> Text:
    """Words as they are: brackets are no markup, control characters are written out."""
    return Text(text.printable(words), style)


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
    if summary.left_out:
        left = f"{text.counted(summary.left_out, 'cell')} left out by --cells."
        console.print(shown(left), soft_wrap=True)
    for cell, reason in summary.stopped:
        console.print(shown(f"{cell.kind.name}: {reason}", "yellow"), soft_wrap=True)
    if summary.stopped or summary.not_begun:
        under_way = f"{text.counted(len(summary.stopped), 'cell')} under way"
        line = f"Stopped: {under_way}, {summary.not_begun} not begun; run it again to go on."
        console.print(shown(line, "yellow"), soft_wrap=True)


def print_rows(columns: Sequence[str], rows: Iterable[Sequence[Any]], console: Console) -> None:
    """Query results: numbers to the right, missing values blank, nothing cut off.

    On a terminal that is too narrow, the columns follow each other in several tables.
    """
    rows = [list(row) for row in rows]
    cells = [[text.value(v, 6) for v in row] for row in rows]
    widths = [
        max(map(len, (str(name), *(row[index] for row in cells))))
        for index, name in enumerate(columns)
    ]
    room = console.width if console.is_terminal else UNBOUNDED
    for places in fitting(widths, room):
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, GAP - 1, 0, 0))
        for index in places:
            known = [row[index] for row in rows if row[index] is not None]
            numbers = bool(known) and all(
                isinstance(v, int | float) and not isinstance(v, bool) for v in known
            )
            side = "right" if numbers else "left"
            table.add_column(shown(str(columns[index])), justify=side, overflow="fold")
        for row in cells:
            table.add_row(*(shown(row[index]) for index in places))
        if console.is_terminal:
            console.print(table)
        else:
            print_whole(table, console)
    console.print(shown(text.counted(len(rows), "row")))


def fitting(widths: Sequence[int], room: int) -> list[list[int]]:
    """The columns in groups that fit beside each other; a wider one is alone."""
    groups: list[list[int]] = [[]]
    taken = 0
    for index, width in enumerate(widths):
        if groups[-1] and taken + width + GAP > room:
            groups.append([])
            taken = 0
        groups[-1].append(index)
        taken += width + GAP
    return groups


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


def print_whole(table: Table, console: Console) -> None:
    """Print as wide as the table is: a pipe or a file has no width to fit."""
    before = console.width
    console.width = UNBOUNDED
    needed = Measurement.get(console, console.options, table).maximum
    console.width = max(before, needed)
    console.print(table)
    console.width = before
