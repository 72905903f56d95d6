"""A study's page of the documentation inside the report, so that its link works on any machine.

The page is Markdown in the `docs` folder of the source tree that the study comes from. A package
that was installed without its sources has none: the report then names the page and links nothing.
Examples are shown as they are written; links to other pages of the documentation are kept where the
report has those pages, and are plain words elsewhere.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab.report.mathml import mathml

if TYPE_CHECKING:
    from markupsafe import Markup

    from attnlab.lab.study import Study

DEPTH = 6  # folders above a study's source in which `docs` is looked for
FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
FENCE = re.compile(r"^(```|~~~)")
MATH = re.compile(r"\$\$(?P<block>.+?)\$\$|\$(?P<inline>\S[^$\n]*?)\$", re.DOTALL)
HELD = re.compile("\ue000(\\d+)\ue001")


def source_of(study: Study) -> Path | None:
    """The Markdown of the study's page; None where the sources are not there."""
    page = study.article.page
    module = sys.modules.get(getattr(study.cells, "__module__", ""))
    file = getattr(module, "__file__", None)
    if not page or Path(page).name != page or not file:
        return None
    folders = Path(file).resolve().parents[:DEPTH]
    return next((path for each in folders if (path := each / "docs" / page).is_file()), None)


def page_name(study: Study) -> str:
    """The file of the page in the report; a study's name has no hyphen."""
    return f"docs-{study.name}.html"


def as_html(source: str, pages: Collection[str]) -> Markup:
    """The page as HTML; `pages` are the studies whose pages the report has."""
    from markdown_it import MarkdownIt
    from markupsafe import Markup

    words, held = _without_math(FRONT_MATTER.sub("", source))
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = reader.parse(words)
    for token in tokens:
        for part in token.children or ():
            _relink(part, pages)
    found = reader.renderer.render(tokens, reader.options, {})
    found = found.replace("<table>", '<div class="scroll" tabindex="0"><table>')
    found = found.replace("</table>", "</table></div>")
    return Markup(HELD.sub(lambda number: _math(held[int(number[1])]), found))


def _relink(part: Any, pages: Collection[str]) -> None:
    """A link into the documentation leads to the page of the report, or nowhere."""
    if part.type == "image":
        part.type, part.tag, part.content = "text", "", part.content or "picture"
    if part.type != "link_open":
        return
    target, _, anchor = str(part.attrs.get("href", "")).partition("#")
    if target.startswith(("https://", "http://")):
        return
    name = target.removesuffix(".md")
    if name in pages and not anchor:
        part.attrs["href"] = f"docs-{name}.html"
    else:
        del part.attrs["href"]


def _without_math(source: str) -> tuple[str, list[re.Match[str]]]:
    """The text with its mathematics held back, which Markdown would misread; code stays."""
    held: list[re.Match[str]] = []

    def hold(found: re.Match[str]) -> str:
        held.append(found)
        return f"\ue000{len(held) - 1}\ue001"

    pieces, inside = [], False
    for line in re.split(r"(?m)^(?=```|~~~)", source):
        starts = bool(FENCE.match(line))
        inside = starts and not inside
        if not starts:
            pieces.append(MATH.sub(hold, line))
        elif inside:
            pieces.append(line)
        else:
            fence, end, rest = line.partition("\n")
            pieces.append(fence + end + MATH.sub(hold, rest))
    return "".join(pieces), held


def _math(found: re.Match[str]) -> str:
    """A formula; one that has a line of its own can be moved where the screen is too narrow."""
    tex = found["block"] or found["inline"]
    try:
        formula = mathml(" ".join(tex.split()), block=bool(found["block"]))
    except ValueError:
        return f"<code>{escape(tex)}</code>"
    return f'<span class="formula" tabindex="0">{formula}</span>' if found["block"] else formula
