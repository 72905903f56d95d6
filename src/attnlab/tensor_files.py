"""Safetensors files read in blocks: one file, one shard, or a folder with an index of shards.

A file is eight bytes (the header's length), a JSON header (name, dtype, shape, offsets) and the
bytes of the tensors. Every number of the header is checked against the file before it is used, and
the bytes are mapped, so that a block of a large file costs only its own memory. Nothing is written.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from attnlab.errors import UserError

Index = tuple[int | slice, ...]
Offence = Callable[[str], UserError]

BYTES = {
    "F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1, "BOOL": 1,
    "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U64": 8, "U32": 4, "U16": 2, "U8": 1,
}  # fmt: skip
# A bfloat16 is the upper half of a float32: read as integers, so that NumPy alone is enough.
STORED_AS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
LONGEST_HEADER = 100_000_000  # bytes; the format's own limit
INDEX = ".safetensors.index.json"


@dataclass(frozen=True)
class Tensor:
    """Where a tensor lies: its bytes in `path` are those from `start` until before `stop`."""

    path: Path
    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int

    def block(self, index: Index = ()) -> np.ndarray:
        """The entries at `index` as float64; only they take memory."""
        if self.dtype not in STORED_AS:
            raise UserError(
                f"The tensor {self.name!r} in {self.path} has dtype {self.dtype}; "
                f"accepted are {', '.join(STORED_AS)}."
            )
        if not math.prod(self.shape):
            return np.zeros(self.shape)[index]
        mapped = np.memmap(self.path, STORED_AS[self.dtype], "r", self.start, self.shape)
        values = np.ascontiguousarray(mapped[index])
        if self.dtype == "BF16":
            values = (values.astype(np.uint32) << 16).view(np.float32)
        return values.astype(np.float64)


@dataclass(frozen=True)
class Tensors:
    """The tensors of a checkpoint by name, whatever files they lie in, and its metadata.

    `folder` is where a config.json would be; `partial` says that this is one shard of several.
    """

    path: Path
    folder: Path
    tensors: Mapping[str, Tensor]
    metadata: Mapping[str, str]
    partial: bool = False

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: tensor.shape for name, tensor in self.tensors.items()}


def open_tensors(path: Path | str) -> Tensors:
    """The tensors of a safetensors file, of an index of shards, or of a folder with either."""
    path = Path(path)
    if path.is_dir():
        return _open_folder(path)
    if not path.is_file():
        raise UserError(f"There is no file or folder at {path}.")
    if path.name.endswith(".index.json"):
        return _open_index(path, path)
    tensors, metadata = read_header(path)
    shard = any(path.name in text for text in _index_texts(path.parent))
    return Tensors(path, path.parent, tensors, metadata, partial=shard)


def read_header(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and the metadata that a file's header tells, all of it checked."""

    def wrong(why: str) -> UserError:
        return UserError(f"{path} is not a whole safetensors file: {why}.")

    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > min(size - 8, LONGEST_HEADER):
            raise wrong(
                f"its first 8 bytes promise a header of {length} bytes, it has {max(size - 8, 0)}"
                if size >= 8
                else f"it has {size} bytes"
            )
        document = file.read(length)
    try:
        header = json.loads(document, object_pairs_hook=_without_repetition)
    except (ValueError, RecursionError) as reason:
        raise wrong("its header is not JSON") from reason
    if not isinstance(header, dict):
        raise wrong("its header is not a JSON object")
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise wrong("its metadata are not text")
    first = 8 + length
    tensors = {name: _tensor(path, name, entry, first, wrong) for name, entry in header.items()}
    _check_coverage(list(tensors.values()), first, size, wrong)
    return tensors, metadata


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _tensor(path: Path, name: str, entry: Any, first: int, wrong: Offence) -> Tensor:
    match entry:
        case {"dtype": str(dtype), "shape": list(shape), "data_offsets": [int(start), int(stop)]}:
            pass
        case _:
            raise wrong(f"its header has no dtype, shape and data_offsets for {name!r}")
    if not all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in shape):
        raise wrong(f"its header gives {name!r} the shape {shape}")
    if dtype in BYTES and stop - start != math.prod(shape) * BYTES[dtype]:
        raise wrong(
            f"its header gives {name!r} {stop - start} bytes, but {dtype} of shape "
            f"{tuple(shape)} takes {math.prod(shape) * BYTES[dtype]}"
        )
    if not 0 <= start <= stop:
        raise wrong(f"its header places {name!r} at bytes {start} to {stop}")
    return Tensor(path, name, dtype, tuple(shape), first + start, first + stop)


def _check_coverage(tensors: list[Tensor], first: int, size: int, wrong: Offence) -> None:
    """The tensors lie one after another and fill the file, as the format asks."""
    end = first
    for tensor in sorted(tensors, key=lambda t: (t.start, t.stop)):
        if tensor.start != end:
            how = "overlaps another tensor" if tensor.start < end else "leaves a gap"
            raise wrong(f"by its header {tensor.name!r} {how}")
        end = tensor.stop
    if end > size:
        raise wrong(f"its header promises {end} bytes, it has {size}; it may be truncated")
    if end < size:
        raise wrong(f"its header promises {end} bytes, it has {size}")


def _open_folder(folder: Path) -> Tensors:
    indices = sorted(folder.glob(f"*{INDEX}"))
    files = sorted(folder.glob("*.safetensors"))
    for found, opened in ((indices, lambda p: _open_index(p, folder)), (files, open_tensors)):
        preferred = [p for p in found if p.name in ("model.safetensors", f"model{INDEX}")]
        if preferred or len(found) == 1:
            return opened((preferred or found)[0])
    if not files:
        raise UserError(f"The folder {folder} holds no .safetensors file.")
    raise UserError(
        f"The folder {folder} holds {len(files)} .safetensors files and no model{INDEX}; "
        "name one of the files."
    )


def _open_index(index: Path, given: Path) -> Tensors:
    names = _weight_map(index)
    shards = {}
    for shard in sorted(set(names.values())):
        if Path(shard).name != shard:
            raise UserError(f"The index {index} names {shard!r}, which is not a file beside it.")
        if not (index.parent / shard).is_file():
            raise UserError(f"The index {index} names {shard!r}, which is not there.")
        shards[shard] = read_header(index.parent / shard)
    for name, shard in names.items():
        if name not in shards[shard][0]:
            raise UserError(f"The index {index} looks for {name!r} in {shard!r}, which has none.")
    tensors = {name: shards[shard][0][name] for name, shard in names.items()}
    metadata = {key: text for _, entry in shards.values() for key, text in entry.items()}
    return Tensors(given, index.parent, tensors, metadata)


def _weight_map(index: Path) -> dict[str, str]:
    try:
        names = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
        if not all(isinstance(shard, str) for shard in names.values()):
            raise TypeError
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as reason:
        raise UserError(
            f"The index {index} has no weight_map from names of tensors to files."
        ) from reason
    return names


def _index_texts(folder: Path) -> list[str]:
    return [
        path.read_text(encoding="utf-8", errors="replace")
        for path in sorted(folder.glob(f"*{INDEX}"))
    ]
