"""A folder that changes all at once: written beside its place, then swapped in.

A kill at any instant leaves the old report or the new one, never a mixture. Only a folder that
carries our marker, or an empty one, is ever replaced.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from attnlab.errors import AttnlabError, UserError
from attnlab.processes import alive

MARKER = ".attnlab-report"
TRIES = 20  # another writer may swap at the same instant


@contextlib.contextmanager
def replacing(out: Path) -> Iterator[Path]:
    """Gives a fresh folder to write into; it becomes `out` if the block ends well."""
    target = out.expanduser().resolve()
    fresh = target.parent / f".{target.name}.new-{os.getpid()}"
    refuse_foreign(out)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _clear_leftovers(target)
        fresh.mkdir()
        (fresh / MARKER).write_text("A report written by attnlab; it may be replaced as a whole.\n")
    except OSError as reason:
        raise UserError(
            f"The report's folder {out} cannot be written ({reason.strerror}); "
            "give one that you may write to."
        ) from reason
    try:
        yield fresh
        _swap(fresh, target)
    except OSError as reason:
        what = "the disk is full" if reason.errno == errno.ENOSPC else str(reason)
        raise AttnlabError(
            f"The report {out} could not be written: {what}. What was there before is unchanged."
        ) from reason
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def refuse_foreign(out: Path) -> None:
    """Raise unless `out` is new, empty or a report of ours; nothing is touched."""
    target = out.expanduser().resolve()
    accepted = "give a new folder or one that holds a report"
    try:
        if not target.exists() or (target / MARKER).is_file():
            return
        if not target.is_dir():
            raise UserError(f"The report's folder {out} is a file; {accepted}.")
        if any(target.iterdir()):
            raise UserError(
                f"The folder {out} holds something other than a report of attnlab; {accepted}."
            )
    except OSError as reason:
        raise UserError(
            f"The report's folder {out} cannot be read ({reason.strerror}); {accepted}."
        ) from reason


def _swap(fresh: Path, target: Path) -> None:
    old = target.parent / f".{target.name}.old-{os.getpid()}"
    for attempt in range(TRIES):
        try:
            with contextlib.suppress(FileNotFoundError):
                target.rename(old)
            fresh.rename(target)
            break
        except OSError as reason:
            lost = reason.errno in (errno.ENOTEMPTY, errno.EEXIST)
            if not lost or attempt == TRIES - 1:
                if old.exists() and not target.exists():
                    old.rename(target)
                raise
            shutil.rmtree(old, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)


def _clear_leftovers(target: Path) -> None:
    """Finish what a killed writer left: its old report goes back if none took its place."""
    for state in ("old", "new"):
        prefix = f".{target.name}.{state}-"
        for path in [p for p in target.parent.iterdir() if p.name.startswith(prefix)]:
            process = path.name.removeprefix(prefix)
            if not process.isdigit() or _foreign(path):
                continue
            if alive(int(process)) and int(process) != os.getpid():
                continue
            if state == "old" and not target.exists():
                path.rename(target)
            else:
                shutil.rmtree(path, ignore_errors=True)


def _foreign(path: Path) -> bool:
    return not (path / MARKER).exists() and any(path.iterdir())
