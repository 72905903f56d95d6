"""Which command would decide a claim that is undecided here.

A note names it: in quotes as a whole command, or as the scale that decides. The lab turns a verdict
without resolution into undecided by itself; such a note names none, and the next larger scale of
the study is the one that looks more closely. Where a shipped run has looked at that scale already
and decided nothing, its own note says what would.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from attnlab.lab.ledger import NAMED_SCALE, NOT_COMPUTED, Entry, of_seed
from attnlab.lab.study import SCALES

COMMAND = re.compile(r"'(attnlab reproduce [^']+)'")
NOTHING = ""


def command_for(entry: Entry, seed: int = 0) -> str:
    """The command that decides an undecided claim; "" where none does."""
    if entry.decided or entry.broken:
        return NOTHING
    named = COMMAND.search(entry.note)
    command = named[1] if named else _of_a_scale(entry, seed)
    if entry.shipped is None or entry.shipped.entry.decided:
        return command
    shipped = entry.shipped.entry
    if shipped.scale == entry.scale and entry.measured != NOT_COMPUTED:
        return command
    scales = SCALES[: SCALES.index(shipped.scale) + 1]
    looked = any(f"--scale {scale}" in command for scale in scales)
    return command_for(shipped, seed) if looked else command


def _of_a_scale(entry: Entry, seed: int) -> str:
    found = NAMED_SCALE.search(entry.note)
    scale = found[1] if found else _next(entry.scale)
    return NOTHING if scale == NOTHING else _reproduced(entry, scale, seed)


def command_of(entry: Entry, seed: int = 0) -> str:
    """The command that decides a claim: that of its own run if it is decided."""
    return _reproduced(entry, entry.scale, seed) if entry.decided else command_for(entry, seed)


def _reproduced(entry: Entry, scale: str, seed: int) -> str:
    return f"attnlab reproduce {entry.study} --scale {scale}{of_seed(seed)}"


def by_command(entries: Iterable[Entry], seed: int = 0) -> dict[str, list[Entry]]:
    """The undecided claims, grouped by the command that decides them; "" comes last."""
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        if not entry.decided:
            groups.setdefault(command_for(entry, seed), []).append(entry)
    return {name: groups[name] for name in sorted(groups, key=lambda name: (not name, name))}


def _next(scale: str) -> str:
    place = SCALES.index(scale) + 1
    return SCALES[place] if place < len(SCALES) else NOTHING
