"""The public names of the paper: documented, short when printed, without JAX where none is needed.

The examples of the fresh process run as a user's would: JAX in its default single precision, and
every warning an error.
"""

import importlib
import inspect
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from attnlab import linear

SOURCE = Path(linear.__file__).parents[2]
LIGHT = """
import sys
import attnlab.linear, attnlab.linear.study
from attnlab.linear import InContextRegressor, fit_many
assert not {"jax", "altair"} & set(sys.modules), sorted(sys.modules)
"""
EXAMPLES = """
import math, tempfile
from pathlib import Path

import jax
import numpy as np

from attnlab import linear

problem = linear.NoisyRegression(d=3, n=8, noise=linear.Uniform(2))
prompt = problem.sample(jax.random.key(0))
for predictor in (linear.OLS(), linear.AdaRidge(), linear.Bayes(problem.noise)):
    assert np.isfinite(predictor(prompt))

exact = linear.one_layer_loss(problem)
assert linear.gd_plus_plus_floor(problem).value < exact.value
assert linear.oracle_loss(problem).exact and linear.const_ridge_loss(problem, 1.0).exact

networks = linear.train(problem, "gd++", depth=2)
assert [network.depth for network in networks] == [1, 2]
assert abs(networks[0].loss.value - exact.value) < 6 * networks[0].loss.standard_error
assert networks.at(2).weights.xx.dtype == np.float64
found = linear.loss(networks.at(1), problem, 2000)
assert abs(found.value - exact.value) < 6 * found.standard_error
assert found.value == linear.loss(networks.at(1).weights, problem, 2000).value
assert linear.loss_by_layer(networks.at(2), problem, 2000)[0].value > found.value

step = linear.step_adaptation_network(-2e-3, -0.02)
reading = linear.read(step, problem, samples=64)
assert reading.numbers.layers[0].xy == -2e-3
assert str(reading).startswith("DIAG, free omegas, 2 layers")
assert len(repr(reading)) < 200 and "<table>" in reading._repr_html_()
assert len(reading.pictures) == 4 and reading.as_dict()["family"] == "DIAG, free omegas"

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "network.safetensors"
    linear.save(path, networks.at(2), note="kept")
    same = linear.load(path)
    assert same.problem == problem and same.loss == networks.at(2).loss
    assert same.about["note"] == "kept"
    np.testing.assert_array_equal(same.weights.xx, networks.at(2).weights.xx)
    assert linear.read(path, samples=64).network.problem == problem
    linear.export_numpy(same.weights, Path(folder) / "network.py")

network = linear.shipped().network(linear.Uniform(5), depth=2)
assert math.isfinite(network(network.problem.sample(jax.random.key(1))))
assert linear.layers_needed(10, 1e-3) == 7
X = np.random.default_rng(0).standard_normal((5, 12, 3))
assert linear.predict_many(X, X[..., 0], X).shape == (5, 12)
assert linear.fit_many(X, X[..., 0]).coef.shape == (5, 3)
things = (problem, networks, network, linear.shipped(), linear.fit_many(X, X[..., 0]), found)
for thing in things:
    assert len(repr(thing)) < 400, repr(thing)
assert not jax.config.jax_enable_x64
"""


def run_alone(program):
    environment = os.environ | {"PYTHONPATH": str(SOURCE), "JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr


def test_neither_the_package_nor_its_study_nor_the_regressor_imports_jax():
    run_alone(LIGHT)


def test_the_examples_run_in_a_fresh_process_without_double_precision():
    run_alone(EXAMPLES)


def test_every_public_name_is_listed_and_can_be_imported():
    assert dir(linear) == linear.__all__
    assert len(linear.__all__) == len(set(linear.__all__)) > 30
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        linear.nonsense  # noqa: B018


@pytest.mark.parametrize("name", linear.__all__)
def test_every_public_name_has_a_docstring_that_explains_many_arguments(name):
    thing = getattr(linear, name)
    assert thing.__doc__
    assert len(thing.__doc__.split()) >= 4
    if inspect.isfunction(thing):
        parameters = inspect.signature(thing).parameters
        if len(parameters) > 3:
            shared = "arguments are those of" in thing.__doc__
            assert "Parameters\n" in thing.__doc__ or shared, name


def test_public_names_come_from_where_the_stub_says():
    for name in linear.__all__:
        thing = getattr(linear, name)
        module = importlib.import_module(thing.__module__)
        assert getattr(module, name) is thing


def test_reprs_of_weights_and_predictors_are_short():
    weights = linear.shipped().network("uniform:5", 7).weights
    for thing in (weights, linear.LinearTransformer(weights), linear.EveryLayer(weights)):
        assert len(repr(thing)) < 400
    assert "0.5" in repr(linear.Ridge(0.5))
    assert np.size(weights.P) > 400
