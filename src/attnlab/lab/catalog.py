"""Which studies exist: every folder of `attnlab.studies`, and of a folder the user names.

Looking for names reads directories only; a study is imported when it is asked for.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

from attnlab.errors import UserError
from attnlab.lab.fault import told
from attnlab.lab.study import Study

BUILT_IN = Path(__file__).parent.parent / "studies"


def study_names(extra: Path | None = None) -> list[str]:
    """The names of the built-in studies and of those in the folder `extra`."""
    return sorted({**_folders(BUILT_IN), **(_folders(extra) if extra else {})})


def load_study(name: str, extra: Path | None = None) -> Study:
    own = _folders(extra) if extra else {}
    if name in own:
        module = _import_folder(f"attnlab_study_{name}", own[name])
    elif name in _folders(BUILT_IN):
        module = importlib.import_module(f"attnlab.studies.{name}")
    else:
        raise UserError(f"Unknown study {name!r}; accepted are {', '.join(study_names(extra))}.")
    found = getattr(module, "study", None)
    if not isinstance(found, Study):
        raise UserError(f"The folder of study {name!r} must define 'study', a Study.")
    if found.name != name:
        raise UserError(
            f"The folder {name!r} holds a study named {found.name!r}; rename one of them."
        )
    return found


def load_studies(names: Sequence[str], extra: Path | None = None) -> list[Study]:
    """The named studies in the order given, or all of them."""
    return [load_study(name, extra) for name in dict.fromkeys(names or study_names(extra))]


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
        spec.loader.exec_module(module)
    except Exception as reason:
        for each in [key for key in sys.modules if key == name or key.startswith(f"{name}.")]:
            del sys.modules[each]
        raise UserError(
            f"The study in {folder} cannot be loaded: {told(reason, within=folder)}."
        ) from reason
    return module
