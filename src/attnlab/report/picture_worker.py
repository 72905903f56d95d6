"""A process that draws: `python -m attnlab.report.picture_worker` answers until its input ends.

A request is a frame (see `attnlab.lab.frames`) with the version of Vega-Lite and a document, as
JSON; without a document it asks for the script that draws in a browser. The answer is a frame with
the picture or the script, and an empty one where there is none: whoever asked then draws by itself
and sees why.
"""

from __future__ import annotations

import json
import os
import sys

from attnlab.drawing import pictures
from attnlab.lab.frames import read_frame, write_frame


def main() -> None:
    """Answer requests from standard input until it ends."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while (request := read_frame(requests)) is not None:
        write_frame(answers, _answer(**json.loads(request)).encode())


def _answer(version: str, spec: dict | None) -> str:
    try:
        return pictures.vega_bundle(version) if spec is None else pictures.svg_of(spec, version)
    except Exception:
        return ""


if __name__ == "__main__":
    main()
