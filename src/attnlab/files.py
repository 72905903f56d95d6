"""Files that are there whole or not at all: written under another name, flushed, then renamed.

The other name says who writes it, so that what a killed process left behind can be cleared away by
whoever comes next. Machines and containers that share a disk may have the same host name and the
same process numbers: each is known by an identity of its own, and what another one left is cleared
away only when it is old. What a failure means to a user is for the caller to say.
"""

import errno
import functools
import hashlib
import os
import shutil
import socket
import time
import uuid
from pathlib import Path

OLD = 24 * 3600.0  # seconds after which another machine's leftovers are cleared away


def writer_name(prefix: str = "") -> str:
    """A name for something that this process is writing, different at every call."""
    return f"{prefix}{_machine()}-{os.getpid()}-{uuid.uuid4().hex}"


def write_whole(target: Path, data: bytes, temporary: Path, *, flush: bool = True) -> None:
    """Write `temporary`, flush it to the disk and rename it; a kill leaves the old file or the new.

    Without `flush` that still holds for a kill, and no longer for a power cut. An OSError is passed
    on, and leaves nothing of the attempt.
    """
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            if flush:
                os.fsync(file.fileno())
        temporary.rename(target)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def clear_leftovers(folder: Path, prefix: str = "") -> None:
    """Remove what writers that have ended left in a folder under names of `writer_name`."""
    for path in leftovers(folder, prefix):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def leftovers(folder: Path, prefix: str = "") -> list[Path]:
    """What writers that have ended left in a folder: known by their process, or by age."""
    found = []
    for name in os.listdir(folder) if folder.is_dir() else ():
        machine, _, rest = name.removeprefix(prefix).partition("-")
        process = rest.partition("-")[0]
        if not name.startswith(prefix) or len(machine) != MACHINE_DIGITS or not process.isdigit():
            continue
        path = folder / name
        if machine == _machine():
            ended = int(process) != os.getpid() and not _alive(int(process))
        else:
            ended = _age(path) > OLD
        if ended:
            found.append(path)
    return found


def trouble(reason: OSError) -> str:
    """Why a file could not be written, in words."""
    return "the disk is full" if reason.errno == errno.ENOSPC else str(reason.strerror)


MACHINE_DIGITS = 12


@functools.cache
def _machine() -> str:
    """Twelve digits for this machine or container since it started."""
    known = [socket.gethostname()]
    for read in (
        lambda: Path("/proc/sys/kernel/random/boot_id").read_text(),
        lambda: os.readlink("/proc/self/ns/pid"),
    ):
        try:
            known.append(read())
        except OSError:
            continue
    return hashlib.sha256("\n".join(known).encode()).hexdigest()[:MACHINE_DIGITS]


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _age(path: Path) -> float:
    try:
        return time.time() - path.lstat().st_mtime
    except OSError:
        return 0.0


def cache_folder() -> Path:
    """Where what can be made again is kept: the user's cache folder for attnlab."""
    try:
        from platformdirs import user_cache_path
    except ImportError:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "attnlab"
    return user_cache_path("attnlab", appauthor=False)
