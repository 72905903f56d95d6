"""Bundles: the results of a store as one file, to be taken to another machine.

A bundle is a gzipped tar archive with `attnlab-bundle.json` first and then parts, weights and run
logs under the names that they have in a store. Names prove bytes, and a part carries the question
that it answers, so that every file is checked on its way in; nothing else in an archive is ever
written. Results that the store has already are never replaced.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from attnlab.errors import UserError
from attnlab.files import trouble, write_whole, writer_name
from attnlab.lab.store import NAME, Store

HEADER = "attnlab-bundle.json"
FORMAT = 1
MEMBER = re.compile(r"(parts|weights)/([A-Za-z_][A-Za-z0-9_]*)/([^/]+)")
RUN = re.compile(r"runs/[0-9A-Za-z-]+\.jsonl")
LARGEST = 2**30  # bytes of one file


@dataclass(frozen=True)
class Moved:
    """How many parts a bundle holds, and how many of them the store had before.

    `kept` counts cells of which the store has another result, computed on another device or by
    other versions of the libraries: its own is kept.
    """

    parts: int
    known: int = 0
    kept: int = 0


def export_bundle(store: Store, file: Path, kinds: Iterable[str] | None = None) -> Moved:
    """Write the parts of a store, their weights and the run logs into one new file.

    `kinds` picks some kinds of cells; all of them unless given.
    """
    if file.exists():
        raise UserError(f"{file} exists already; give the name of a new file.")
    chosen = store.kinds() if kinds is None else [k for k in store.kinds() if k in set(kinds)]
    paths = [path for kind in chosen for path in store.parts(kind)]
    if not paths:
        raise UserError(f"The store {store.root} has no results to export.")
    logs = sorted(store.root.glob("runs/*.jsonl"))
    buffer = io.BytesIO()
    # Neither times nor owners are written: the same store gives the same bytes.
    with (
        gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        header = {"format": FORMAT, "parts": len(paths)}
        _add(archive, HEADER, json.dumps(header).encode())
        for path in [*_with_weights(store, paths), *logs]:
            _add(archive, path.relative_to(store.root).as_posix(), path.read_bytes())
    try:
        write_whole(file, buffer.getvalue(), file.with_name(writer_name(f".{file.name}.")))
    except OSError as reason:
        raise UserError(f"The bundle {file} cannot be written: {trouble(reason)}.") from reason
    return Moved(len(paths))


def read_bundle(file: Path) -> dict[str, bytes]:
    """The files of a bundle by their names in a store, all of them checked."""
    found = dict(_members(file))
    header = _header(found.pop(HEADER, b""), file)
    parts = [name for name in found if name.startswith("parts/")]
    if len(parts) != header["parts"]:
        raise UserError(
            f"{file} is truncated: it should hold {header['parts']} parts and has {len(parts)}."
        )
    for name, data in found.items():
        _prove(name, data, found, file)
    return found


def import_bundle(store: Store, found: Mapping[str, bytes]) -> Moved:
    """Bring the files of a bundle (`read_bundle`) into a store."""
    parts = [name for name in found if name.startswith("parts/")]
    known = {name for name in parts if (store.root / name).is_file()}
    held = (path for kind in store.kinds() for path in store.parts(kind))
    answered = {_cell(path.relative_to(store.root).as_posix()) for path in held}
    kept = {name for name in parts if name not in known and _cell(name) in answered}
    left = {_cell(name) for name in kept}
    # Weights first, so that a part always has its weights.
    for name in sorted(found, key=lambda name: name.startswith("parts/")):
        if not (store.root / name).is_file() and _cell(name) not in left:
            store.write(store.root / name, found[name])
    return Moved(len(parts), len(known), len(kept))


def _cell(name: str) -> tuple[str, str] | None:
    """The kind and the key of the cell that a part or weights belong to."""
    member = MEMBER.fullmatch(name)
    return (member[2], member[3].partition("-")[0]) if member else None


def _with_weights(store: Store, paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        yield path
        name = NAME.fullmatch(path.name)
        if name and name["weights"]:
            file = f"{name['key']}-{name['weights']}.safetensors"
            yield store.root / "weights" / path.parent.name / file


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    about = tarfile.TarInfo(name)
    about.size = len(data)
    archive.addfile(about, io.BytesIO(data))


def _members(file: Path) -> Iterator[tuple[str, bytes]]:
    try:
        with tarfile.open(file, "r:gz") as archive:
            for about in archive:
                if not about.isfile() or about.size > LARGEST or not _named(about.name):
                    raise UserError(f"{file} is not a bundle of attnlab: it holds {about.name!r}.")
                data = archive.extractfile(about)
                yield about.name, data.read() if data else b""
            while archive.fileobj is not None and archive.fileobj.read(2**16):
                pass  # to the end, where the checksum is
    except FileNotFoundError as reason:
        raise UserError(f"There is no file: {file}.") from reason
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as reason:
        raise UserError(f"{file} is truncated or not a bundle of attnlab ({reason}).") from reason
    except OSError as reason:
        raise UserError(f"{file} cannot be read ({reason.strerror or reason}).") from reason


def _named(name: str) -> bool:
    """Whether a store could hold a file of this name."""
    if name == HEADER or RUN.fullmatch(name):
        return True
    member = MEMBER.fullmatch(name)
    return member is not None and NAME.fullmatch(member[3]) is not None


def _header(data: bytes, file: Path) -> dict[str, int]:
    try:
        header = json.loads(data)
        if header["format"] != FORMAT:
            raise UserError(
                f"{file} is a bundle of format {header['format']}; this version of attnlab reads "
                f"format {FORMAT}."
            )
        return {"parts": int(header["parts"])}
    except (ValueError, KeyError, TypeError) as reason:
        if isinstance(reason, UserError):
            raise
        raise UserError(f"{file} is not a bundle of attnlab.") from reason


def _prove(name: str, data: bytes, found: dict[str, bytes], file: Path) -> None:
    """Check a file's bytes against its name, and that a part's weights are there."""
    from attnlab.lab.part import digest, question_key

    member = MEMBER.fullmatch(name)
    if member is None:
        if name != HEADER:
            _prove_log(name, data, file)
        return
    named = NAME.fullmatch(member[3])
    if named is None or digest(data) != named["digest"]:
        raise UserError(f"{file} is damaged: the bytes of {name} are not those its name promises.")
    if member[1] == "parts" and question_key(data) != named["key"]:
        raise UserError(f"{file} is damaged: {name} is no part, or answers another question.")
    if member[1] == "parts" and named["weights"]:
        weights = f"weights/{member[2]}/{named['key']}-{named['weights']}.safetensors"
        if weights not in found:
            raise UserError(f"{file} is damaged: the weights of {name} are missing.")


def _prove_log(name: str, data: bytes, file: Path) -> None:
    """Every line of a run log is a JSON object; the last may have been cut off by a kill."""
    *lines, _ = data.split(b"\n")
    try:
        good = all(isinstance(json.loads(line), dict) for line in lines)
    except ValueError:
        good = False
    if not good:
        raise UserError(f"{file} is damaged: {name} is no run log.")
