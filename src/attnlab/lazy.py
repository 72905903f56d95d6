"""Public names of a package that are imported when they are first used.

A paper's `__init__.py` gives its few public names without importing JAX: the names and where they
come from stand once, in the stub `__init__.pyi` beside it, which editors and type checkers read
too. (The idea is that of SPEC 1 of Scientific Python.)
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any


def attach(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package, from the stub beside its `__init__`."""
    sources = names_of(Path(file).with_suffix(".pyi"), package)

    def __getattr__(name: str) -> Any:  # noqa: N807 - the name that Python looks for
        if name not in sources:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(sources[name]), name)

    return __getattr__, lambda: sorted(sources), sorted(sources)


def names_of(stub: Path, package: str) -> dict[str, str]:
    """Public name -> module, from the `from .module import name as name` lines of a stub."""
    found = {}
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            module = f"{package}.{node.module}" if node.level else str(node.module)
            found.update({alias.name: module for alias in node.names})
    return found
