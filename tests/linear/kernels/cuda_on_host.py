"""The CUDA sources compiled for this machine's processor, which is how tests run them."""

import shutil

import pytest

needs_compiler = pytest.mark.skipif(
    shutil.which("c++") is None, reason="no C++ compiler on this machine"
)
