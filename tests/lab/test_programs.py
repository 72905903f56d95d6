"""Programs that were compiled for a GPU are kept, whichever process compiles them."""

import os

import jax
import pytest

from attnlab.lab import programs
from attnlab.lab.programs import PROGRAMS, keep_programs

keep = keep_programs.__wrapped__  # once per process, otherwise


@pytest.fixture(autouse=True)
def surroundings(monkeypatch, tmp_path):
    """No choice of the user's, and JAX as it was before."""
    for name in (PROGRAMS, "JAX_PLATFORMS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    before = jax.config.jax_compilation_cache_dir
    yield
    jax.config.update("jax_compilation_cache_dir", before)


def test_a_process_with_a_gpu_keeps_its_programs(monkeypatch, tmp_path):
    monkeypatch.setattr(programs, "visible_gpus", lambda: ("0",))
    monkeypatch.setenv(PROGRAMS, "")  # so that what is set here is taken back at the end
    keep()
    folder = str(tmp_path / "attnlab" / "programs")
    assert os.environ[PROGRAMS] == folder
    assert jax.config.jax_compilation_cache_dir == folder


@pytest.mark.parametrize(
    ("name", "value", "gpus"),
    [(PROGRAMS, "elsewhere", ("0",)), ("JAX_PLATFORMS", "cpu", ("0",)), ("UNUSED", "", ())],
)
def test_the_users_choice_stays_and_a_processor_keeps_nothing(monkeypatch, name, value, gpus):
    monkeypatch.setattr(programs, "visible_gpus", lambda: gpus)
    monkeypatch.setenv(name, value)
    before = jax.config.jax_compilation_cache_dir, os.environ.get(PROGRAMS)
    keep()
    assert (jax.config.jax_compilation_cache_dir, os.environ.get(PROGRAMS)) == before
