"""Ctrl-C and SIGTERM while JAX trains: does the command end as promised, and how soon?

    python benchmarks/interrupts.py [NUMBER]

starts `attnlab run rank_encoder` 50 times with a training that would take minutes, interrupts it at
a random instant after JAX has been loaded, and counts the endings: the exit code has to be 130
after Ctrl-C and 143 after SIGTERM, standard error one sentence, and the store whole. A process that
ends in a fault of JAX's threads has another code.
"""

import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from attnlab.cli.interrupts import CODES
from attnlab.lab.store import Store

NUMBER = 50
LONGEST = 12.0  # seconds after JAX was loaded: it is imported, compiles and trains in them
PATIENCE = 60.0
TRAINING = ("--d", "16", "--steps", "1000000", "--batch", "128", "--seeds", "2")


def interrupted(number: int, folder: Path) -> tuple[str, float]:
    """How one interrupted command ended, and the seconds that it took to end."""
    sent = (signal.SIGINT, signal.SIGTERM)[number % 2]
    command = [sys.executable, "-m", "attnlab.cli", "run", "rank_encoder", *TRAINING]
    process = subprocess.Popen(
        [*command, "--seed", str(number), "--store", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for_jax(process)
    time.sleep(random.Random(number).uniform(0, LONGEST))
    process.send_signal(sent)
    start = time.perf_counter()
    try:
        _, said = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return f"no end within {PATIENCE:.0f} s of {sent.name}", PATIENCE
    seconds = time.perf_counter() - start
    if process.returncode != CODES[sent]:
        return f"exit code {process.returncode} after {sent.name}", seconds
    if not said.startswith("attnlab: interrupted") or said.count("\n") != 1:
        return f"said {said[-300:]!r}", seconds
    return "as promised", seconds


def wait_for_jax(process: subprocess.Popen[str]) -> None:
    """Until the process has JAX's library in its memory: from then on it compiles and trains."""
    end = time.perf_counter() + PATIENCE
    while time.perf_counter() < end and process.poll() is None:
        if "libjax" in Path(f"/proc/{process.pid}/maps").read_text():
            return
        time.sleep(0.05)
    raise SystemExit("The command never loaded JAX.")


def main() -> None:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else NUMBER
    # A background job of a shell ignores Ctrl-C, and so would what it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    endings, seconds = Counter[str](), []
    with tempfile.TemporaryDirectory(prefix="attnlab-benchmark-") as name:
        folder = Path(name) / "store"
        Store(folder)
        for each in range(number):
            ending, took = interrupted(each, folder)
            endings[ending] += 1
            seconds.append(took)
            if ending != "as promised":
                print(f"{each}: {ending}", flush=True)
        left = list((folder / "tmp").iterdir())
    for ending, count in endings.most_common():
        print(f"{count} of {number} interrupts: {ending}")
    print(
        f"seconds from the signal to the end: median {statistics.median(seconds):.2f}, "
        f"longest {max(seconds):.2f}; {len(left)} temporary files left in the store"
    )


if __name__ == "__main__":
    main()
