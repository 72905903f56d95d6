"""The words and tables that make a study's page an article: problem, findings, glossary, tables.

Texts may hold mathematics between dollar signs, in the small part of TeX that the report renders
(`attnlab.report.mathml`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from attnlab.lab.judgement import Verdict


@dataclass(frozen=True)
class Finding:
    """A sentence about what was found, shown only while the ledger agrees with it.

    Parameters
    ----------
    text
        The sentence.
    claims
        The ids of the claims behind it.
    verdict
        The verdict that all of them must have.
    """

    text: str
    claims: tuple[str, ...]
    verdict: Verdict = "holds"


class GridCell(NamedTuple):
    """One cell of a table: lines of a label and a number each, and whether it is as it should be.

    `good` is None where there is nothing to compare with.
    """

    lines: tuple[tuple[str, str], ...]
    good: bool | None = None


class Grid(NamedTuple):
    """A table of the paper with our numbers in it: `rows` are a header and as many cells."""

    corner: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[GridCell | None, ...]], ...]
    note: str = ""


@dataclass(frozen=True)
class Article:
    """What a study's page says beside its statements.

    Parameters
    ----------
    introduction
        The problem and its symbols in about 150 words; paragraphs are parted by empty lines.
    findings
        What was found, the most important first; the front page shows the first two.
    glossary
        Names and what they mean.
    picture
        The id of the figure that stands for the study on the front page.
    tables
        Figures that are tables: id -> the table of the figure's rows.
    page
        The page of the documentation, such as "linear.md", in a folder `docs` above the study.
    """

    introduction: str = ""
    findings: tuple[Finding, ...] = ()
    glossary: tuple[tuple[str, str], ...] = ()
    picture: str = ""
    tables: Mapping[str, Callable[[list[dict[str, Any]]], Grid]] = field(default_factory=dict)
    page: str = ""
