"""A cell has the same bytes whether it is the first of its process or not.

What a cell imports when it runs may bring a BLAS of its own along, with a thread per core, and sums
over several threads are rounded in another way.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from attnlab.lab.catalog import load_study, study_names
from attnlab.papers import STUDIES

COMPILES = ("linear", "rank")  # with JAX, in every process anew
QUICKLY = {
    "XLA_FLAGS": "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true",
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in COMPILES)) for name in STUDIES],
)
def test_every_kind_of_cell_has_the_same_bytes_as_the_first_of_a_process_and_as_a_later_one(
    name, tmp_path
):
    done = subprocess.run(
        [sys.executable, "-m", "tests.lab.first_cells", name],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, **QUICKLY, "JAX_COMPILATION_CACHE_DIR": str(tmp_path)},
    )
    digests = json.loads(done.stdout)
    assert name in study_names()
    assert set(digests) == {kind.name for kind in load_study(name).kinds}
    for kind, (first, later) in digests.items():
        assert first.endswith(" 1"), f"{kind}: {first}"  # more threads, or why it failed
        assert first == later, kind
