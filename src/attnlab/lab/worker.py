"""A worker process: `python -m attnlab.lab.worker` answers requests until its input ends.

Its standard output carries frames (see `attnlab.lab.frames`), so whatever a cell prints goes to
standard error instead. Ctrl-C in a terminal reaches every process of a command; a worker leaves it
to the process that started it.
"""

from __future__ import annotations

import functools
import os
import signal
import sys

from attnlab.lab.fault import describe
from attnlab.lab.frames import read_frame, write_finished, write_progress
from attnlab.lab.part import Finished
from attnlab.lab.task import answer


def main() -> None:
    """Answer requests from standard input until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while (request := read_frame(requests)) is not None:
        try:
            finished = answer(request.decode(), functools.partial(write_progress, answers))
        except Exception as reason:  # the study itself cannot be loaded here
            finished = Finished("", error=describe(reason))
        write_finished(answers, finished)


if __name__ == "__main__":
    main()
