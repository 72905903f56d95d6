"""A worker process: `python -m attnlab.lab.worker` answers requests until its input ends.

Its standard output carries frames (see `attnlab.lab.frames`), so whatever a cell prints goes to
standard error instead. Ctrl-C in a terminal reaches every process of a command; a worker leaves it
to the process that started it. A worker that was given a GPU begins with a frame that says why it
cannot use it, or is empty.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from typing import IO, NoReturn

from attnlab.lab.fault import describe
from attnlab.lab.frames import read_frame, write_finished, write_frame, write_progress
from attnlab.lab.part import Finished
from attnlab.lab.seats import EXPECTED
from attnlab.lab.sitting import Report
from attnlab.lab.task import answer


def main() -> None:
    """Answer requests from standard input until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        _serve(requests, answers)
    except BrokenPipeError:
        _leave()


def _serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    if EXPECTED in os.environ:
        write_frame(answers, _why_no_gpu().encode())
    while (request := read_frame(requests)) is not None:
        try:
            finished = answer(request.decode(), _reporting(answers))
        except Exception as reason:  # the study itself cannot be loaded here
            finished = Finished("", error=describe(reason))
        write_finished(answers, finished)


def _reporting(answers: IO[bytes]) -> Report:
    """Sends progress; nobody who listens any more is the end of a cell, not an error of it."""

    def report(done: int, total: int, unit: str) -> None:
        try:
            write_progress(answers, done, total, unit)
        except BrokenPipeError:
            _leave()

    return report


def _leave() -> NoReturn:
    """End without a word: the process that started this one is gone, and so is its terminal's."""
    os._exit(1)


def _why_no_gpu() -> str:
    """Why JAX does not compute on a GPU in this process, as the end of a sentence; or nothing."""
    logging.getLogger("jax").setLevel(logging.ERROR)  # it would say the same in other words
    try:
        import jax

        if jax.default_backend() == "gpu":
            return ""
    except Exception as reason:
        return f"JAX does not start there ({describe(reason)})."
    return "JAX finds no GPU there; pip install 'attnlab[cuda]' installs what it needs for one."


if __name__ == "__main__":
    main()
