"""The ledger and query results in the terminal."""

from __future__ import annotations

import dataclasses
import io
import re

import pytest
from rich.console import Console

from attnlab.lab.ledger import NOT_COMPUTED, Judged, Ledger, Shipped
from attnlab.lab.study import NO_SCALE, View
from attnlab.report.deciding import command_for
from attnlab.report.digest import Digest
from attnlab.report.terminal import fitting, print_rows
from attnlab.report.terminal_ledger import print_ledger


def printed(print_it, *args, width=80, terminal=False, **options):
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=terminal,
        color_system="standard" if terminal else None,
    )
    print_it(*args, console, **options)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [40, 80, 200])
def test_the_ledger_has_one_layout_at_every_width_and_cuts_nothing(entries, width):
    text = printed(print_ledger, entries, width=width, terminal=True)
    plain = re.sub(r"\x1b\[[\d;]*m", "", text)
    lines = plain.splitlines()
    assert all(len(line.rstrip()) <= width for line in lines[:-1])
    words = " ".join(plain.split())
    for entry in entries:
        assert entry.id in words
        assert " ".join(entry.statement.split()) in words or width == 40
    for sign in ("✓ holds", "✓* corrected", "✗ fails", "? undecided"):
        assert sign in plain
    assert "…" not in plain
    assert lines[0] == "garden"
    assert words.endswith(
        "4 claims: 1 ✓ holds, 1 ✓* holds as corrected, 1 ✗ fails, 1 ? undecided at this scale"
    )


def test_what_does_not_simply_hold_has_its_note_and_the_command_that_decides_it(entries):
    text = printed(print_ledger, entries)
    assert "note Corrected: growth is the square root of time." in text
    assert "note The store has no result for growing(plant=sunflower" in text
    assert "decided by attnlab reproduce garden --scale quick" in text
    assert "tolerance" not in text
    assert "tolerance exact up to rounding" in printed(print_ledger, entries, verbose=True)


def test_a_long_id_is_not_cut(entries):
    long = dataclasses.replace(entries[0], id="random/equation-12-second-part")
    assert "random/equation-12-second-part" in printed(print_ledger, [long])


def digest(judged, most=40, width=1_000_000):
    return [line.plain for line in Digest(judged, width).lines(most)]


def test_the_digest_names_failures_corrections_and_what_decides_the_rest(entries, garden):
    plan = garden.plan("quick", 0)
    lines = digest([Judged(plan, View("quick", 0, {}), entries)])
    assert lines == [
        "garden (quick): 4 claims: 1 ✓ holds, 1 ✓* holds as corrected, 1 ✗ fails, 1 ? undecided at "
        "this scale",
        "✗ fails (1): the statement, and what was found",
        "  garden-3 (garden): Likeness does not decay with distance.",
        "    measured 0.097, reference 1.0",
        "✓* hold as corrected",
        "  garden: garden-2",
        "? undecided, and what decides them",
        "  attnlab reproduce garden --scale quick: garden-4",
    ]


@pytest.mark.parametrize("failures", [0, 1, 12, 16, 17, 200])
def test_the_digest_has_at_most_forty_lines_however_much_fails(entries, garden, failures):
    many = [
        dataclasses.replace(entries[2], id=f"claim-{i}", note="word " * 60) for i in range(failures)
    ]
    judged = [Judged(garden.plan("quick", 0), View("quick", 0, {}), Ledger([*entries, *many]))]
    for width in (60, 80, 120):
        lines = digest(judged, width=width)
        assert len(lines) <= 40
        assert max(map(len, lines)) <= width
    whole = "\n".join(digest(judged))
    assert all(f"claim-{i}" in whole for i in range(failures))


NOTES = {
    "'attnlab reproduce garden --scale paper --seed 3' has more.": "--scale paper --seed 3",
    "'--scale paper' has more.": "--scale paper",
    "Scale 'standard' decides this.": "--scale standard",
    "This run would have noticed 0.3 of the ratio; the statement is about 0.1.": "--scale standard",
}


@pytest.mark.parametrize("note", NOTES)
def test_the_command_that_decides_a_claim_is_found_in_its_note(entries, note):
    open_one = dataclasses.replace(entries[3], note=note)
    assert command_for(open_one) == f"attnlab reproduce garden {NOTES[note]}"
    assert command_for(dataclasses.replace(open_one, broken=True)) == ""
    assert command_for(entries[0]) == ""


def test_a_shipped_run_that_decided_nothing_says_what_would(entries):
    here = dataclasses.replace(entries[3], note="Scale 'standard' decides this.")
    there = dataclasses.replace(here, scale="paper", note=NO_SCALE)
    looked = dataclasses.replace(here, shipped=Shipped(there, "a card", "2026-01-31", 5, 5))
    assert command_for(looked) == ""
    found = dataclasses.replace(there, verdict="holds")
    known = dataclasses.replace(here, shipped=Shipped(found, "a card", "2026-01-31", 5, 5))
    assert command_for(known) == "attnlab reproduce garden --scale standard"
    smaller = dataclasses.replace(here, note="Scale 'paper' decides this.")
    there = dataclasses.replace(there, scale="standard")
    looked = dataclasses.replace(smaller, shipped=Shipped(there, "a card", "2026-01-31", 5, 5))
    assert command_for(looked) == "attnlab reproduce garden --scale paper"


def test_a_shipped_run_speaks_for_its_scale_until_that_is_computed_here(entries):
    there = dataclasses.replace(entries[3], scale="paper", note=NO_SCALE)
    shipped = Shipped(there, "a card", "2026-01-31", 5, 5)
    command = "attnlab reproduce garden --scale paper"
    here = dataclasses.replace(there, note=f"'{command}' has it.", shipped=shipped, measured=1)
    assert command_for(here) == command
    assert command_for(dataclasses.replace(here, measured=NOT_COMPUTED)) == ""


def test_colour_codes_appear_on_a_terminal_only(entries):
    assert "\x1b[" not in printed(print_ledger, entries)
    assert "\x1b[" in printed(print_ledger, entries, terminal=True)


def test_studies_are_told_one_after_the_other(entries):
    other = dataclasses.replace(entries[0], study="orchard", id="orchard-1")
    lines = printed(print_ledger, [*entries, other]).splitlines()
    assert lines.index("garden") < lines.index("orchard")


def test_an_empty_ledger_says_so():
    assert printed(print_ledger, []) == "No claims.\n"


def test_rows_are_printed_whole_in_a_pipe():
    text = printed(print_rows, ["n", "name"], [(1, "x" * 200), (None, "[red]plain")])
    assert "x" * 200 in text
    assert "[red]plain" in text
    assert "None" not in text
    assert text.endswith("2 rows\n")


def test_columns_that_do_not_fit_follow_in_another_table():
    names = [f"column_{index}" for index in range(20)]
    text = printed(print_rows, names, [range(20), range(100_000, 100_020)], terminal=True)
    for word in (*names, *map(str, range(100_000, 100_020))):
        assert word in text
    assert text.count("─ \n") > 1


@pytest.mark.parametrize(
    ("widths", "groups"),
    [([], [[]]), ([3, 3], [[0, 1]]), ([8, 8], [[0], [1]]), ([40, 1, 1], [[0], [1, 2]])],
)
def test_columns_are_grouped_by_what_fits(widths, groups):
    assert fitting(widths, 12) == groups


def test_rows_fold_in_a_terminal():
    lines = printed(print_rows, ["name"], [("x" * 200,)], terminal=True).splitlines()
    assert sum(line.count("x") for line in lines) == 200
