"""The pages: what the templates are given, and the templates filled in.

Nothing is written here; `render` gives the text of every page by its file name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import jinja2

from attnlab.lab.coverage import Coverage, JudgedStatement, judged_statements
from attnlab.lab.ledger import Entry, Ledger
from attnlab.lab.study import Scale, Study
from attnlab.report import text
from attnlab.report.figures import Drawn
from attnlab.report.provenance import Provenance
from attnlab.report.verdicts import MARKS, Mark, counts, mark_of

TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Chapter:
    """One study, ready to be shown."""

    study: Study
    entries: Sequence[Entry]
    figures: Sequence[Drawn]
    provenance: Provenance

    @property
    def page(self) -> str:
        return f"{self.study.name}.html"

    @property
    def statements_page(self) -> str:
        return f"{self.study.name}-statements.html"

    @cached_property
    def statements(self) -> list[JudgedStatement]:
        """The statements of the paper with the claims about them."""
        return judged_statements(self.study, Ledger(self.entries))

    @property
    def coverage(self) -> Coverage:
        return Coverage.of(self.statements)

    @property
    def counts(self) -> list[tuple[Mark, int]]:
        return counts(self.entries)

    def shown_by(self, entry: Entry) -> list[Drawn]:
        """The figures that a claim names as its evidence."""
        claim = next(c for c in self.study.claims if c.id == entry.id)
        return [figure for figure in self.figures if figure.id in claim.figures]

    def claims_on(self, figure: Drawn) -> list[str]:
        return [claim.id for claim in self.study.claims if figure.id in claim.figures]


@dataclass(frozen=True)
class Edition:
    """One report: the studies in it, at one scale and seed."""

    scale: Scale
    seed: int
    chapters: Sequence[Chapter]
    notes: tuple[str, ...] = ()

    @property
    def entries(self) -> list[Entry]:
        return [entry for chapter in self.chapters for entry in chapter.entries]


def render(edition: Edition) -> dict[str, str]:
    templates = environment()
    shared = {"edition": edition, "marks": list(MARKS.values())}
    index = templates.get_template("index.html")
    study = templates.get_template("study.html")
    statements = templates.get_template("statements.html")
    pages = {"index.html": index.render(**shared, here="")}
    for chapter in edition.chapters:
        pages[chapter.page] = study.render(**shared, here=chapter.page, chapter=chapter)
        if chapter.study.statements:
            pages[chapter.statements_page] = statements.render(
                **shared, here=chapter.page, chapter=chapter
            )
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
    }
    environment.filters.update(filters)
    return environment
