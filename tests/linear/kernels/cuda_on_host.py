"""The CUDA sources compiled for this machine's processor, which is how tests run them."""

import shutil

import pytest

needs_compiler = pytest.mark.skipif(
    shutil.which("c++") is None, reason="no C++ compiler on this machine"
)


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory):
    """Compiled libraries go to a folder of the test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield
