"""Who made a result: a line of JSON for each finished cell, beside the parts and never in them.

One file per run. Its first line says which program, commit, machine and versions ran; each further
line names a cell, the seconds it took and the device it ran on. A kill can cut the last line short;
a reader skips what it cannot read.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import platform
import shlex
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, TextIO

import attnlab
from attnlab.errors import AttnlabError

GENERATION = ("vendor_id", "cpu family", "model", "stepping", "CPU implementer", "CPU part")
VERSIONS_OF = ("numpy", "scipy", "pyarrow", "duckdb", "altair", "jax", "jaxlib", "distributed")


def versions() -> dict[str, str]:
    found = {"attnlab": attnlab.__version__, "python": platform.python_version()}
    for name in VERSIONS_OF:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


@functools.cache
def machine() -> dict[str, Any]:
    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": _cpuinfo().get("model name") or platform.processor() or platform.machine(),
        "instructions": instructions(_cpuinfo()),
        "cores": os.cpu_count(),
    }


@functools.cache
def _cpuinfo() -> dict[str, str]:
    """What Linux says of the first processor; empty elsewhere."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return {}
    pairs = (line.partition(":") for line in text.split("\n\n", 1)[0].splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def instructions(cpuinfo: Mapping[str, str]) -> str | None:
    """The generation of a processor and a hash of its instruction sets; None where unknown.

    Numerical libraries choose their programs by these. The name of a processor does not say them:
    virtual machines call several generations by one name, such as "AMD EPYC".
    """
    generation = [cpuinfo[name] for name in GENERATION if name in cpuinfo]
    features = cpuinfo.get("flags") or cpuinfo.get("Features")
    if not (generation and features):
        return None
    digest = hashlib.sha256(" ".join(sorted(features.split())).encode()).hexdigest()
    return f"{' '.join(generation)}, {digest[:16]}"


@functools.cache
def commit() -> str | None:
    """The commit of the source tree that runs, with "-dirty" where files differ from it.

    None for an installed package, and for a tree without its history.
    """
    root = Path(attnlab.__file__).parents[2]
    if not (root / ".git").exists():
        return None
    describe = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40"]
    try:
        done = subprocess.run(
            [*describe, "--exclude=*"], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def _program() -> str:
    """The program's name; `python -m attnlab.cli` is `attnlab`."""
    path = Path(sys.argv[0])
    return "attnlab" if path.parts[-2:] == ("cli", "__main__.py") else path.name


class RunLog:
    """Appends to one run's file. Opened on the first line, so that a run that computes nothing
    leaves nothing behind."""

    def __init__(self, folder: Path, engine: str):
        self._path = folder / f"{time.strftime('%Y%m%dT%H%M%S')}-{uuid.uuid4().hex[:8]}.jsonl"
        self._header = {
            "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            "command": shlex.join([_program(), *sys.argv[1:]]),
            "engine": engine,
            "commit": commit(),
            "machine": machine(),
            "versions": versions(),
        }
        self._file: TextIO | None = None

    def finished(self, key: str, kind: str, seconds: float, device: str = "") -> None:
        """Add a line for a cell that is in the store."""
        line = {"key": key, "kind": kind, "seconds": round(seconds, 6), "device": device}
        try:
            if self._file is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._file = self._path.open("a")
                self._write(self._file, self._header)
            self._write(self._file, line)
        except OSError as reason:
            raise AttnlabError(
                f"Cannot write {self._path}: {reason.strerror}. Everything stored so far is whole; "
                "make room and run the same command again."
            ) from reason

    def _write(self, file: TextIO, line: dict[str, Any]) -> None:
        file.write(json.dumps(line) + "\n")
        file.flush()

    def close(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):  # what could not be flushed has been reported
                self._file.close()


def read_runs(folder: Path) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Every run's header with the cells it finished, oldest first."""
    for path in sorted(folder.glob("*.jsonl")):
        lines = []
        for text in path.read_text(errors="replace").splitlines():
            with contextlib.suppress(json.JSONDecodeError):
                lines.append(json.loads(text))
        lines = [line for line in lines if isinstance(line, dict)]
        if lines and "versions" in lines[0]:
            yield lines[0], [line for line in lines[1:] if "key" in line]
