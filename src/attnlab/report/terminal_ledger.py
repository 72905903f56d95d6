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
    studies: dict[str, list[Entry]] = {}
    for entry in entries:
        studies.setdefault(entry.study, []).append(entry)
    for study, group in studies.items():
        console.print(shown(study, "bold"))
        for entry in group:
            _print_record(entry, console, verbose, seed)
    if not entries:
        console.print("No claims.")
        return
    console.print(count_line(entries), soft_wrap=True)


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


def _print_record(entry: Entry, console: Console, verbose: bool, seed: int) -> None:
    mark = mark_of(entry)
    verdict = shown(f"{mark.sign} {mark.short}", mark.style)
    title = shown(entry.id, "bold")
    if entry.ours:
        title.append(" (ours)", "not bold dim")
    lines = [title, shown(entry.statement)]
    for name, words in _facts(entry, verbose, seed):
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
    return [(name, words) for name, words in found if words]
