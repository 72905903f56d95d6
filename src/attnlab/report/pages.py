"""The pages: what the templates are given, and the templates filled in.

Nothing is written here; `render` gives the text of every page by its file name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from attnlab.lab.ledger import Entry
from attnlab.lab.study import Scale
from attnlab.report import documentation, text
from attnlab.report.article import Chapter
from attnlab.report.deciding import command_for
from attnlab.report.verdicts import MARKS, Mark, counts, mark_of, plain_mark

TEMPLATES = Path(__file__).parent / "templates"
LEDGER = "ledger.html"


@dataclass(frozen=True)
class Edition:
    """One report: the studies in it, at one scale and seed."""

    scale: Scale
    seed: int
    chapters: Sequence[Chapter]
    notes: tuple[str, ...] = ()

    @property
    def entries(self) -> list[Entry]:
        """Every claim."""
        return [entry for chapter in self.chapters for entry in chapter.entries]

    @property
    def counts(self) -> list[tuple[Mark, int]]:
        """How many claims have each verdict."""
        return counts(self.entries)


def render(edition: Edition) -> dict[str, str]:
    """The text of every page by its file name."""
    templates = environment()
    shared = {"edition": edition, "marks": list(MARKS.values())}
    study = templates.get_template("study.html")
    pages = {
        "index.html": templates.get_template("index.html").render(**shared, here="index.html"),
        LEDGER: templates.get_template("ledger.html").render(**shared, here=LEDGER),
    }
    documented = {
        each.study.name: path
        for each in edition.chapters
        if (path := documentation.source_of(each.study))
    }
    for chapter in edition.chapters:
        source = documented.get(chapter.study.name)
        about = documentation.page_name(chapter.study) if source else ""
        own = {**shared, "here": chapter.page, "chapter": chapter}
        pages[chapter.page] = study.render(**own, about=about)
        if source:
            html = documentation.as_html(source.read_text(encoding="utf-8"), documented)
            pages[about] = templates.get_template("docs.html").render(**own, documentation=html)
    return pages


def environment() -> jinja2.Environment:
    """The templates, with the filters they use."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    filters: dict[str, Any] = {
        "value": text.value,
        "slug": text.slug,
        "linked": text.linked,
        "paragraphs": text.paragraphs,
        "duration": text.duration,
        "counted": text.counted,
        "mark": mark_of,
        "plain_mark": plain_mark,
        "rendered": text.rendered,
        "decided_by": command_for,
    }
    environment.filters.update(filters)
    return environment
