"""Compiles the CUDA sources of this folder on the machine that runs them, and keeps the result.

A source is compiled by nvcc, which a CUDA toolkit brings, for one size and one precision. Without
nvcc or without a GPU the callers compute the same in plain JAX. For tests a C++ compiler turns the
same source into a loop on the CPU. Compiled libraries are kept in the user's cache folder, under a
hash of everything that they depend on.
"""

import ctypes
import hashlib
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax
import jaxlib.version
import numpy as np

from attnlab.errors import UserError
from attnlab.files import cache_folder

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
    function = ctypes.CDLL(str(_library(source, (*command, *constants))))[symbol]
    platform = "CUDA" if on_gpu else "cpu"
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(function), platform=platform)
    return name


def _library(source: str, command: tuple[str, ...]) -> Path:
    texts = [path.read_bytes() for path in sorted(FOLDER.glob("*.cu*"))]
    options = "\0".join([source, *command, jaxlib.version.__version__]).encode()
    digest = hashlib.sha256(b"\0".join([options, *texts])).hexdigest()[:32]
    cache = cache_folder()
    library = cache / f"{digest}.so"
    if library.exists():
        return library
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        new = Path(folder) / "new.so"
        inputs = ["-I", jax.ffi.include_dir(), str(FOLDER / source), "-o", str(new)]
        try:
            done = subprocess.run([*command, *inputs], capture_output=True, text=True, check=False)
        except OSError as error:
            raise UserError(f"The kernels need the compiler {command[0]}: {error}.") from None
        if done.returncode:
            last = (done.stderr.strip() or "no message").splitlines()[-1]
            raise UserError(f"{command[0]} could not compile {source}: {last}")
        new.replace(library)
    return library
