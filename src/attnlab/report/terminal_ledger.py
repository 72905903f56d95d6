"""The ledger in the terminal: one record per claim, the same at every width, nothing cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from attnlab.lab.ledger import Entry
from attnlab.report import text
from attnlab.report.deciding import command_for
from attnlab.report.terminal import GAP, shown
from attnlab.report.verdicts import LONGEST, counts, mark_of

VERDICT = LONGEST + 2  # characters; brackets mark a smaller setting


def print_ledger(
    entries: Iterable[Entry], console: Console, verbose: bool = False, seed: int = 0
) -> None:
    """Every claim under the name of its study, then one line that counts the verdicts.

    Parameters
    ----------
    entries
        The claims.
    console
        Where to print; in a pipe a sentence is one line.
    verbose
        Whether the source, tolerance, evidence and note of every claim are printed as well;
        otherwise only a claim that does not simply hold has its note.
    seed
        The seed of the run, which is part of the command that decides a claim.
    """
    entries = list(entries)
    _print_records([(entry, _facts(entry, verbose, seed)) for entry in entries], console)
    if entries:
        shipped = [entry.shipped.entry for entry in entries if entry.shipped]
        console.print(count_line(entries, "here: " if shipped else ""), soft_wrap=True)
        if shipped:
            console.print(count_line(shipped, "shipped: "), soft_wrap=True)


def print_shipped_ledger(
    entries: Iterable[Entry], console: Console, verbose: bool, where: str
) -> None:
    """The ledger of the runs that ship with attnlab, for who has no run of their own.

    `where` says what was looked for and not found.
    """
    line = f"{where}: this is the shipped ledger. 'attnlab reproduce' makes one of your own."
    console.print(shown(line), soft_wrap=True)
    records = []
    for entry in entries:
        found = entry.shipped.entry if entry.shipped else entry
        needless = "none is needed" if found.decided else "none has the results for this claim"
        run = entry.shipped.run if entry.shipped else needless
        records.append((found, [*_facts(found, verbose, 0), ("shipped run", run)]))
    _print_records(records, console)
    if records:
        console.print(count_line([found for found, _ in records], "shipped: "), soft_wrap=True)


def _print_records(
    records: Sequence[tuple[Entry, list[tuple[str, str]]]], console: Console
) -> None:
    """Claims and the facts under them, under the names of their studies."""
    study = ""
    for entry, facts in records:
        if entry.study != study:
            study = entry.study
            console.print(shown(study, "bold"))
        _print_record(entry, facts, console)
    if not records:
        console.print("No claims.")


def count_line(entries: Sequence[Entry], lead: str = "") -> Text:
    """One line that counts the verdicts."""
    line = shown(f"{lead}{text.counted(len(entries), 'claim')}: ")
    for index, (mark, number) in enumerate(counts(entries)):
        line.append(", " if index else "")
        line.append(f"{number} {mark.sign} {mark.verdict}", mark.style)
    smaller = sum(entry.smaller for entry in entries)
    if smaller:
        line.append(f"; {smaller} of them decided at a smaller setting than the paper's")
    return line


def _print_record(entry: Entry, facts: list[tuple[str, str]], console: Console) -> None:
    mark = mark_of(entry)
    verdict = shown(f"{mark.sign} {mark.short}", mark.style)
    title = shown(entry.id, "bold")
    if entry.ours:
        title.append(" (ours)", "not bold dim")
    lines = [title, shown(entry.statement)]
    for name, words in facts:
        lines.append(shown(f"{name} ", "dim").append_text(shown(words, "not dim")))
    if not console.is_terminal:
        indent = " " * (VERDICT + GAP)
        first = Text.assemble(verdict, " " * (VERDICT + GAP - len(verdict)), lines[0])
        console.print(first, soft_wrap=True)
        for line in lines[1:]:
            console.print(Text.assemble(indent, line), soft_wrap=True)
        return
    grid = Table.grid(padding=(0, GAP, 0, 0))
    grid.add_column(no_wrap=True, min_width=VERDICT)
    grid.add_column(overflow="fold")
    grid.add_row(verdict, Text("\n").join(lines))
    console.print(grid)


def _facts(entry: Entry, verbose: bool, seed: int) -> list[tuple[str, str]]:
    """What stands under a claim: name and words."""
    found = [
        ("measured", text.value(entry.measured)),
        ("reference", text.value(entry.reference)),
        ("setting", entry.differs if entry.smaller else ""),
    ]
    if verbose:
        found += [
            ("source", entry.source),
            ("tolerance", entry.tolerance),
            ("evidence", entry.grade or ""),
            ("would have noticed", str(entry.resolution or "")),
        ]
    if verbose or entry.verdict != "holds":
        found += [("note", " ".join(entry.note.split())), ("decided by", command_for(entry, seed))]
    if entry.shipped:
        found.append(("shipped", shipped_words(entry)))
    return [(name, words) for name, words in found if words]


def shipped_words(entry: Entry) -> str:
    """What a shipped run found of a claim, in one line; numbers only where they are others."""
    if entry.shipped is None:
        return ""
    found = entry.shipped.entry
    mark, measured = mark_of(found), text.value(found.measured)
    numbers = "" if measured == text.value(entry.measured) else f": {measured}"
    return f"{mark.sign} {mark.verdict} ({entry.shipped.run}){numbers}"
