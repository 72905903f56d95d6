"""Files that are there whole or not at all: written under another name, flushed, then renamed.

The other name tells its writer, so that what a killed process left behind can be cleared away by
whoever comes next. What a failure means to a user is for the caller to say.
"""

import errno
import os
import socket
import uuid
from pathlib import Path

from attnlab.processes import alive


def writer_name(prefix: str = "") -> str:
    """A name for a file that this process is writing, different at every call."""
    return f"{_owner(prefix)}{os.getpid()}-{uuid.uuid4().hex}"


def write_whole(target: Path, data: bytes, temporary: Path) -> None:
    """Write `temporary`, flush it to the disk and rename it; a kill leaves the old file or the new.

    An OSError is passed on, and leaves nothing of the attempt.
    """
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(target)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def clear_dead_writers(folder: Path, prefix: str = "") -> None:
    """Remove what processes of this machine that have ended were writing in a folder."""
    owner = _owner(prefix)
    for name in os.listdir(folder) if folder.is_dir() else ():
        process = name.removeprefix(owner).split("-")[0] if name.startswith(owner) else ""
        if process.isdigit() and not alive(int(process)):
            (folder / name).unlink(missing_ok=True)


def trouble(reason: OSError) -> str:
    """Why a file could not be written, in words."""
    return "the disk is full" if reason.errno == errno.ENOSPC else str(reason.strerror)


def _owner(prefix: str) -> str:
    return f"{prefix}{socket.gethostname()}-"
