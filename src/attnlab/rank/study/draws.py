"""Random numbers of the cells, the same whatever precision the process has set."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from attnlab.lab.cell import seed_of

if TYPE_CHECKING:
    from jaxtyping import PRNGKeyArray


def key_of(config: Any, without: Sequence[str] = ()) -> PRNGKeyArray:
    """The JAX key of a configuration's draws: all bits of `seed_of`.

    `jax.random.key` would drop the upper ones in single precision and keep them in double.
    """
    import jax
    import numpy as np

    seed = seed_of(config, without)
    words = np.array([seed >> 32, seed & 0xFFFFFFFF], np.uint32)
    return jax.random.wrap_key_data(jax.numpy.asarray(words), impl="threefry2x32")


def in_single_precision(run: Callable[..., Any]) -> Callable[..., Any]:
    """Run a function in single precision, whatever the process has set: cells are pure."""

    @functools.wraps(run)
    def call(*given: Any, **named: Any) -> Any:
        import jax

        with jax.enable_x64(False):
            return run(*given, **named)

    return call
