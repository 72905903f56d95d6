"""float64 arithmetic for people who have not switched it on in JAX.

Outside of `jax.enable_x64` JAX truncates what is computed with float64 arrays, so prompts and
answers are NumPy's wherever they are known. Under `jax.vmap` and `jax.jit` they are JAX's.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import Any

import numpy as np


@contextlib.contextmanager
def double_precision(*arrays: Any) -> Generator[tuple[Any, ...]]:
    """The module to compute with, then the arrays: NumPy, or JAX in float64 where it is tracing."""
    import jax
    import jax.numpy as jnp
    from jax.core import Tracer

    if any(isinstance(array, Tracer) for array in arrays):
        with jax.enable_x64(True):
            yield (jnp, *(jnp.asarray(array) for array in arrays))
    else:
        yield (np, *(np.asarray(array) for array in arrays))
