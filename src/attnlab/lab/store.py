"""The store: a directory that keeps one part per finished cell, whole or not at all.

    attnlab-store.json                      what this directory is
    parts/<kind>/<key>-<digest>.parquet     results (-<digest of the weights> where there are any)
    weights/<kind>/<key>-<digest>.safetensors
    checkpoints/<key>/                      long cells under way (see `attnlab.lab.watch`)
    runs/<run>.jsonl                        provenance
    aside/                                  damaged files, out of the way
    tmp/                                    files being written

`key` names the question and `digest` the bytes, so a file proves itself: reading compares the two.
Files are written under tmp/, flushed and renamed. Two writers of the same cell write the same name
with the same bytes, so neither can harm the other, and a kill leaves whole files or none. A result
that takes less time to compute than to flush is not flushed: after a power cut its file may be
empty, which its name betrays, and it is computed again.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import uuid
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from attnlab.errors import AttnlabError, UserError
from attnlab.files import clear_leftovers, trouble, write_whole, writer_name
from attnlab.lab.cell import AnyCell, Cell
from attnlab.lab.part import Damaged, Finished, decode, decode_weights, digest

MARKER = "attnlab-store.json"
FORMAT = 1
CHEAP = 0.01  # seconds: a result that took less is not flushed to the disk
NAME = re.compile(
    r"(?P<key>[0-9a-f]{32})-(?P<digest>[0-9a-f]{16})(-(?P<weights>[0-9a-f]{16}))?\.(parquet|safetensors)"
)


class StoreWarning(UserWarning):
    """A file in the store was damaged or foreign and has been set aside."""


class Store:
    """The results in one directory. Two stores on one directory may write at the same time."""

    def __init__(self, root: Path | str, *, create: bool = True):
        self.root = Path(root)
        self._checked: set[Path] = set()
        self._index: dict[str, dict[str, list[Path]]] = {}
        _claim(self.root, create)
        clear_leftovers(self.root / "tmp")

    def __repr__(self) -> str:
        return f"Store({str(self.root)!r})"

    def add(self, cell: AnyCell, finished: Finished) -> None:
        """Keep a finished cell: weights first, so that a part always has its weights."""
        kind, suffix = cell.kind.name, ""
        flush = finished.seconds >= CHEAP
        if finished.weights:
            suffix = f"-{digest(finished.weights)}"
            self.write(self._weights(kind, f"{cell.key}{suffix}"), finished.weights, flush=flush)
        path = self._folder(kind) / f"{cell.key}-{digest(finished.part)}{suffix}.parquet"
        self.write(path, finished.part, flush=flush)
        # The next look-up scans again: a long run would otherwise remember every name it wrote.
        self._index.pop(kind, None)

    @property
    def checkpoints(self) -> Path:
        """The folder of cells under way, with a folder of each."""
        return self.root / "checkpoints"

    def forget_checkpoints(self, cell: AnyCell) -> None:
        """Remove what a cell has saved on its way: it is finished."""
        folder = self.checkpoints / cell.key
        if folder.is_dir():
            shutil.rmtree(folder, ignore_errors=True)

    def results(self, cell: AnyCell) -> dict[str, list[Any]] | None:
        """The stored rows by the key of their point, or None if there are none to be trusted.

        Which files exist is looked up once per kind, again after `add` and in `holding`; their
        bytes are proved when they are first read.
        """
        for path in self._found(cell.kind.name).get(cell.key, ()):
            if self._whole(path):
                try:
                    return decode(cell, path.read_bytes())
                except (Damaged, OSError) as reason:
                    self._set_aside(path, str(reason))
        return None

    def rows(self, cell: Cell) -> list[Any] | None:
        """The stored rows of one cell, or None if there are none to be trusted."""
        found = self.results(cell)
        return None if found is None else found[cell.key]

    def weights(self, cell: Cell) -> dict[str, np.ndarray] | None:
        """The stored weights, or None if the cell has none or they cannot be trusted."""
        for path in self._found(cell.kind.name).get(cell.key, ()):
            name = NAME.fullmatch(path.name)
            if name and name["weights"] and self._whole(path):
                file = self._weights(cell.kind.name, f"{cell.key}-{name['weights']}")
                return decode_weights(file.read_bytes())
        return None

    def holding(self, cells: Iterable[AnyCell]) -> dict[str, dict[str, list[Any]]]:
        """What the store has of these cells, as the disk is now: key of a cell -> its results."""
        self._index.clear()
        found = {cell.key: self.results(cell) for cell in cells}
        return {key: results for key, results in found.items() if results is not None}

    def names(self, cells: Iterable[AnyCell]) -> list[str]:
        """The names of the parts of these cells that are there; a name proves the bytes."""
        return sorted(
            path.name for cell in cells for path in self._found(cell.kind.name).get(cell.key, ())
        )

    def parts(self, kind: str) -> list[Path]:
        """Every whole part of a kind, one per question."""
        found = []
        for paths in self._found(kind).values():
            whole = [path for path in paths if self._whole(path)]
            found.extend(whole[:1])
        return found

    def kinds(self) -> list[str]:
        folder = self.root / "parts"
        found = folder.iterdir() if folder.is_dir() else ()
        return sorted(p.name for p in found if p.is_dir() and p.name.isidentifier())

    def _folder(self, kind: str) -> Path:
        return self.root / "parts" / kind

    def _weights(self, kind: str, name: str) -> Path:
        return self.root / "weights" / kind / f"{name}.safetensors"

    def _found(self, kind: str) -> dict[str, list[Path]]:
        """Key -> files of a kind. One directory scan, kept: ten thousand look-ups stay cheap."""
        if kind in self._index:
            return self._index[kind]
        folder = self._folder(kind)
        found = self._index[kind] = {}
        for name in sorted(entry.name for entry in os.scandir(folder)) if folder.is_dir() else ():
            match = NAME.fullmatch(name)
            if match:
                found.setdefault(match["key"], []).append(folder / name)
            else:
                self._set_aside(folder / name, "its name is not one this store gives")
        return found

    def _whole(self, path: Path) -> bool:
        """Whether a part and its weights are what their names promise; if not, set it aside."""
        if path in self._checked:
            return True
        try:
            weights = _prove(path)
            if weights:
                key = path.name.split("-")[0]
                _prove(self._weights(path.parent.name, f"{key}-{weights}"))
        except FileNotFoundError as reason:
            if str(reason.filename) == str(path):
                return False
            self._set_aside(path, "its weights are missing")
            return False
        except (Damaged, OSError) as reason:
            self._set_aside(path, str(reason))
            return False
        self._checked.add(path)
        return True

    def _set_aside(self, path: Path, reason: str) -> None:
        self._checked.discard(path)
        target = self.root / "aside" / f"{path.name}.{uuid.uuid4().hex[:8]}"
        try:
            target.parent.mkdir(exist_ok=True)
            path.rename(target)
            moved = f"it was moved to {target.relative_to(self.root)}"
        except OSError as problem:
            moved = f"it could not be moved ({problem.strerror})"
        warnings.warn(
            f"{path.relative_to(self.root)} in the store {self.root} is damaged or foreign: "
            f"{reason}; {moved} and is not used.",
            StoreWarning,
            stacklevel=2,
        )

    def write(self, target: Path, data: bytes, *, flush: bool = True) -> None:
        """Write a file of the store, whole or not at all."""
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            write_whole(target, data, self.root / "tmp" / writer_name(), flush=flush)
        except OSError as reason:
            raise AttnlabError(
                f"Cannot write to the store {self.root}: {trouble(reason)}. "
                "Everything stored so far is whole; make room and run the same command again."
            ) from reason


def _prove(path: Path) -> str:
    """Check a file's bytes against its name; return the digest of the weights that go with it."""
    match = NAME.fullmatch(path.name)
    data = path.read_bytes()
    if match is None or digest(data) != match["digest"]:
        raise Damaged("its bytes are not those its name promises")
    if path.suffix == ".parquet" and not (data[:4] == data[-4:] == b"PAR1"):
        raise Damaged("it is not a Parquet file")
    return match["weights"] or ""


def _claim(root: Path, create: bool) -> None:
    """Make or recognise a store; never touch a directory that belongs to something else."""
    marker = root / MARKER
    try:
        if root.exists() and not root.is_dir():
            raise UserError(f"The store {root} is a file; give a directory (--store DIR).")
        if marker.is_file():
            _check_format(root, marker)
        elif root.is_dir() and _foreign(root):
            raise UserError(
                f"The directory {root} holds other things and no {MARKER}; "
                "give an empty or new directory, or an attnlab store (--store DIR)."
            )
        elif not create:
            raise UserError(
                f"There is no store at {root}; run 'attnlab reproduce' first or give --store DIR."
            )
        else:
            root.mkdir(parents=True, exist_ok=True)
            temporary = root / f".{MARKER}.{uuid.uuid4().hex}"
            temporary.write_text(json.dumps({"format": FORMAT}) + "\n")
            temporary.rename(marker)
        if create:
            (root / "tmp").mkdir(exist_ok=True)
            if not os.access(root / "tmp", os.W_OK):
                raise PermissionError(errno.EACCES, "not writable")
    except OSError as reason:
        raise UserError(
            f"The store {root} cannot be used ({reason.strerror}); "
            "give a directory that you may write to (--store DIR)."
        ) from reason


def _foreign(root: Path) -> bool:
    others = [path for path in root.iterdir() if not path.name.startswith(f".{MARKER}")]
    # Looked at again: another process may have made the store since, its marker first.
    return bool(others) and not (root / MARKER).is_file()


def _check_format(root: Path, marker: Path) -> None:
    try:
        found = json.loads(marker.read_text())["format"]
    except (ValueError, KeyError, TypeError) as reason:
        raise UserError(f"{marker} is damaged; {root} cannot be used as a store.") from reason
    if found != FORMAT:
        raise UserError(
            f"The store {root} has format {found}; this version of attnlab reads format {FORMAT}."
        )
