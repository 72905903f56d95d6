"""A network that answers scaled contexts is read on scaled contexts, and answers in our units."""

import numpy as np
import pytest

from attnlab.linear.models.files import load_linear
from attnlab.linear.models.predictors import LinearTransformer
from attnlab.linear.reading.contexts import Units, answers, in_units, units_of
from attnlab.linear.weights import shipped

UNITS = Units(58.0, 800.0)


@pytest.fixture
def gram(seed):
    rng = np.random.default_rng(seed)
    E = rng.normal(size=(5, 20, 5)) * rng.uniform(0.1, 9, size=(5, 1, 5))
    return E.swapaxes(1, 2) @ E


def test_contexts_are_scaled_to_the_units(gram):
    given, _ = in_units(gram, UNITS)
    top = np.linalg.eigvalsh(given[:, :-1, :-1])[:, -1]
    np.testing.assert_allclose(top, UNITS.largest_eigenvalue, rtol=1e-12)
    np.testing.assert_allclose(given[:, -1, -1], UNITS.label_square_sum, rtol=1e-12)


def test_least_squares_of_scaled_contexts_is_least_squares(gram):
    given, back = in_units(gram, UNITS)
    scaled = np.linalg.solve(given[:, :-1, :-1], given[:, :-1, -1:])[..., 0]
    plain = np.linalg.solve(gram[:, :-1, :-1], gram[:, :-1, -1:])[..., 0]
    np.testing.assert_allclose(scaled * back, plain, rtol=1e-8)


def test_without_units_nothing_changes(gram):
    given, back = in_units(gram, None)
    assert given is gram
    assert (back == 1).all()
    assert units_of({"d": 4}) is None


def test_a_regressors_answer_follows_the_units_of_the_data(gram):
    file = shipped.FILE.with_name("regressor_d4_n16.safetensors")
    weights, about = load_linear(file, float)
    units = units_of(about)
    network = LinearTransformer(weights)

    def answered(G):
        given, back = in_units(G, units)
        return answers(network, 20, given) * back

    scale = np.ones(5)
    scale[-1] = 1000.0  # labels in other units
    labels = answered(gram * scale * scale[:, None])
    np.testing.assert_allclose(labels, 1000.0 * answered(gram), rtol=1e-4)
    assert np.isfinite(labels).all()
