import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.linear.kernels import diagonal_jacobian as jacobian
from attnlab.linear.kernels import simd_layout
from attnlab.linear.models.transformer import gram_form
from attnlab.linear.models.weights import DiagWeights, GDPlusPlus, Omegas
from attnlab.linear.noise import Uniform
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.training.families import DiagonalLeastSquares, sequence_losses
from attnlab.linear.training.fixed_sample import draw
from tests.conftest import in_double_precision

pytestmark = pytest.mark.usefixtures("double_precision")


PROBLEM = NoisyRegression(3, 7, Uniform(1))
DEPTH = 3
ROUNDING = 1e-10


@pytest.fixture(scope="module")
def sample(seed):
    with in_double_precision():
        drawn = draw(PROBLEM, jax.random.key(seed), 24)
    return drawn._replace(G=drawn.G / 10)  # of order one, for ordinary networks


@pytest.fixture
def omegas(seed):
    return 0.1 * np.random.default_rng(seed).standard_normal((DEPTH, 4))


def test_the_sequences_become_the_last_axis_and_come_back():
    width = simd_layout.SIMD_WIDTH
    parts = np.arange(2 * width * 6.0).reshape(-1, 2, 3)
    laid = simd_layout.to_simd_layout(parts)
    assert laid.shape == (2, 2, 3, width)
    np.testing.assert_array_equal(laid[1, :, :, 5], parts[width + 5])
    np.testing.assert_array_equal(simd_layout.from_simd_layout(jnp.asarray(laid)), parts)


def test_one_layer_of_gd_plus_plus_is_one_gradient_step(sample):
    # w = -omega_yx alpha, whatever omega_xx is.
    weights = GDPlusPlus(jnp.array([0.3]), jnp.array([-0.2]))
    error = 0.2 * sample.G[:, :-1, -1] - sample.oracle
    losses = sequence_losses(weights, sample.G, sample.oracle)
    np.testing.assert_allclose(losses, np.square(error).sum(1) / 2, rtol=1e-12)


def test_the_simd_layout_runs_the_network_in_gram_form(sample, omegas):
    p, back = PROBLEM.d + 1, simd_layout.from_simd_layout
    G = jnp.asarray(simd_layout.to_simd_layout(sample.G))
    before, rows = simd_layout.run(simd_layout.patterns(omegas, p), G)
    plain = jax.vmap(lambda G: gram_form(Omegas(*jnp.asarray(omegas.T)), G))(jnp.asarray(sample.G))
    for layer in range(DEPTH):
        G = back(before[layer])
        np.testing.assert_allclose(G, plain.G[:, layer], rtol=ROUNDING, atol=ROUNDING)
    np.testing.assert_allclose(back(rows[0]), plain.R[:, -1, -1], rtol=ROUNDING, atol=ROUNDING)
    last = np.broadcast_to(np.eye(p)[-1], (len(sample.G), p))
    np.testing.assert_array_equal(back(rows[-1]), last)


def test_the_same_network_costs_the_same_in_every_family(seed, sample):
    xx, yx = 0.1 * np.random.default_rng(seed).standard_normal((2, DEPTH))
    weights = GDPlusPlus(jnp.asarray(xx), jnp.asarray(yx))
    losses = sequence_losses(weights, sample.G, sample.oracle)
    for same in (weights.diag(), weights.omegas(), weights.omegas().two_heads()):
        ours = sequence_losses(same, sample.G, sample.oracle)
        np.testing.assert_allclose(ours, losses, rtol=ROUNDING)


def test_the_gradient_by_heads_is_that_of_the_objective(seed, sample):
    rng = np.random.default_rng(seed)
    theta = 0.3 * rng.standard_normal((4, DEPTH, 2))
    direction = rng.standard_normal(theta.shape)
    problem = DiagonalLeastSquares(sample)
    step = 1e-5

    def at(distance):
        return DiagWeights(*jnp.asarray(theta + distance * direction))

    gradient = problem.normal_equations(at(0)).gradient
    ahead, behind = (problem.objective(at(sign * step)) for sign in (1, -1))
    slope = gradient @ direction.reshape(-1)
    # The error of a central difference is a third derivative times step^2 / 6.
    assert (
        abs((ahead - behind) / (2 * step) - slope)
        < 1e-5 * np.abs(gradient * direction.reshape(-1)).sum()
    )


def test_one_program_serves_every_layer_of_every_depth(sample, omegas):
    G = jnp.asarray(sample.G[:7])  # a batch of its own shape, one sequence short of full
    programs = [
        getattr(jacobian, name)
        for name in ("_layer", "_contractions", "_propagated", "_own_tangents", "_with_layer")
    ]
    jacobian.diagonal_jacobian(jnp.asarray(omegas), G)
    compiled = [program._cache_size() for program in programs]
    for depth in (1, 2, 5):
        jacobian.diagonal_jacobian(jnp.full((depth, 4), 0.01), G)
    assert [program._cache_size() for program in programs] == compiled
