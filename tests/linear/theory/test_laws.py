import jax
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.linear.models.predictors import ConstRidge, LinearTransformer, Ridge
from attnlab.linear.noise import Categorical, Fixed, Uniform
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.simulation import losses
from attnlab.linear.theory import laws
from attnlab.linear.theory.constructions import gradient_descent_network
from attnlab.stats import Estimate, agree

LAWS = [*(Uniform(high) for high in range(8)), Categorical((1, 3)), Categorical((1, 3, 5))]


def sampled(predictor, problem, seed, kind="adjusted"):
    """The Monte Carlo loss that a law predicts, over 20,000 sequences."""
    with jax.enable_x64(True):
        values = losses(predictor, problem, jax.random.key(seed), 20_000, kind=kind, block=2000)
    return Estimate.of(values)


@pytest.mark.parametrize(
    ("d", "n"), [(10, 20), (1, 5), (2, 3), (3, 3), (9, 20), (10, 4), (10, 200)]
)
def test_the_eigenvalue_rule_has_the_moments_of_wishart(d, n):
    # E tr S = d n, E tr S^2 = d n (n + d + 1), E tr S^-1 = d / (n - d - 1).
    s, r = laws.wishart_eigenvalues(d, n)
    np.testing.assert_allclose(
        [r.sum(), r @ s, r @ s**2], [d, d * n, d * n * (n + d + 1)], rtol=1e-10
    )
    assert r.min() >= -1e-12
    if n > d + 1:
        assert r @ (1 / s) == pytest.approx(d / (n - d - 1), rel=1e-10)


def test_the_eigenvalue_rule_does_not_depend_on_its_nodes():
    for d, n, v in ((10, 20, 0.3), (4, 4, 1.0), (5, 3, 2.0)):
        coarse, fine = (laws.wishart_eigenvalues(d, n, nodes) for nodes in (400, 800))
        values = [r @ (v / (s + v)) for s, r in (coarse, fine)]
        assert values[0] == pytest.approx(values[1], rel=1e-12)


@pytest.mark.parametrize(("d", "n"), [(3, 5), (4, 2)])
def test_the_oracle_s_loss_is_that_of_sampled_contexts(seed, d, n):
    problem = NoisyRegression(d, n, Fixed(1.5))
    found = sampled(Ridge(1.5), problem, seed, "unadjusted")
    assert agree(found, laws.oracle_loss(problem)).agrees


def test_one_layer_law_in_the_table_s_order():
    expected = [1.774, 1.646, 1.401, 1.175, 1.007, 0.897, 0.832, 0.798, 0.997, 0.818]
    found = [laws.one_layer_loss(NoisyRegression(noise=law)).value for law in LAWS]
    np.testing.assert_allclose(found, expected, atol=6e-4)


def test_the_floor_of_gd_plus_plus():
    floors = {law.name: laws.gd_plus_plus_floor(NoisyRegression(noise=law)) for law in LAWS}
    assert floors["uniform:0"].value == 0
    assert floors["uniform:4"].value == pytest.approx(0.2604, abs=6e-5)
    assert floors["uniform:5"].value == pytest.approx(0.3614, abs=6e-5)
    assert floors["categorical:1,3,5"].value == pytest.approx(0.4275, abs=6e-5)
    assert all(floor.exact for floor in floors.values())


def test_the_laws_are_what_networks_and_ridge_reach(seed):
    problem = NoisyRegression(4, 8, Uniform(2))
    layer = LinearTransformer(gradient_descent_network(1, laws.one_layer_step(problem)))
    assert agree(sampled(layer, problem, seed), laws.one_layer_loss(problem)).agrees
    ridge = sampled(ConstRidge.optimal(problem.noise), problem, seed)
    assert agree(ridge, laws.gd_plus_plus_floor(problem)).agrees


def test_the_best_constant_is_a_minimum():
    problem = NoisyRegression(noise=Uniform(5))
    best = problem.noise.second_moment()
    at, below, above = (
        laws.const_ridge_loss(problem, c).value for c in (best, 0.98 * best, 1.02 * best)
    )
    assert at < min(below, above)


def test_a_law_of_unit_inputs_refuses_others():
    with pytest.raises(UserError, match=r"^variance must be 1 for this law, got 0\.5\.$"):
        laws.one_layer_loss(NoisyRegression(variance=0.5))
