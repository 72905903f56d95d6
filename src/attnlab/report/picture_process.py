"""Pictures drawn by a process beside this one: they take most of the time of a whole report.

vl-convert draws one picture at a time, and holds up all of Python while it starts and while it puts
the script of the figures together; meanwhile this process judges claims and makes documents. What
the other process does not answer is drawn here: nothing is lost with it, and a fault is described
as always.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from attnlab.drawing import pictures
from attnlab.lab.frames import read_frame, write_frame
from attnlab.lab.processes import end_process

MANY = 16  # pictures that are worth the start of a process


@dataclass
class Drawer:
    """A thread for jobs that draw: `jobs` runs them, `svg` and `bundle` are what they call."""

    jobs: ThreadPoolExecutor
    apart: bool = False  # in a process of its own
    process: subprocess.Popen[bytes] | None = None

    def svg(self, spec: dict[str, Any]) -> str:
        """The picture of a document, as `pictures.svg_of` draws it."""
        return self._answer(spec) or pictures.svg_of(spec)

    def bundle(self) -> str:
        """The script of the figures, as `pictures.vega_bundle` puts it together."""
        return self._answer(None) or pictures.vega_bundle()

    def _answer(self, spec: dict[str, Any] | None) -> str:
        """What the other process says; empty where there is none, or it has no answer."""
        if not self.apart:
            return ""
        try:
            self.process = self.process or _started()  # it starts while Altair is imported here
            request = json.dumps({"version": pictures.vega_lite(), "spec": spec})
            assert self.process.stdin is not None
            assert self.process.stdout is not None
            write_frame(self.process.stdin, request.encode())
            return (read_frame(self.process.stdout) or b"").decode()
        except (OSError, ValueError):  # it has ended
            return ""


@contextlib.contextmanager
def open_drawer(pictures: int = 1) -> Generator[Drawer]:
    """What draws so many pictures, in a process of its own where there is a core for it."""
    with ThreadPoolExecutor(1) as jobs:
        found = Drawer(jobs, apart=pictures >= MANY and _cores() > 1)
        try:
            yield found
        finally:
            jobs.shutdown(cancel_futures=True)
            if found.process:
                end_process(found.process)


def _started() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "attnlab.report.picture_worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # its faults show when this process draws in its place
        start_new_session=True,  # Ctrl-C in a terminal is this process's to handle
    )


def _cores() -> int:
    """The cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1
