"""Benchmarks and scripts do not run in the tests; what they import from attnlab must be there."""

import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted([*(ROOT / "benchmarks").glob("*.py"), *(ROOT / "scripts").glob("*.py")])


def names(file: Path) -> list[tuple[str, str]]:
    """Module and name of everything that a file imports from attnlab."""
    found = []
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("attnlab"):
            found += [(node.module or "", alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names if alias.name.startswith("attnlab")]
    return found


def test_there_are_benchmarks_and_scripts():
    assert {file.parent.name for file in FILES} == {"benchmarks", "scripts"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_what_a_file_imports_from_attnlab_is_there(file):
    missing = []
    for module, name in names(file):
        try:
            held = importlib.import_module(module)
            if name and not hasattr(held, name):
                importlib.import_module(f"{module}.{name}")
        except ImportError:
            missing.append(f"{module}.{name}".strip("."))
    assert not missing
