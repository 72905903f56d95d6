"""The command line started again and again, in children of a process that has imported it.

    python -m tests.lab.forked_command reproduce toy ...

For every line on standard input it forks a child that runs the command, prints the child's id, and
prints how the child ended. Starting Python and importing the libraries costs more than a test of
fifty kills computes.
"""

import os
import sys

import pyarrow.parquet  # noqa: F401

import attnlab.lab.runner
import attnlab.lab.store
import attnlab.report.digest
import attnlab.report.folder
import attnlab.report.terminal  # noqa: F401
from attnlab.cli.main import main


def run(arguments: list[str]) -> None:
    """The command as a process of its own would run it, without a word."""
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(silence, stream)
    sys.argv = ["attnlab", *arguments]
    try:
        main()
    finally:
        os._exit(1)  # a run that ends by itself was not killed


if __name__ == "__main__":
    for _ in sys.stdin:
        if not (child := os.fork()):
            run(sys.argv[1:])
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
