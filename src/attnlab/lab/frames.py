"""How a run and its worker processes talk: frames of a length and that many bytes.

A request is one frame of text. A worker answers with any number of frames about its progress, each
a JSON list of what is done, of how much, and its unit, and then with a finished cell, which is
three: what is said about it as JSON, the part, and the weights.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from attnlab.lab.part import Finished

ABOUT = ("key", "seconds", "error", "mistake", "stopped", "device")
LENGTH = struct.Struct(">Q")


def write_frame(stream: IO[bytes], data: bytes) -> None:
    """Write one frame and flush it."""
    stream.write(LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def read_frame(stream: IO[bytes]) -> bytes | None:
    """Read one frame; None where the other side has closed the stream or was cut off."""
    header = stream.read(LENGTH.size)
    if len(header) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(header)
    data = stream.read(length)
    return data if len(data) == length else None


def write_finished(stream: IO[bytes], finished: Finished) -> None:
    """Write a finished cell."""
    about = {name: getattr(finished, name) for name in ABOUT}
    for data in (json.dumps(about).encode(), finished.part, finished.weights):
        write_frame(stream, data)


def write_progress(stream: IO[bytes], done: int, total: int, unit: str) -> None:
    """Write how far a cell is."""
    write_frame(stream, json.dumps([done, total, unit]).encode())


def read_finished(
    stream: IO[bytes], progress: Callable[[int, int, str], None] | None = None
) -> Finished | None:
    """Read a finished cell; None where the other side ended before it was whole.

    Frames about its progress before that are handed to `progress`.
    """
    from attnlab.lab.part import Finished  # pyarrow, which a process that only draws can spare

    frames: list[bytes] = []
    while len(frames) < 3:
        data = read_frame(stream)
        if data is None:
            return None
        if not frames and isinstance(said := json.loads(data), list):
            if progress is not None:
                progress(*said)
            continue
        frames.append(data)
    return Finished(**json.loads(frames[0]), part=frames[1], weights=frames[2])
