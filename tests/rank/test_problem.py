import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.rank.problem import Neighbours, SelfNeighbours, orthonormal_rows
from tests.rank.quickly import quickly

Z = 5.5  # about 50 comparisons per test and 100 seeds: familywise below 1e-3
SAMPLES = 4000


def draws(problem, seed, samples=SAMPLES):
    keys = jax.random.split(jax.random.key(seed), samples)
    return jax.tree.map(np.asarray, quickly(jax.vmap(problem.sample))(keys))


def agree(values, expected):
    """Means over the first axis against their expectations, in standard errors."""
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return (np.abs(values.mean(axis=0) - expected) <= Z * error + 1e-6).all()


@pytest.mark.parametrize("kind", ["nearest", "farthest", "biased"])
def test_the_answer_is_the_neighbour_by_its_definition(seed, kind):
    bias = (0.5, -0.3, 0.0, 0.2) if kind == "biased" else None
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((300, 5, 5))
    points = (points / np.linalg.norm(points, axis=2, keepdims=True)).astype("float32")
    X, y = points[:, :4], points[:, 4]
    answer = quickly(jax.vmap(Neighbours(5, 4, kind, bias=bias).answer))(X, y)
    costs = ((X - y[:, None]) ** 2).sum(2)
    costs = -costs if kind == "farthest" else costs + np.array(bias or 0)
    np.testing.assert_array_equal(answer, costs.argmin(1))
    assert len(set(costs.argmin(1))) == 4


def test_every_point_asks_for_its_neighbour_among_the_others(seed):
    for kind, sign in (("nearest", 1), ("farthest", -1)):
        X, targets = draws(SelfNeighbours(5, 4, kind), seed, 300)
        distances = sign * ((X[:, :, None] - X[:, None]) ** 2).sum(3)
        distances[:, np.arange(4), np.arange(4)] = np.inf
        expected = np.take_along_axis(X, distances.argmin(2)[:, :, None], axis=1)
        # Two of 1200 nearly equal distances may change places in float32.
        assert (targets == expected).all(axis=2).mean() > 1 - 3 / 1200
        assert not (targets == X).all(axis=2).any()


@pytest.mark.parametrize("points", ["iid", "orthonormal"])
def test_points_and_source_are_uniform_on_the_sphere(seed, points):
    d = 4
    X, y, target = draws(Neighbours(d, 3, points=points), seed)
    nearest = ((X - y[:, None]) ** 2).sum(2).argmin(1)
    # Two of 4000 nearly equal distances may change places in float32.
    assert (target == X[np.arange(SAMPLES), nearest]).all(axis=1).mean() > 1 - 3 / SAMPLES
    cloud = np.concatenate([X, y[:, None]], axis=1)
    np.testing.assert_allclose(np.linalg.norm(cloud, axis=2), 1, rtol=1e-5)
    assert agree(cloud, 0)
    assert agree(cloud**2, 1 / d)
    assert agree(cloud**4, 3 / (d * (d + 2)))
    products = np.stack([(X[:, 0] * X[:, 1]).sum(1), (X[:, 0] * X[:, 2]).sum(1)], 1)
    if points == "orthonormal":
        np.testing.assert_allclose(products, 0, atol=1e-6)
        # E[x1_i^2 x2_i^2] = 1 / (d (d+2)) and, for i != j, (d+1) / ((d-1) d (d+2)).
        assert agree(X[:, 0] ** 2 * X[:, 1] ** 2, 1 / (d * (d + 2)))
        mixed = X[:, 0, 0] ** 2 * X[:, 1, 1] ** 2
        assert agree(mixed, (d + 1) / ((d - 1) * d * (d + 2)))
    else:
        assert agree(products**2, 1 / d)
    assert agree((X[:, 0] * y).sum(1) ** 2, 1 / d)


def test_theorem_4_has_points_of_norm_root_d_and_a_normal_source(seed):
    problem = Neighbours(4, 2, points="orthonormal", radius=2.0, source="normal")
    X, y, _ = draws(problem, seed)
    np.testing.assert_allclose((X**2).sum(2), 4, rtol=1e-5)
    assert agree(y**2, 1)
    assert agree(((X[:, 0] - X[:, 1]) * y).sum(1) ** 2, 2 * 4)


def test_many_rows_are_orthonormal_to_rounding(seed):
    normals = np.random.default_rng(seed).standard_normal((12, 12)).astype("float32")
    rows = np.asarray(quickly(orthonormal_rows)(normals))
    # Sums of twelve products of unit vectors, each cleared twice of eleven others.
    np.testing.assert_allclose(rows @ rows.T, np.eye(12), atol=12 * 12 * 2.0**-23)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_dtype_asked_for_is_the_dtype_got(dtype):
    with jax.enable_x64(True):
        given = {"kind": "biased", "bias": (0.0, 1.0), "radius": math.sqrt(2)}
        for problem in (Neighbours(4, 2, **given), SelfNeighbours(4, 2, **given)):
            prompt = jax.eval_shape(partial(problem.sample, dtype=dtype), jax.random.key(0))
            assert {leaf.dtype for leaf in prompt} == {jnp.dtype(dtype)}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"N": 1}, r"^N must be an integer of at least 2, got 1\.$"),
        ({"d": 1}, r"^d must be an integer of at least 2, got 1\.$"),
        ({"d": 3, "N": 4, "points": "orthonormal"}, r"^N must be at most d = 3 for ortho"),
        ({"kind": "second"}, r"^kind must be one of 'nearest', 'farthest', 'biased', got 'second'"),
        (
            {"kind": "biased"},
            r'^bias must be given for the kind "biased" and for no other, got None',
        ),
        ({"N": 2, "bias": (1.0, 2.0)}, r'^bias must be given for the kind "biased" and for no oth'),
        ({"N": 3, "kind": "biased", "bias": (1.0,)}, r"^bias must have N = 3 entries, got 1\.$"),
        ({"radius": 0}, r"^radius must be a finite number above 0, got 0\.$"),
    ],
)
def test_wrong_arguments_are_named(unchecked, arguments, sentence):
    for problem in (Neighbours, SelfNeighbours):
        # The paper trains the farthest point, so that this is the default of the second problem.
        given = {"kind": "nearest"} | arguments
        with pytest.raises(UserError, match=sentence):
            problem(**given)
