import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.linear.kernels.diagonal_jacobian import diagonal_jacobian
from attnlab.linear.models.transformer import final_weights, spectral_form
from attnlab.linear.models.weights import GDPlusPlus, Omegas
from attnlab.linear.noise import Uniform
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.theory import laws
from attnlab.linear.training.families import DiagonalLeastSquares, SpectralLeastSquares
from attnlab.linear.training.fixed_sample import draw
from attnlab.linear.training.levenberg_marquardt import (
    Diagnosis,
    NormalEquations,
    SearchLimits,
    levenberg_marquardt,
)
from tests.conftest import in_double_precision
from tests.linear.prompts import diag_weights, full_weights
from tests.linear.training.sequence_least_squares import SequenceLeastSquares

pytestmark = pytest.mark.usefixtures("double_precision")


PROBLEM = NoisyRegression(4, 9, Uniform(0.5))


def affine(parameters, A, b):
    return jnp.dot(A, parameters["x"]) - b


def rosenbrock(parameters, target):
    x, y = parameters
    return jnp.stack([10 * (y - x**2), target - x])


def logarithm(x, target):
    return jnp.log(x) - target


def network(weights, G, oracle):
    return final_weights(weights, G) - oracle


@pytest.fixture(scope="module")
def sample(seed):
    with in_double_precision():
        drawn = draw(PROBLEM, jax.random.key(seed), 20)
    # Inputs of order one, so that random weights make ordinary networks.
    scale = np.outer(*2 * [np.r_[np.full(4, 1 / 3), 1 / 6]])
    weight = np.random.default_rng(seed).dirichlet(np.ones(20))
    return drawn._replace(G=drawn.G * scale, weight=weight)


def test_a_linear_problem_is_solved_in_a_step(seed):
    rng = np.random.default_rng(seed)
    A, b = rng.standard_normal((7, 3, 4)), rng.standard_normal((7, 3))
    exact, *_ = np.linalg.lstsq(A.reshape(21, 4), b.reshape(21), rcond=None)
    problem = SequenceLeastSquares(affine, (A, b), chunk=3)
    fit = levenberg_marquardt(problem, {"x": np.zeros(4)}, SearchLimits(2, 1e-12, damping=1e-14))
    np.testing.assert_allclose(fit.parameters["x"], exact, rtol=1e-9, atol=1e-12)
    assert (fit.iterations, fit.diagnosis) == (1, Diagnosis.CONVERGED)


def test_the_curved_valley_of_rosenbrock_is_followed_to_its_end():
    problem = SequenceLeastSquares(rosenbrock, (np.ones(1),))
    fit = levenberg_marquardt(problem, (np.array(-1.2), np.array(1.0)), SearchLimits(60, 1e-10))
    np.testing.assert_allclose(fit.parameters, (1, 1), atol=1e-6)
    assert fit.objective < 1e-12
    assert fit.diagnosis is Diagnosis.CONVERGED


def test_a_step_out_of_the_domain_is_not_taken():
    # The plain Gauss-Newton step from 5 is 5 - 5 log 5 < 0, where the logarithm is NaN.
    problem = SequenceLeastSquares(logarithm, (np.zeros((1, 1)),))
    fit = levenberg_marquardt(problem, np.array([5.0]), SearchLimits(40, 1e-10, damping=1e-8))
    assert fit.parameters[0] == pytest.approx(1, abs=1e-6)


def test_the_objective_falls_at_every_step():
    problem = SequenceLeastSquares(rosenbrock, (np.ones(1),))
    start = (np.array(-1.2), np.array(1.0))
    path = [
        levenberg_marquardt(problem, start, SearchLimits(k, 1e-10)).objective for k in range(12)
    ]
    assert all(after < before for before, after in itertools.pairwise(path))


def test_the_diagnosis_names_why_the_search_stopped():
    class Misled:
        """A gradient of the wrong sign: no step along it lowers the objective."""

        def objective(self, x):
            return float(x[0] ** 2) / 2

        def normal_equations(self, x):
            return NormalEquations(self.objective(x), -x, np.ones((1, 1)))

    start = np.array([2.0])
    stuck = levenberg_marquardt(Misled(), start)
    assert (stuck.diagnosis, stuck.parameters[0]) == (Diagnosis.NO_PROGRESS, 2.0)
    problem = SequenceLeastSquares(logarithm, (np.zeros((1, 1)),))
    assert (
        levenberg_marquardt(problem, start, SearchLimits(1)).diagnosis is Diagnosis.ITERATION_LIMIT
    )
    lost = levenberg_marquardt(problem, -start)
    assert (lost.diagnosis, lost.parameters[0]) == (Diagnosis.NOT_FINITE, -2.0)


@pytest.mark.parametrize("chunk", [3])
def test_sums_over_chunks_are_those_of_the_whole_jacobian(seed, sample, chunk):
    weights = full_weights(seed, 2, 1)  # 100 parameters, 4 residuals, and a last chunk of 2
    problem = SequenceLeastSquares(network, (sample.G, sample.oracle), sample.weight, chunk)
    f, gradient, curvature = problem.normal_equations(weights)
    theta, unravel = jax.flatten_util.ravel_pytree(weights)

    def residuals(theta):
        each = jax.vmap(lambda G, oracle: network(unravel(theta), G, oracle))
        r = each(jnp.asarray(sample.G), jnp.asarray(sample.oracle))
        return (np.sqrt(sample.weight)[:, None] * r).reshape(-1)

    r, J = np.asarray(residuals(theta)), np.asarray(jax.jit(jax.jacfwd(residuals))(theta))
    np.testing.assert_allclose(f, r @ r / 2, rtol=1e-12)
    assert problem.objective(weights) == pytest.approx(f, rel=1e-12)
    np.testing.assert_allclose(gradient, J.T @ r, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(curvature, J.T @ J, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("depth", [1, 3])
def test_the_written_out_jacobian_is_that_of_the_network(seed, sample, depth):
    rng = np.random.default_rng(seed)
    omegas = jnp.asarray(0.1 * rng.standard_normal((depth, 4)))
    G = jnp.asarray(sample.G)
    w, J = diagonal_jacobian(omegas, G)

    def of_network(omegas, G):
        return final_weights(Omegas(*omegas.T), G)

    exact = jax.jit(jax.vmap(jax.jacfwd(of_network), (None, 0)))(omegas, G)
    exact = np.moveaxis(np.asarray(exact).reshape(len(G), 4, -1), 1, 2)
    assert np.abs(J - exact).max() < 1e-10 * np.abs(exact).max()
    plain = jax.vmap(of_network, (None, 0))(omegas, G)
    np.testing.assert_allclose(w, plain, rtol=1e-10, atol=1e-12)


def test_the_diagonal_families_have_the_sums_of_any_residual_function(seed, sample):
    one_head = diag_weights(seed, 2, 1)
    special = DiagonalLeastSquares(sample)
    general = SequenceLeastSquares(network, (sample.G, sample.oracle), sample.weight)
    for weights in (one_head, one_head.omegas()):
        pairs = zip(
            special.normal_equations(weights), general.normal_equations(weights), strict=True
        )
        for ours, theirs in pairs:
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
        assert special.objective(weights) == pytest.approx(general.objective(weights), rel=1e-12)


def test_gd_plus_plus_is_a_curve_through_the_eigenvalues(seed):
    rng = np.random.default_rng(seed)
    s, target, weight = rng.uniform(0.5, 2, 6), rng.uniform(0, 1, 6), rng.uniform(0, 1, 6)
    weights = GDPlusPlus(*jnp.asarray(-0.2 * rng.uniform(0, 1, (2, 3))))

    def curve(weights, s, target):
        return spectral_form(weights, s[None]).f[-1] - target

    special = SpectralLeastSquares(s, 1 - target, weight)
    general = SequenceLeastSquares(curve, (s, target), weight)
    ours, theirs = (each.normal_equations(weights) for each in (special, general))
    np.testing.assert_allclose(ours.objective, theirs.objective, rtol=1e-10)
    np.testing.assert_allclose(ours.curvature, theirs.curvature, rtol=1e-9, atol=1e-13)
    # The residual is taken with the other sign, and J with it.
    np.testing.assert_allclose(ours.gradient, theirs.gradient, rtol=1e-9, atol=1e-13)


def test_the_exact_loss_of_one_step_is_the_one_layer_law():
    problem = NoisyRegression(5, 12, Uniform(2))
    step = laws.one_layer_step(problem)
    exact = SpectralLeastSquares.exact(problem)
    layer = GDPlusPlus(jnp.zeros(1), jnp.array([-step]))
    floor = laws.gd_plus_plus_floor(problem).value
    law = laws.one_layer_loss(problem).value
    assert exact.objective(layer) + floor == pytest.approx(law, rel=1e-8)
    assert np.abs(exact.normal_equations(layer).gradient[1]) < 1e-7


def test_data_that_cannot_be_fitted_get_a_sentence():
    with pytest.raises(UserError, match=r"^data must be arrays with the same number of sequences"):
        SequenceLeastSquares(affine, (np.zeros((0, 3, 4)), np.zeros((0, 3))))
    with pytest.raises(UserError, match=r"at least 1, got \[2, 3\]\.$"):
        SequenceLeastSquares(affine, (np.zeros((2, 3, 4)), np.zeros((3, 3))))
    with pytest.raises(UserError, match=r"^data must hold finite numbers only"):
        SequenceLeastSquares(affine, (np.full((1, 3, 4), np.nan), np.zeros((1, 3))))
    with pytest.raises(UserError, match=r"^iterations must be an integer of at least 0, got -1\.$"):
        SearchLimits(-1)
    with pytest.raises(UserError, match=r"^tolerance must be a finite number above 0, got 0\.$"):
        SearchLimits(tolerance=0)
