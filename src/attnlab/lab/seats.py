"""Seats: one worker process each, with the device it is given and the cells it takes.

What a worker sees of the machine is decided by its environment, before it imports JAX.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from attnlab.lab.gpus import VISIBLE
from attnlab.lab.needs import Device
from attnlab.lab.programs import PROGRAMS, kept_programs

EXPECTED = "ATTNLAB_WORKER_GPU"  # set for a worker that must find a GPU
# Memory of a GPU is taken as it is needed: several processes may share one.
SHARING = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
FRACTION, WHOLE = "XLA_PYTHON_CLIENT_MEM_FRACTION", 0.9  # of it, for all processes together
THREADS = "NPROC"  # the threads that XLA starts on a processor, by default one per core


@dataclass(frozen=True)
class Seat:
    """The place of one worker process.

    Parameters
    ----------
    name
        What sentences call it.
    takes
        The devices whose cells run here, those that come first first.
    environment
        Variables that differ from those of this process; None removes one.
    """

    name: str
    takes: tuple[Device, ...]
    environment: Mapping[str, str | None]

    @property
    def has_gpu(self) -> bool:
        """Whether its worker says at the start if JAX finds its GPU."""
        return self.environment.get(EXPECTED) is not None

    def surroundings(self) -> dict[str, str]:
        """The whole environment of its worker."""
        changed = {**os.environ, **self.environment}
        return {name: value for name, value in changed.items() if value is not None}


def anywhere(number: int, threads: int) -> Seat:
    """A worker that takes every cell and sees what this process sees."""
    sharing = {**SHARING, THREADS: str(threads)}
    kept = {name: os.environ.get(name, value) for name, value in sharing.items()}
    return Seat(f"process {number}", ("gpu", "cpu", "any"), kept)


def beside_gpus(number: int, threads: int) -> Seat:
    """A worker for the cells that belong on a processor; it sees no GPU."""
    kept = {"JAX_PLATFORMS": "cpu", VISIBLE: "", THREADS: os.environ.get(THREADS, str(threads))}
    return Seat(f"process {number}", ("cpu", "any"), kept)


def on_gpu(name: str, processes: int = 1) -> Seat:
    """A worker that sees one GPU, by the name that CUDA_VISIBLE_DEVICES gives it.

    Of several processes on one GPU each takes its share of the memory and no more. A process keeps
    what it took once, so that without shares a cell that fits would find the GPU full.
    """
    pinned: dict[str, str | None] = {
        **SHARING,
        PROGRAMS: kept_programs(),
        VISIBLE: name,
        EXPECTED: name,
        "JAX_PLATFORMS": None,  # a user's choice of the CPU is for processes without a GPU
    }
    if processes > 1:
        pinned[FRACTION] = os.environ.get(FRACTION, f"{WHOLE / processes:.4f}")
    if VISIBLE not in os.environ:
        pinned["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"  # the numbers of nvidia-smi
    return Seat(f"GPU {name}", ("gpu", "any"), pinned)


def seats(workers: int, gpus: Sequence[str] = ()) -> tuple[Seat, ...]:
    """One worker per GPU and `workers` processes without one, which share the cores.

    With a thread per core in each, two processes on two cores took a fifth more processor time for
    the same bytes, and thirteen beside a GPU made its steps 1.8 times as long.
    """
    threads = max(1, ((os.cpu_count() or 1) - len(gpus)) // max(1, workers))
    if not gpus:
        return tuple(anywhere(number, threads) for number in range(workers))
    on_gpus = (on_gpu(name, gpus.count(name)) for name in gpus)
    return (*on_gpus, *(beside_gpus(number, threads) for number in range(workers)))
