"""Which studies and readers exist: declared by packages, ours, and in a folder of the user's.

A package declares a study as an entry point of the group `attnlab.studies`, whose value is
`module:study`, and a reader likewise in the group `attnlab.readers`. Our own are declared the same
way; `attnlab.papers` lists them again for a source tree that was never installed. Looking for
names imports nothing; a study or reader is imported when it is needed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import cast

from attnlab import papers
from attnlab.errors import UserError
from attnlab.lab.fault import describe
from attnlab.lab.reader import Reader
from attnlab.lab.study import Study

GROUP = "attnlab.studies"
READERS = "attnlab.readers"


def study_names(extra: Path | None = None) -> list[str]:
    """The names of the declared studies and of those in the folder `extra`."""
    declared, own = _declared(), _folders(extra) if extra else {}
    for name in own:
        if name in declared:
            raise UserError(
                f"The folder {own[name]} has the name of a study that is installed, {name!r}; "
                "rename the folder and its study."
            )
    return sorted({*declared, *own})


def load_study(name: str, extra: Path | None = None) -> Study:
    """The study of this name, declared or in the folder `extra`."""
    known = study_names(extra)
    own = _folders(extra) if extra else {}
    declared = _declared()
    if name in own:
        found = getattr(_import_folder(f"attnlab_study_{name}", own[name]), "study", None)
        place = f"folder {own[name]}"
    elif name in declared:
        found = _load(declared[name])
        place = f"entry point {declared[name].value!r}"
    else:
        raise UserError(f"Unknown study {name!r}; accepted are {', '.join(known)}.")
    if not isinstance(found, Study):
        raise UserError(f"The {place} of study {name!r} must define 'study', a Study.")
    if found.name != name:
        raise UserError(
            f"The {place} of study {name!r} holds a study named {found.name!r}; rename one of them."
        )
    return found


def load_studies(names: Sequence[str], extra: Path | None = None) -> list[Study]:
    """The named studies in the order given, or all of them."""
    return [load_study(name, extra) for name in dict.fromkeys(names or study_names(extra))]


def load_readers() -> dict[str, Reader]:
    """Every declared reader, ours first."""
    found = _declared(READERS, papers.READERS)
    ordered = sorted(found, key=lambda name: name not in papers.READERS)
    return {name: cast(Reader, _load(found[name], "reader")) for name in ordered}


def _declared(
    group: str = GROUP, ours: Mapping[str, str] = papers.STUDIES
) -> dict[str, EntryPoint]:
    """Every declared name. Ours cannot be replaced by another package's of the same name."""
    own = {name: EntryPoint(name, value, group) for name, value in ours.items()}
    others = {e.name: e for e in entry_points(group=group) if e.name not in own}
    return {**own, **others}


def _load(entry: EntryPoint, what: str = "study") -> object:
    try:
        with _quiet():
            return entry.load()
    except (Exception, SystemExit) as reason:
        raise UserError(
            f"The {what} {entry.name!r}, declared as {entry.value!r}, cannot be loaded: "
            f"{describe(reason)}."
        ) from reason


def _folders(root: Path) -> dict[str, Path]:
    if not root.is_dir():
        what = "is a file" if root.exists() else "does not exist"
        raise UserError(f"The folder of studies {root} {what}; give a folder (--studies-dir DIR).")
    return {path.parent.name: path.parent for path in sorted(root.glob("*/__init__.py"))}


def _import_folder(name: str, folder: Path):
    if name in sys.modules and sys.modules[name].__file__ == str(folder / "__init__.py"):
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with _quiet():
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as reason:
        for each in [key for key in sys.modules if key == name or key.startswith(f"{name}.")]:
            del sys.modules[each]
        raise UserError(
            f"The study in {folder} cannot be loaded: {describe(reason, within=folder)}."
        ) from reason
    return module


def _quiet() -> contextlib.AbstractContextManager[object]:
    """What a study prints while it is imported goes to standard error, not into an answer."""
    return contextlib.redirect_stdout(sys.stderr)
