"""What a report was written from, so that an unchanged one need not be written again.

The state is a digest of the results (their names prove their bytes), of the runs that made them, of
the sources of attnlab and of the studies, and of the versions of what draws. It is kept in the
report's marker together with the list of its files: a file that is missing or was added counts as
a change.
"""

from __future__ import annotations

import functools
import hashlib
import json
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from attnlab.lab.store import Store
from attnlab.lab.study import Plan, Study
from attnlab.report.documentation import source_of
from attnlab.report.folder import MARKER

DRAWS = ("altair", "vl-convert-python", "jinja2", "markupsafe")
PACKAGE = Path(__file__).parents[1]
SOURCES = {".py", ".html", ".js", ".css", ".json"}  # the JSON of evidence has its digests


def state_of(
    store: Store, plans: Sequence[Plan], notes: Sequence[str] = (), formats: Sequence[str] = ()
) -> str:
    """A digest of everything that a report shows or is drawn by."""
    known: dict[str, Any] = {
        "notes": list(notes),
        "formats": list(formats),
        "versions": [metadata.version(name) for name in DRAWS],
        "runs": sorted((p.name, p.stat().st_size) for p in store.root.glob("runs/*.jsonl")),
        "studies": [
            {
                "name": each.study.name,
                "scale": each.scale,
                "seed": each.seed,
                "parts": store.names(each.cells.values()),
                "sources": [_digest(folder) for folder in sorted(_folders(each.study))],
                "documentation": _text(source_of(each.study)),
            }
            for each in plans
        ],
    }
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()


def up_to_date(report: Path, state: str) -> bool:
    """Whether a folder is a report of this state, with just the files that it was written with."""
    try:
        known = json.loads((report / MARKER).read_text(encoding="utf-8"))
        return known["state"] == state and known["files"] == _files(report)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def remember(report: Path, state: str) -> None:
    """Write into a new report's marker what it was written from."""
    about = "A report by attnlab; it may be replaced as a whole."
    known = {"about": about, "state": state, "files": _files(report)}
    (report / MARKER).write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


def _files(report: Path) -> dict[str, int]:
    return {
        str(path.relative_to(report)): path.stat().st_size
        for path in sorted(report.rglob("*"))
        if path.is_file() and path.name != MARKER
    }


def _folders(study: Study) -> set[Path]:
    """The folders with the sources of a study: the package, and where its functions come from."""
    functions = [study.cells, *(claim.check for claim in study.claims)]
    functions += [part for figure in study.figures for part in (figure.data, figure.draw)]
    folders = {PACKAGE}
    for function in functions:
        while isinstance(function, functools.partial):  # its module is functools
            function = function.func
        module = sys.modules.get(getattr(function, "__module__", ""))
        file = getattr(module, "__file__", None)
        if file and PACKAGE not in Path(file).parents:
            folders.add(Path(file).parent)
    return folders


def _text(path: Path | None) -> str:
    return path.read_text(encoding="utf-8") if path else ""


@functools.cache
def _digest(folder: Path) -> str:
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.suffix in SOURCES and path.is_file():
            total.update(str(path.relative_to(folder)).encode())
            total.update(path.read_bytes())
    return total.hexdigest()
