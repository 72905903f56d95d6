"""Double precision for people who have not switched it on in JAX."""

from __future__ import annotations

from typing import Any


def to_numpy(tree: Any) -> Any:
    """The arrays of a prompt or answer as NumPy arrays, unless JAX is tracing them.

    Outside of `jax.enable_x64` JAX truncates what is computed with its float64 arrays; NumPy does
    not.
    """
    import jax
    import numpy as np
    from jax.core import Tracer

    return jax.tree.map(lambda x: x if isinstance(x, Tracer) else np.asarray(x), tree)
