"""A folder that changes all at once: written beside its place, then swapped in.

A kill at any instant leaves the old report or the new one, never a mixture. Only a folder that
carries our marker, or an empty one, is ever replaced.
"""

from __future__ import annotations

import contextlib
import errno
import shutil
from collections.abc import Iterator
from pathlib import Path

from attnlab.errors import AttnlabError, UserError
from attnlab.files import leftovers, trouble, writer_name

MARKER = ".attnlab-report"
TRIES = 20  # another writer may swap at the same instant


@contextlib.contextmanager
def replacing(out: Path) -> Iterator[Path]:
    """Gives a fresh folder to write into; it becomes `out` if the block ends well."""
    target = out.expanduser().resolve()
    fresh = target.parent / writer_name(f".{target.name}.new-")
    check_folder(out)
    try:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            _clear_leftovers(target)
            fresh.mkdir()
            (fresh / MARKER).write_text("A report by attnlab; it may be replaced as a whole.\n")
        except OSError as reason:
            raise _unwritable(out, reason) from reason
        try:
            yield fresh
            _swap(fresh, target)
        except OSError as reason:
            raise AttnlabError(
                f"The report {out} could not be written: {trouble(reason)}. What was there before "
                "is unchanged."
            ) from reason
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def check_folder(out: Path) -> None:
    """Raise unless `out` is new, empty or a report of ours, in a place that can be written to.

    Nothing is left behind.
    """
    target = out.expanduser().resolve()
    accepted = "give a new folder or one that holds a report"
    try:
        if target.exists() and not (target / MARKER).is_file():
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
    nearest = next(folder for folder in target.parents if folder.exists())
    trial = nearest / writer_name(".attnlab-")
    try:
        trial.mkdir()
        trial.rmdir()
    except OSError as reason:
        raise _unwritable(out, reason) from reason


def _unwritable(out: Path, reason: OSError) -> UserError:
    return UserError(
        f"The report's folder {out} cannot be written ({trouble(reason)}); "
        "give one that you may write to."
    )


def _swap(fresh: Path, target: Path) -> None:
    old = target.parent / writer_name(f".{target.name}.old-")
    for attempt in range(TRIES):
        try:
            with contextlib.suppress(FileNotFoundError):
                target.rename(old)
            fresh.rename(target)
            break
        except OSError as reason:
            overtaken = reason.errno in (errno.ENOTEMPTY, errno.EEXIST)
            if not overtaken or attempt == TRIES - 1:
                if old.exists() and not target.exists():
                    old.rename(target)
                raise
            shutil.rmtree(old, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)


def _clear_leftovers(target: Path) -> None:
    """Finish what a killed writer left: its old report goes back if none took its place."""
    for state in ("old", "new"):
        for path in leftovers(target.parent, f".{target.name}.{state}-"):
            if not (path / MARKER).exists() and any(path.iterdir()):
                continue  # not a report of ours
            if state == "old" and not target.exists():
                path.rename(target)
            else:
                shutil.rmtree(path, ignore_errors=True)
