"""Small pieces of writing shared by pages and terminal: numbers, file names, links to arXiv."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markupsafe import Markup

ARXIV = re.compile(r"arXiv:(\d{4}\.\d{4,5}(?:v\d+)?)")
UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def value(given: Any, digits: int = 4) -> str:
    """A measured value as people write it: `digits` significant digits, nothing for None."""
    if given is None:
        return ""
    if isinstance(given, float):
        return f"{given:.{digits}g}"
    return str(given)


def printable(text: str) -> str:
    """A text whose control characters are written out, so that none reaches a terminal."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def slug(identifier: str) -> str:
    """An identifier as a file name and anchor."""
    return UNSAFE.sub("-", identifier).strip(".-") or "unnamed"


def linked(source: str) -> Markup:
    """Plain text with its arXiv numbers as links."""
    from markupsafe import Markup, escape

    pieces, end = [], 0
    for found in ARXIV.finditer(source):
        pieces.append(escape(source[end : found.start()]))
        address = f"https://arxiv.org/abs/{found[1]}"
        pieces.append(Markup('<a href="{}">{}</a>').format(address, found[0]))
        end = found.end()
    return Markup("").join([*pieces, escape(source[end:])])


def paragraphs(text: str) -> list[str]:
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text.strip()) if part.strip()]


def duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.3g} s"
    if seconds < 3600:
        return f"{seconds / 60:.1f} min"
    return f"{seconds / 3600:.1f} h"


def counted(number: int, noun: str, plural: str = "") -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
