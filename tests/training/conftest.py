"""Programs of these tests are compiled once and run for milliseconds: XLA may leave them slow."""

from collections.abc import Iterator

import jax
import pytest

from attnlab import compiling


@pytest.fixture(autouse=True, scope="module")
def quick_compilation() -> Iterator[None]:
    """Compile with few optimisations, which changes the time and the last digits alone."""
    name = "jax_disable_most_optimizations"
    before = jax.config.values[name]
    jax.config.update(name, True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(compiling.FAST, "xla_backend_optimization_level", 0)
        compiling.fast_options.cache_clear()
        yield
    compiling.fast_options.cache_clear()
    jax.config.update(name, before)
