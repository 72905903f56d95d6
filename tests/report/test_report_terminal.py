"""The ledger and query results in the terminal."""

from __future__ import annotations

import dataclasses
import io

from rich.console import Console

from attnlab.report.terminal import print_ledger, print_rows, shortened


def printed(print_it, *args, width=80, terminal=False):
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=terminal,
        color_system="standard" if terminal else None,
    )
    print_it(*args, console)
    return console.file.getvalue()


def test_the_ledger_fits_eighty_columns_and_keeps_ids_and_signs_whole(entries):
    text = printed(print_ledger, entries)
    lines = text.splitlines()
    assert all(len(line) <= 80 for line in lines[:-1])
    for entry in entries:
        assert any(line.startswith(entry.id) for line in lines)
    for sign in ("✓ holds", "✓* corrected", "✗ fails", "? undecided"):
        assert sign in text
    assert "reference" in lines[1]
    assert lines[0] == "garden"
    assert lines[-1] == (
        "4 claims: 1 ✓ holds, 1 ✓* holds as corrected, 1 ✗ fails, 1 ? undecided at this scale"
    )


def test_a_long_id_is_not_cut(entries):
    long = dataclasses.replace(entries[0], id="random/equation-12-second-part")
    assert "random/equation-12-second-part" in printed(print_ledger, [long])


def test_long_numbers_and_ids_turn_the_table_into_records(entries):
    wordy = dataclasses.replace(
        entries[0],
        id="random/equation-12-second-part",
        measured="7266 successes of 8100; smallest p-value 0.00073",
        reference="7259.8 expected; exact law from 0.892 to 0.904",
    )
    text = printed(print_ledger, [wordy, entries[3]])
    assert all(len(line) <= 80 for line in text.splitlines())
    for words in (wordy.id, f"measured {wordy.measured}", f"reference {wordy.reference}"):
        assert words in text
    assert printed(print_ledger, [wordy], width=160).splitlines()[1].startswith("id ")


def test_colour_codes_appear_on_a_terminal_only(entries):
    assert "\x1b[" not in printed(print_ledger, entries)
    assert "\x1b[" in printed(print_ledger, entries, terminal=True)


def test_studies_are_told_one_after_the_other(entries):
    other = dataclasses.replace(entries[0], study="orchard", id="orchard-1")
    lines = printed(print_ledger, [*entries, other]).splitlines()
    assert lines.index("garden") < lines.index("orchard")


def test_an_empty_ledger_says_so():
    assert printed(print_ledger, []) == "No claims.\n"


def test_a_long_statement_ends_in_an_ellipsis():
    text = shortened("word " * 40, 20)
    assert text.endswith("…")
    assert len(text) <= 3 * 20 + 2


def test_rows_are_printed_whole_in_a_pipe():
    text = printed(print_rows, ["n", "name"], [(1, "x" * 200), (None, "[red]plain")])
    assert "x" * 200 in text
    assert "[red]plain" in text
    assert "None" not in text
    assert text.endswith("2 rows\n")


def test_rows_fold_in_a_terminal():
    lines = printed(print_rows, ["name"], [("x" * 200,)], terminal=True).splitlines()
    assert sum(line.count("x") for line in lines) == 200
