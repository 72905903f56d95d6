"""`from attnlab import separation`: few names, and everything works without double precision."""

import inspect
import subprocess
import sys

import numpy as np
import pytest

from attnlab import separation
from attnlab.stats import Estimate

PUBLIC = dir(separation)


def test_the_front_door_has_the_names_that_people_come_for():
    assert {
        "SelfAttentionPair",
        "CrossAttentionPair",
        "RegressionPair",
        "AttentionNetwork",
        "RegressionNetwork",
        "success",
        "simulate",
        "neuron_law",
        "best_width",
        "lemma_4_1_linear",
    } <= set(PUBLIC)
    assert len(PUBLIC) < 30
    assert sorted(separation.__all__) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_says_what_it_is(name):
    found = getattr(separation, name)
    text = inspect.getdoc(found)
    assert text
    assert len(text) > 20
    if name in ("CrossAttentionPair", "DefinitionWarning"):
        return  # the one refers to the parameters of the other pair, the other one takes none
    taken = len(inspect.signature(found).parameters)
    assert taken <= 3 or "Parameters\n---" in text, f"{name} takes {taken} arguments"


def test_what_it_makes_has_a_short_repr():
    pair = separation.SelfAttentionPair(200, 22)
    plain = separation.AttentionNetwork()
    assert repr(plain) == "AttentionNetwork(width=15, offset=0.1, X='identity', V='identity')"
    network = separation.AttentionNetwork(3, X=np.eye(22), shared_signs=False)
    law = separation.neuron_law(pair, plain)
    shown = [
        pair,
        network,
        separation.RegressionPair(1000),
        separation.RegressionNetwork(),
        law,
        separation.best_width(law),
        separation.success(pair, plain),
        separation.success_bounds(separation.RegressionPair(100), separation.RegressionNetwork()),
    ]
    for each in shown:
        assert len(repr(each)) < 250
        assert "array" not in repr(each)
    assert "X=<(22, 22) matrix>" in repr(network)
    assert isinstance(separation.success(pair, plain), Estimate)


CODE = """
import sys
from attnlab import separation
assert "jax" not in sys.modules and "numpy" not in sys.modules
pair, network = separation.SelfAttentionPair(n=200, d=22), separation.AttentionNetwork(width=15)
exact = separation.success(pair, network)
sampled = separation.simulate(pair, network, trials=400, seed=0)
assert "jax" not in sys.modules
assert exact.exact and f"{exact.value:.4f}" == "0.7633"
assert abs(sampled.value - exact.value) < 5 * sampled.standard_error
print(separation.best_width(separation.neuron_law(pair, network)).integer)

import jax
key = jax.random.key(0, impl="rbg")  # compiles in less time
prompt = pair.sample(key)
for kind in ("softmax", "linear"):
    answer = network.draw(key, pair, kind)(prompt)
    assert answer.dtype == "float64" and answer >= 0
assert prompt.queries.dtype == "float64"
regression = separation.RegressionPair(100)
answer = separation.RegressionNetwork().draw(key, regression)(regression.sample(key))
assert answer.dtype == "float64" and answer * 2 >= 0
"""


def test_everything_works_in_a_fresh_process_without_double_precision():
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", CODE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "10\n"
