import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.maths.hermite import hermite_polynomials, hermite_series
from attnlab.random.models.transformer import (
    TILE,
    EquivalentModel,
    RandomTransformer,
    feature_noise,
    lowest_degree,
    random_weights,
)


def test_a_narrower_model_has_the_leading_columns(seed):
    wide = random_weights(seed, 12, 50)
    np.testing.assert_array_equal(random_weights(seed, 12, 9), wide[:, :9])
    z = feature_noise(seed, 0, 300, TILE + 3)
    np.testing.assert_array_equal(feature_noise(seed, 0, 300, 5), z[:, :5])
    np.testing.assert_array_equal(feature_noise(seed, 130, 20, 5), z[130:150, :5])
    # Numbers in float32 coincide by chance now and then; those of one stream would all do so.
    assert np.isin(wide, z).mean() < 0.05


@pytest.mark.parametrize("degree", [0, 1, 2, 4])
def test_an_equivalent_model_is_the_truncated_series_plus_noise(degree, seed):
    rng = np.random.Generator(np.random.Philox(seed))
    u, z = rng.standard_normal((2, 50))
    model = EquivalentModel(7, "relu", degree)
    series = hermite_series("relu", degree)
    factorials = np.array([1, 1, 2, 6, 24.0])[: degree + 1]
    mean = (np.array(series.coefficients) / factorials) @ hermite_polynomials(u, degree)
    np.testing.assert_allclose(model.activate(u), mean, atol=1e-12)
    np.testing.assert_allclose(model.activate(u, z), mean + series.residual(degree) * z, atol=1e-12)
    assert model.activate(u.astype(np.float32), z.astype(np.float32)).dtype == np.float32


def test_a_random_transformer_applies_its_activation(seed):
    u = np.random.Generator(np.random.Philox(seed)).standard_normal(9)
    np.testing.assert_array_equal(RandomTransformer(3).activate(u), np.maximum(u, 0))
    np.testing.assert_array_equal(RandomTransformer(3, np.cos).activate(u), np.cos(u))


@pytest.mark.usefixtures("unchecked")
def test_bad_random_transformers_are_named():
    with pytest.raises(UserError, match=r"^width must be an integer of at least 1, got 0\.$"):
        RandomTransformer(0)
    with pytest.raises(UserError, match=r"^activation must be one of .* got 'swish'\.$"):
        RandomTransformer(3, "swish")
    with pytest.raises(UserError, match=r"^degree must be at most 12, .* got 40\.$"):
        EquivalentModel(3, "relu", 40)
    with pytest.raises(UserError, match=r"^degree must be an integer of at least 0, got -1\.$"):
        EquivalentModel(3, "relu", -1)


@pytest.mark.parametrize(
    ("activation", "degree", "lowest"),
    [("tanh", 2, 1), ("tanh", 1, 1), ("tanh", 4, 3), ("relu", 3, 2), ("relu", 4, 4)],
)
def test_terms_that_are_0_lower_the_degree_and_change_no_feature(activation, degree, lowest, seed):
    model = EquivalentModel(5, activation, degree)
    same = lowest_degree(model)
    assert same == EquivalentModel(5, activation, lowest)
    u, z = np.random.default_rng(seed).standard_normal((2, 40, 5))
    np.testing.assert_allclose(same.activate(u, z), model.activate(u, z), rtol=0, atol=1e-7)


def test_a_random_transformer_has_no_degree_to_lower():
    model = RandomTransformer(5, "tanh")
    assert lowest_degree(model) is model
