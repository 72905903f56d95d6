"""Ctrl-C and SIGTERM: one sentence, one exit code, and an end that does not wait for anything.

Python raises an interrupt between two of its own steps. A program that JAX or LAPACK runs for
minutes has none, and one that arrives while a library calls back into Python can be lost. So a
thread of its own hears of the signal too, and ends the process if nobody else has after a while.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from types import FrameType

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
SENTENCE = "attnlab: interrupted; finished cells are in the store; the same command continues."
PATIENCE = 5.0  # seconds for an orderly end


class Terminated(KeyboardInterrupt):
    """SIGTERM: leave as carefully as on Ctrl-C."""


def terminate(number: int, frame: FrameType | None) -> None:
    """The handler of SIGTERM."""
    raise Terminated


def code_of(stop: KeyboardInterrupt) -> int:
    """The exit code after an interrupt."""
    return CODES[signal.SIGTERM if isinstance(stop, Terminated) else signal.SIGINT]


def watch(patience: float = PATIENCE) -> None:
    """From now on an interrupt ends this process after `patience` seconds at the latest.

    Nothing is lost by that: the store and the report write whole files.
    """
    heard, told = socket.socketpair()
    told.setblocking(False)
    signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)

    def wait(told: socket.socket) -> None:  # which stays open as long as this thread runs
        while (number := heard.recv(1)) and number[0] not in CODES:
            pass
        time.sleep(patience)
        os.write(2, f"{SENTENCE}\n".encode())
        os._exit(CODES[signal.Signals(number[0])])

    threading.Thread(target=wait, args=(told,), daemon=True, name="interrupts").start()
