"""The exported file: runs without attnlab, says what it is, gives the network's predictions."""

import json
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.linear.models.transformer import token_form
from attnlab.linear.reading.export import export_numpy, numpy_source
from attnlab.linear.theory.constructions import least_squares_network
from tests.linear.prompts import diag_weights, full_weights, prompt

pytestmark = pytest.mark.usefixtures("double_precision")


# Importing what is not NumPy or Python's own fails there.
ALONE = """
import json, runpy, sys
for name in ("attnlab", "jax", "equinox", "scipy", "safetensors"):
    sys.modules[name] = None
X, y, queries = json.load(sys.stdin)
found = [runpy.run_path(path)["predict"](X, y, queries) for path in sys.argv[1:]]
print(json.dumps([answer.tolist() for answer in found]))
"""


def test_the_file_alone_predicts_as_the_network_does(seed, tmp_path):
    X, y, *_ = prompt(seed)
    queries = jnp.asarray(np.random.default_rng(seed).standard_normal((5, 4)))
    networks = {
        "full": full_weights(seed, 3, 2),
        "single": jax.tree.map(lambda part: np.asarray(part, np.float32), diag_weights(seed, 3, 2)),
        "gd": least_squares_network(0.1, 2.0, 3),
    }
    paths = []
    for name, network in networks.items():
        paths.append(tmp_path / f"{name}.py")
        export_numpy(network, paths[-1], {"note": 'quotes """ and \\ and\nlines'})
    given = json.dumps([np.asarray(part).tolist() for part in (X, y, queries)])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ALONE, *map(str, paths)],
        input=given,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    for network, found in zip(networks.values(), json.loads(done.stdout), strict=True):
        double = jax.tree.map(lambda part: np.asarray(part, np.float64), network)
        expected = token_form(double, X, y, queries).predictions[-1]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_the_literals_are_exact(seed):
    network = full_weights(seed, 2, 1)
    names = {}
    exec(numpy_source(network, {}), names)
    np.testing.assert_array_equal(names["P"], network.P)
    np.testing.assert_array_equal(names["Q"], network.Q)
    assert [line for line in numpy_source(network, {}).splitlines() if "import" in line] == [
        "import numpy"
    ]


def test_only_an_earlier_export_is_replaced(seed, tmp_path):
    path, network = tmp_path / "network.py", diag_weights(seed, 2, 1)
    export_numpy(network, path)
    export_numpy(network, path, {"n": 20})
    assert "n: 20" in path.read_text()
    assert list(tmp_path.iterdir()) == [path]
    path.write_text("mine = 1\n")
    with pytest.raises(
        UserError, match=r"exists and is not an export of attnlab; give a new file\.$"
    ):
        export_numpy(network, path)
    assert path.read_text() == "mine = 1\n"
    with pytest.raises(UserError, match=r"^The exported file must end in \.py, got .*network\.txt"):
        export_numpy(network, tmp_path / "network.txt")
    with pytest.raises(UserError, match=r"nowhere does not exist"):
        export_numpy(network, tmp_path / "nowhere" / "network.py")
