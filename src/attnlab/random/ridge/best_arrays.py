"""Which arrays a cell uses: the accelerator's where JAX has one, the host's otherwise.

Both draw the same random numbers and fit the same systems, so that the choice changes an answer by
rounding alone: where something was computed is provenance. Where no plugin of JAX for an
accelerator is installed, JAX is not imported to find that out.
"""

import sys
from importlib.metadata import entry_points
from importlib.util import find_spec

from attnlab.random.ridge.accelerator import Accelerator
from attnlab.random.ridge.arrays import Arrays, Host


def best_arrays() -> Arrays:
    """`Accelerator()` where JAX's default device is not the CPU, else `Host()`."""
    if "jax" not in sys.modules and not _has_plugin():
        return Host()
    import jax

    return Host() if jax.default_backend() == "cpu" else Accelerator()


def _has_plugin() -> bool:
    """Whether JAX could find an accelerator: GPUs come as its plugins, TPUs as libtpu."""
    return bool(entry_points(group="jax_plugins")) or any(
        find_spec(name) is not None for name in ("jax_plugins", "libtpu")
    )
