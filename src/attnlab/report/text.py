"""Small pieces of writing shared by pages and terminal: numbers, file names, links to arXiv."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markupsafe import Markup

ARXIV = re.compile(r"arXiv:(\d{4}\.\d{4,5}(?:v\d+)?)")
UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
LETTER = "A-Za-zα-ωΑ-Ω"
WORD = rf"[{LETTER}0-9]+(?:[./][{LETTER}0-9]+)*"
PIECES = re.compile(
    r"\$(?P<tex>[^$]+)\$"
    r"|`(?P<code>[^`]+)`"
    rf"|(?<![{LETTER}0-9])(?P<base>[{LETTER}])_(?P<sub>\{{[^}}]*\}}|[{LETTER}0-9]+|\*)"
    rf"|\^(?P<sup>\{{[^}}]*\}}|\((?:[^()]|\([^()]*\))*\)|[-−]?{WORD}|\*)"
)


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


def rendered(words: str) -> Markup:
    """A text with its mathematics: TeX between dollar signs, x_1 and x^2 elsewhere, and `code`.

    All else is text. TeX that is not rendered stays as it was written.
    """
    from markupsafe import Markup, escape

    pieces, end = [], 0
    for found in PIECES.finditer(words):
        pieces += [escape(words[end : found.start()]), Markup(_piece(found))]
        end = found.end()
    return Markup("").join([*pieces, escape(words[end:])])


def _piece(found: re.Match[str]) -> str:
    from html import escape

    from attnlab.report.mathml import mathml

    if found["tex"]:
        try:
            return mathml(found["tex"])
        except ValueError:
            return escape(found[0])
    if found["code"]:
        return f"<code>{escape(found['code'])}</code>"
    if found["base"]:
        return f"<i>{found['base']}</i><sub>{escape(found['sub'].strip('{}'))}</sub>"
    return f"<sup>{escape(_bare(found['sup']))}</sup>"


def _bare(power: str) -> str:
    """A power without the brackets around all of it."""
    return power[1:-1] if power[0] in "{(" else power


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


def sentences(words: str) -> list[str]:
    """A text cut after each full stop that ends a sentence."""
    return [part for part in re.split(r"(?<=[.!?])\s+(?=[A-Z])", " ".join(words.split())) if part]
