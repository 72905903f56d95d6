"""Which GPUs this machine has, found without importing JAX, and which of them were asked for.

A process in which JAX starts takes hold of every GPU that it sees, so it must not start in the
process that starts the workers: that one asks the driver, and a worker sees the GPU it is given.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from attnlab.errors import UserError

VISIBLE = "CUDA_VISIBLE_DEVICES"
DRIVER = Path("/proc/driver/nvidia/gpus")  # a folder per GPU, where there is no nvidia-smi
NONE = (
    "--gpus needs an NVIDIA GPU, and this machine shows none; leave it out, or give --workers N "
    "for processes without one."
)


def visible_gpus() -> tuple[str, ...]:
    """The GPUs that this process may use, by the names that CUDA_VISIBLE_DEVICES gives them.

    Where the user has set that variable, they are those that it names, as for every other program.
    """
    limited = os.environ.get(VISIBLE)
    if limited is None:
        return tuple(str(number) for number in range(_installed()))
    names = []
    for name in limited.replace(" ", "").split(","):
        if not re.fullmatch(r"\d+|(GPU|MIG)-[\w/-]+", name):
            break  # CUDA ignores such a name and all that follow it
        names.append(name)
    return tuple(names)


def _installed() -> int:
    """The number of GPUs that the driver lists."""
    try:
        done = subprocess.run(
            ["nvidia-smi", "-L"], capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return sum(1 for _ in DRIVER.iterdir()) if DRIVER.is_dir() else 0
    return len(re.findall(r"^GPU \d+:", done.stdout, re.MULTILINE))


def chosen_gpus(given: str, visible: Sequence[str]) -> tuple[str, ...]:
    """The GPUs of `--gpus all` or `--gpus 0,1` among the visible ones, numbered from 0.

    A GPU that is named twice has two processes. That pays where NVIDIA's MPS lets them compute at
    the same time, and otherwise costs time (docs/cluster.md).
    """
    words = given.replace(" ", "").split(",")
    if given != "all" and not all(word.isdecimal() for word in words):
        raise UserError(
            f"--gpus must be all or the numbers of GPUs, such as 0 or 0,1, got {given!r}."
        )
    if not visible:
        raise UserError(NONE)
    if given == "all":
        return tuple(visible)
    numbers = [int(word) for word in words]
    for number in numbers:
        if number >= len(visible):
            last = len(visible) - 1
            there = "is only GPU 0" if last == 0 else f"are GPUs 0 to {last}"
            raise UserError(f"--gpus names GPU {number}, but there {there}.")
    return tuple(visible[number] for number in numbers)
