import subprocess
import sys

import jax
import pytest

from attnlab.random.ridge import best_arrays as decision
from attnlab.random.ridge.accelerator import Accelerator
from attnlab.random.ridge.arrays import Host
from attnlab.random.ridge.best_arrays import best_arrays


@pytest.mark.parametrize(("backend", "kind"), [("cpu", Host), ("gpu", Accelerator)])
def test_an_accelerator_is_used_where_jax_has_one(monkeypatch, backend, kind):
    monkeypatch.setattr(jax, "default_backend", lambda: backend)
    assert isinstance(best_arrays(), kind)


def test_without_a_plugin_jax_is_not_imported_to_decide():
    if decision._has_plugin():
        pytest.skip("a plugin for an accelerator is installed")
    code = (
        "import sys; from attnlab.random.ridge.best_arrays import best_arrays; "
        "print(type(best_arrays()).__name__, 'jax' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["Host", "False"]
