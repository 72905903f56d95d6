import jax.numpy as jnp
import pytest

from attnlab.errors import UserError
from attnlab.linear.kernels import compiled as compiling
from attnlab.linear.kernels.cuda import compiled
from tests.linear.kernels.cuda_on_host import needs_compiler


def test_without_a_gpu_there_are_no_kernels():
    assert not compiled.available()


@needs_compiler
def test_a_source_is_compiled_once(monkeypatch):
    command = (*compiled.HOST, "-DSIDE=3", "-DREAL=F32")
    library = compiling.library(compiled.FOLDER, "full_network.cu", command)
    assert library.exists()
    monkeypatch.setattr(compiling.subprocess, "run", None)
    assert compiling.library(compiled.FOLDER, "full_network.cu", command) == library


@needs_compiler
def test_what_the_compiler_says_is_told():
    too_wide = (*compiled.HOST, "-DSIDE=17", "-DREAL=F32")
    with pytest.raises(UserError, match=r"^c\+\+ could not compile full_network\.cu: "):
        compiling.library(compiled.FOLDER, "full_network.cu", too_wide)


def test_a_missing_compiler_is_named():
    with pytest.raises(UserError, match=r"^The kernels need the compiler no-such-compiler: "):
        compiling.library(compiled.FOLDER, "full_network.cu", ("no-such-compiler", "-DSIDE=3"))


def test_only_real_numbers_are_served():
    with pytest.raises(KeyError):
        compiled.target("full_network.cu", "full_loss_and_gradient", jnp.int32, SIDE=3)
