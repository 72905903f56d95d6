"""How a run and its worker processes talk: frames of a length and that many bytes.

A request is one frame of text. A finished cell is three: what is said about it as JSON, the part,
and the weights.
"""

from __future__ import annotations

import json
import struct
from typing import IO

from attnlab.lab.part import Finished

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
    about = {name: getattr(finished, name) for name in ("key", "seconds", "error", "mistake")}
    for data in (json.dumps(about).encode(), finished.part, finished.weights):
        write_frame(stream, data)


def read_finished(stream: IO[bytes]) -> Finished | None:
    """Read a finished cell; None where the other side ended before it was whole."""
    frames = []
    for _ in range(3):
        data = read_frame(stream)
        if data is None:
            return None
        frames.append(data)
    return Finished(**json.loads(frames[0]), part=frames[1], weights=frames[2])
