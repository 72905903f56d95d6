"""Which library an array belongs to, for formulas that NumPy and JAX evaluate alike."""

from typing import Any

import numpy as np


def namespace_of(values: Any) -> Any:
    """NumPy for its arrays and for plain numbers, jax.numpy for everything else."""
    if isinstance(values, np.ndarray | np.generic | float | int):
        return np
    import jax.numpy

    return jax.numpy
