import subprocess
import sys
import time

import pytest

from attnlab.cli.interrupts import CODES, SENTENCE

BEGIN = """
import hashlib, signal, time
from attnlab.cli.interrupts import terminate, watch

signal.signal(signal.SIGTERM, terminate)
watch(patience=0.2)
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


@pytest.mark.parametrize("number", CODES)
@pytest.mark.parametrize("does", [DEAF, BUSY])
def test_an_interrupt_that_nobody_hears_ends_the_process_as_promised(does, number):
    code = BEGIN + does
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.1)
    process.send_signal(number)
    _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (CODES[number], f"{SENTENCE}\n")
