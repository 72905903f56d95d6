"""Ctrl-C and SIGTERM: one sentence, one exit code, and an end that does not wait for anything.

Python raises an interrupt between two of its own steps. That is right in our own code, which then
closes what it opened. In a callback of JAX or of the import system it is not: the exception is lost
there, or ends the process in a fault. The process then ends at once instead, which loses nothing,
since the store and the report write whole files. And a program that was compiled runs for minutes
without such a step, so a thread of its own hears of the signal too and ends the process if nobody
else has after a while.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from types import FrameType
from typing import NoReturn

from attnlab.lab import interruption

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
THREAD = "interrupts"  # the name of what hears of them
PATIENCE = 5.0  # seconds for an orderly end
UNSAFE = {"jax", "jaxlib", "equinox", "optax", "importlib", "_frozen_importlib"}
SHOW_CURSOR = "\x1b[?25h"


class Terminated(KeyboardInterrupt):
    """SIGTERM: leave as carefully as on Ctrl-C."""


def interrupt(number: int, frame: FrameType | None) -> None:
    """The handler of both signals."""
    if _within_a_library(frame):
        _leave(number)
    raise Terminated if number == signal.SIGTERM else KeyboardInterrupt


def sentence() -> str:
    """What is said after an interrupt."""
    return f"attnlab: {interruption.sentence()}"


def code_of(stop: KeyboardInterrupt) -> int:
    """The exit code after an interrupt."""
    return CODES[signal.SIGTERM if isinstance(stop, Terminated) else signal.SIGINT]


def watch(patience: float = PATIENCE) -> None:
    """From now on an interrupt ends this process, after `patience` seconds at the latest.

    A command in the background of a shell script does not hear of Ctrl-C, and stays so.
    """
    for number in CODES:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, interrupt)
    heard, told = socket.socketpair()
    told.setblocking(False)
    signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)

    def wait(told: socket.socket) -> None:  # which stays open as long as this thread runs
        while (number := heard.recv(1)) and number[0] not in CODES:
            pass
        time.sleep(patience)
        _leave(number[0])

    threading.Thread(target=wait, args=(told,), daemon=True, name=THREAD).start()


def _within_a_library(frame: FrameType | None) -> bool:
    while frame is not None:
        if str(frame.f_globals.get("__name__")).partition(".")[0] in UNSAFE:
            return True
        frame = frame.f_back
    return False


def _leave(number: int) -> NoReturn:
    """End the process with its sentence; a bar may have hidden the terminal's cursor."""
    for stream in (sys.stdout, sys.stderr):
        if stream.isatty():
            os.write(stream.fileno(), SHOW_CURSOR.encode())
    os.write(2, f"{sentence()}\n".encode())
    os._exit(CODES[signal.Signals(number)])
