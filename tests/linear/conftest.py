"""How the tests of this paper spend less processor time.

Nearly all of their time is XLA compiling small programs, most of it in optimisations that do not
pay for programs that run once: they are compiled without. The results differ by roundings, for
which every tolerance here allows. With ATTNLAB_TEST_OPTIMISED=1 the programs are compiled as for a
user. The arrays are small, so that further threads of the linear algebra library only wait.
"""

import os
from collections.abc import Iterator

import jax
import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="package")
def cheap_programs() -> Iterator[None]:
    plain = os.environ.get("ATTNLAB_TEST_OPTIMISED") != "1"
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", plain or before)
    with threadpool_limits(1):
        yield
    jax.config.update("jax_disable_most_optimizations", before)


@pytest.fixture(autouse=True, scope="package")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compiled kernels go to a folder of the tests and not to the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield
