"""Sphinx settings: pages in MyST, examples run at every build, nothing loaded from the network.

Equations become MathML through docutils' own converter, which browsers draw by themselves, so the
built pages need neither MathJax nor LaTeX.
"""

import logging
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

import attnlab

sys.path.insert(0, str(Path(__file__).parent))
import gallery_page

project = "attnlab"
author = "The attnlab developers"
copyright = author
version = release = attnlab.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc"]
exclude_patterns = ["_build", "jupyter_execute"]

html_theme = "furo"
html_title = f"attnlab {release}"
html_math_renderer = "mathml"
html_copy_source = False
html_show_sphinx = False
templates_path: list[str] = []

myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3

nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88

# Kernels that run the examples print as wide as the pages are, see no settings of the person who
# builds them, and speak up only for errors.
os.environ["COLUMNS"] = "80"
os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
_ipython = tempfile.TemporaryDirectory()
os.environ["IPYTHONDIR"] = _ipython.name
_profile = Path(_ipython.name) / "profile_default"
_profile.mkdir()
(_profile / "ipython_kernel_config.py").write_text("get_config().IPKernelApp.log_level = 40\n")
logging.getLogger("traitlets").setLevel(logging.WARNING)
# The examples run with the interpreter that builds the pages, whatever else is on the path.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

CODE = re.compile(r"`([^`]+)`")
SPECIAL = re.compile(r"([*|_\\])")


def _as_rst(line: str) -> str:
    """Escape what reStructuredText would read as markup; `code` keeps its meaning."""
    parts = CODE.split(line)
    return "".join(
        f"``{part}``" if index % 2 else SPECIAL.sub(r"\\\1", part)
        for index, part in enumerate(parts)
    )


LISTS = ("Parameters", "Attributes", "Returns", "Raises")
SECTIONS = (*LISTS, "Examples", "Notes")


def plain_docstrings(app: Any, what: str, name: str, obj: Any, options: Any, lines: list) -> None:
    """Our docstrings are plain text with `code`, indented formulas and sections as NumPy has them.

    A formula becomes a literal block, and a section a list of definitions.
    """
    if len(lines) and lines[0].startswith("Alias for field number"):
        lines.clear()
    written, literal, section = [], False, ""
    for number, line in enumerate(lines):
        after = lines[number + 1] if number + 1 < len(lines) else ""
        if line in SECTIONS and set(after) == {"-"}:
            section = line
            written += [f"**{line}**", ""]
        elif section and set(line) == {"-"}:
            continue
        elif section in LISTS and line:
            written.append(line[: len(line) - len(line.lstrip())] + _as_rst(line.lstrip()))
        else:
            indented = line.startswith("    ") or (section == "Examples" and bool(line))
            if indented and not literal:
                written += ["::", ""]
            if line:
                literal = indented
            if indented and section == "Examples":
                line = f"    {line}"
            written.append(line if indented else _as_rst(line))
    lines[:] = written


def _visit_inline(self: Any, node: nodes.math) -> None:
    self.body.append(tex2mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def _visit_block(self: Any, node: nodes.math_block) -> None:
    self.body.append(f"<div>{tex2mathml(node.astext(), as_block=True)}</div>\n")
    raise nodes.SkipNode


def _show_gallery(app: Any, name: str, source: list[str]) -> None:
    """The page of the gallery gets its examples, which run now, with their pictures."""
    if name == "gallery/index":
        source[0] = gallery_page.with_examples(source[0], Path(app.outdir) / "_images")


def setup(app: Any) -> None:
    app.connect("source-read", _show_gallery)
    app.connect("autodoc-process-docstring", plain_docstrings)
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))
