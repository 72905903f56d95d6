"""The notebooks of `examples` run as they are, and show pictures and tables without a network."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from tests.docs.markdown_pages import ROOT

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_its_figures_and_ledgers_offline(path, tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    own = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{own}{os.pathsep}{os.environ['PATH']}")
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "outputs are not kept"
    place = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=300, resources=place).execute()

    outputs = [each for cell in notebook.cells for each in cell.get("outputs", ())]
    printed = "".join(each.text for each in outputs if each.output_type == "stream")
    assert "\x1b" not in printed  # no bar that is drawn again and again
    shown = [each.data for each in outputs if "data" in each]
    pictures = [data["image/svg+xml"] for data in shown if "image/svg+xml" in data]
    tables = [data["text/html"] for data in shown if "text/html" in data]
    assert any("mark-line" in picture for picture in pictures)
    assert any("holds as corrected" in table for table in tables)
    for part in (*pictures, *tables):
        assert not re.search(r"<script|<link|\bsrc=|href=\"http|url\(http", part)


def test_there_is_a_notebook():
    assert NOTEBOOKS
