import subprocess
import sys

import jax
import pytest

from attnlab.errors import UserError
from attnlab.random.ridge import best_arrays as decision
from attnlab.random.ridge.accelerator import Accelerator
from attnlab.random.ridge.arrays import Host
from attnlab.random.ridge.best_arrays import VARIABLE, best_arrays


@pytest.mark.parametrize(("said", "kind"), [("host", Host), ("accelerator", Accelerator)])
def test_the_environment_decides(monkeypatch, said, kind):
    monkeypatch.setenv(VARIABLE, said)
    assert isinstance(best_arrays(), kind)


def test_a_word_that_is_neither_is_one_sentence(monkeypatch):
    monkeypatch.setenv(VARIABLE, "cuda")
    with pytest.raises(UserError) as refused:
        best_arrays()
    assert str(refused.value) == (
        "ATTNLAB_ARRAYS must be one of 'host', 'accelerator', got 'cuda'."
    )


@pytest.mark.parametrize(("backend", "kind"), [("cpu", Host), ("gpu", Accelerator)])
def test_an_accelerator_is_used_where_jax_has_one(monkeypatch, backend, kind):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(jax, "default_backend", lambda: backend)
    assert isinstance(best_arrays(), kind)


def test_without_a_plugin_jax_is_not_imported_to_decide():
    if decision._plugged():
        pytest.skip("an accelerator's plugin is installed")
    code = (
        "import sys; from attnlab.random.ridge.best_arrays import best_arrays; "
        "print(type(best_arrays()).__name__, 'jax' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["Host", "False"]
