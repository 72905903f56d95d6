"""The CUDA sources of this folder as functions that JAX can call.

A source is compiled by nvcc, which a CUDA toolkit brings, for one size and one precision. Without
nvcc or without a GPU the callers compute the same in another way. For tests a C++ compiler turns
the same source into a loop on the CPU.
"""

import ctypes
import shutil
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax
import numpy as np

from attnlab.linear.kernels.compiled import library, run

FOLDER = Path(__file__).parent
REAL = {"float32": "F32", "float64": "F64"}
GPU = ("nvcc", "-O3", "-std=c++17", "-arch=native", "-shared", "-Xcompiler", "-fPIC,-w")
HOST = ("c++", "-O2", "-std=c++17", "-shared", "-fPIC", "-w", "-x", "c++")


def available() -> bool:
    """Whether this process can call the kernels: it has a GPU and nvcc."""
    return jax.default_backend() == "gpu" and shutil.which(GPU[0]) is not None


@lru_cache
def target(source: str, symbol: str, dtype: Any, **sizes: int) -> str:
    """The name under which `jax.ffi.ffi_call` finds a function of `source` on this backend."""
    on_gpu = jax.default_backend() == "gpu"
    command = GPU if on_gpu else HOST
    given = {**sizes, "REAL": REAL[np.dtype(dtype).name]}
    constants = [f"-D{name}={value}" for name, value in sorted(given.items())]
    name = "_".join([symbol, *(constant[2:] for constant in constants)])
    # A cache folder may be shared by machines with different GPUs.
    gpu = f"{jax.devices()[0].device_kind} {run([GPU[0], '--version'], source)}" if on_gpu else ""
    function = ctypes.CDLL(str(library(FOLDER, source, (*command, *constants), gpu)))[symbol]
    platform = "CUDA" if on_gpu else "cpu"
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(function), platform=platform)
    return name
