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

    return jax.tree.map(
        lambda leaf: leaf if isinstance(leaf, jax.core.Tracer) else np.asarray(leaf), tree
    )
