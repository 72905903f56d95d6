import subprocess
import sys
import time

import pytest

from attnlab.cli.interrupts import CODES, sentence

BEGIN = """
import hashlib, signal, time
from attnlab.cli.interrupts import watch

signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background ignore it
watch(patience={patience})
print("ready", flush=True)
"""
DEAF = """
while True:
    try:
        time.sleep(60)
    except KeyboardInterrupt:  # as in a callback whose exceptions are dropped
        pass
"""
BUSY = """
hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9)  # minutes in C: the main thread hears of nothing
"""
CALLBACK = """
own = {"__name__": "jax._src.lib", "time": time}
exec("def callback(): time.sleep(60)", own)
try:
    own["callback"]()
except KeyboardInterrupt:  # dropped
    time.sleep(60)
"""


@pytest.mark.parametrize("number", CODES)
@pytest.mark.parametrize("does", [DEAF, BUSY])
def test_an_interrupt_that_nobody_hears_ends_the_process_as_promised(does, number):
    ended = interrupted(BEGIN.format(patience=0.2) + does, number)
    assert ended == (CODES[number], f"{sentence()}\n")


@pytest.mark.parametrize("number", CODES)
def test_an_interrupt_within_a_callback_of_jax_ends_the_process_at_once(number):
    ended = interrupted(BEGIN.format(patience=60) + CALLBACK, number)
    assert ended == (CODES[number], f"{sentence()}\n")


def test_a_command_that_does_not_hear_of_ctrl_c_stays_so():
    does = "print(signal.getsignal(signal.SIGINT) == signal.SIG_IGN)"
    begin = BEGIN.replace("watch(", "signal.signal(signal.SIGINT, signal.SIG_IGN)\nwatch(")
    code = begin.format(patience=60) + does
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "ready\nTrue\n"


def interrupted(code: str, number: int) -> tuple[int, str]:
    """How a program ends that is interrupted when it is ready."""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.1)
        process.send_signal(number)
        try:
            _, said = process.communicate(timeout=300)
        finally:
            process.kill()
    return process.returncode, said
