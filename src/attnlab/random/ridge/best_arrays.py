"""Which arrays to use where nobody says: the accelerator's if there is one, the host's otherwise.

ATTNLAB_ARRAYS=host or accelerator in the environment decides instead. Where no plugin of JAX for an
accelerator is installed, JAX is not imported to find that out.
"""

import os
import sys
from importlib.metadata import entry_points
from importlib.util import find_spec

from attnlab import arguments
from attnlab.random.ridge.accelerator import Accelerator
from attnlab.random.ridge.arrays import Arrays, Host

VARIABLE = "ATTNLAB_ARRAYS"


def best_arrays() -> Arrays:
    """`Accelerator()` where JAX's default device is not the CPU, else `Host()`."""
    said = os.environ.get(VARIABLE)
    if said is not None:
        arguments.one_of(VARIABLE, said, ("host", "accelerator"))
        return Accelerator() if said == "accelerator" else Host()
    return Accelerator() if _accelerated() else Host()


def _accelerated() -> bool:
    if "jax" not in sys.modules and not _plugged():
        return False
    import jax

    return jax.default_backend() != "cpu"


def _plugged() -> bool:
    """Whether JAX could find an accelerator: GPUs come as its plugins, TPUs as libtpu."""
    return bool(entry_points(group="jax_plugins")) or any(
        find_spec(name) is not None for name in ("jax_plugins", "libtpu")
    )
