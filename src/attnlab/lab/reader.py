"""Readers: what `attnlab read FILE` can open, and what a reading gives back.

A reader says which files are its own and which options it takes; its reading is sentences, tables
and pictures for people and a document for programs. Readers are found as entry points of the group
`attnlab.readers`, like studies, so that another package can add one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from attnlab.lab.presentation import Picture, TextTable

Progress = Callable[[int, int], None]  # how many of how many parts have been read


@dataclass(frozen=True, repr=False)
class Reading:
    """What was read from a file.

    `tables` takes whether there is room for wide tables. `pictures` are made when they are asked
    for. `written` are sentences about files that the reader wrote itself.
    """

    title: str
    sentences: Sequence[str]
    tables: Callable[[bool], Sequence[TextTable]]
    pictures: Callable[[], Sequence[Picture]]
    document: Mapping[str, Any]
    written: Sequence[str] = ()

    def __repr__(self) -> str:
        return "\n".join(self.sentences)

    def _repr_html_(self) -> str:
        from html import escape

        tables = "".join(_html(table, escape) for table in self.tables(True))
        return "".join(f"<p>{escape(each)}</p>" for each in self.sentences) + tables


def _html(table: TextTable, escape: Callable[[str], str]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in table.columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(item)}</td>" for item in row) + "</tr>" for row in table.rows
    )
    caption = f"<caption>{escape(table.title)}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class Reader(Protocol):
    """One kind of file that `attnlab read` opens.

    `kind` completes the sentence "the file is ...". `options` is a dataclass whose fields all have
    defaults; its docstrings become the help of the command line.
    """

    kind: str
    options: type

    def recognise(self, path: Path) -> Path | None:
        """The file that this reader would read for a file or folder; None if it is not its own.

        A path that cannot be read at all raises a UserError.
        """
        ...

    def read(self, path: Path, options: Any, progress: Progress | None = None) -> Reading:
        """Read a file that was recognised."""
        ...


@runtime_checkable
class SeriesReader(Protocol):
    """A reader that also reads several files as a series, such as checkpoints over training."""

    def read_series(
        self, paths: Sequence[Path], options: Any, progress: Progress | None = None
    ) -> Reading:
        """Read files that were recognised, in an order of the reader's own."""
        ...
