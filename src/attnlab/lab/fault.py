"""An exception in words: what it says and where it arose, on one line."""

from __future__ import annotations

import traceback
from pathlib import Path

from attnlab.errors import AttnlabError


def describe(reason: BaseException, within: Path | None = None) -> str:
    """The sentence of our own errors; of others their kind, message, file and line.

    With `within`, the place is the deepest one in that folder: a person's own line, rather than
    the library it called.
    """
    if isinstance(reason, AttnlabError):
        return str(reason)
    message = " ".join((reason.msg if isinstance(reason, SyntaxError) else str(reason)).split())
    file, line = _place(reason, within)
    return f"{type(reason).__name__}: {message} ({file}:{line})"


def _place(reason: BaseException, within: Path | None) -> tuple[str, int | None]:
    if isinstance(reason, SyntaxError) and reason.filename:
        return Path(reason.filename).name, reason.lineno
    frames = traceback.extract_tb(reason.__traceback__)
    own = [frame for frame in frames if within and Path(frame.filename).is_relative_to(within)]
    where = (own or frames)[-1]
    return Path(where.filename).name, where.lineno
