"""Compiled programs are kept where cells run on a GPU, so that a continued cell has the same bits.

XLA chooses between kernels of a product by timing them. Two processes may choose differently, and
the same training then ends in other last digits. The choice is kept with the program, and every
later process on this machine makes the same one. A program from the folder also begins at once: one
of an encoder of `rank` took 28 s to compile and 3 s to read.
"""

from __future__ import annotations

import functools
import os
import sys

from attnlab.files import cache_folder
from attnlab.lab.gpus import visible_gpus

PROGRAMS = "JAX_COMPILATION_CACHE_DIR"  # where JAX keeps what it compiled


def kept_programs() -> str:
    """The folder of compiled programs: the user's choice, or one in the user's cache folder."""
    return os.environ.get(PROGRAMS) or str(cache_folder() / "programs")


@functools.cache
def keep_programs() -> None:
    """Let JAX keep what it compiles in this process, if there is a GPU that it can use.

    It is enough to do this before the first program is compiled, also where JAX is loaded already.
    """
    if os.environ.get(PROGRAMS) or os.environ.get("JAX_PLATFORMS") == "cpu" or not visible_gpus():
        return
    os.environ[PROGRAMS] = kept_programs()
    if "jax" in sys.modules:
        import jax

        jax.config.update("jax_compilation_cache_dir", kept_programs())
