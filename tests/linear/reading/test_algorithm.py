"""Networks built by hand are read back: what was built into them is what the reading says."""

import json
from functools import lru_cache

import jax
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.linear.models.bayes import Bayes
from attnlab.linear.models.predictors import LinearTransformer
from attnlab.linear.models.weights import Omegas
from attnlab.linear.noise import Categorical, Fixed, Uniform
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.reading.algorithm import read_linear
from attnlab.linear.reading.contexts import contexts, noise_levels
from attnlab.linear.reading.layers import layers_at
from attnlab.linear.reading.tables import tables
from attnlab.linear.reading.words import sentences
from attnlab.linear.simulation import losses
from attnlab.linear.theory import constructions
from attnlab.linear.theory.convergence import preconditioned
from attnlab.stats import Estimate, agree
from tests.linear.prompts import full_weights

pytestmark = pytest.mark.usefixtures("double_precision")


PROBLEM = NoisyRegression(3, 8, Categorical((0, 1, 2)))
SAMPLES = 256

NETWORKS = {
    "descent": lambda: constructions.gradient_descent_network(3, 0.03),
    "adaptation": lambda: constructions.step_adaptation_network(-2e-3, -0.02),
    "rescaling": lambda: constructions.rescaling_network(-5e-3, 0.05),
}


@lru_cache
def reading(name, seed):
    return read_linear(NETWORKS[name](), PROBLEM, key=jax.random.key(seed), samples=SAMPLES)


def at_level(seed, sigma, problem=PROBLEM, samples=SAMPLES):
    """Sigma, alpha, lambda of the sequences that a reading sees, for another way to the answer."""
    G = contexts(problem, jax.random.key(seed), samples, sigma, float).G
    return G[:, :-1, :-1], G[:, :-1, -1], G[:, -1, -1]


def test_gradient_descent_is_read_as_its_steps_and_its_polynomial(seed):
    read = reading("descent", seed)
    assert [(layer.xx, layer.xy, layer.yx, layer.yy) for layer in read.layers] == [
        (0, 0, -0.03, 0)
    ] * 3
    for layer in read.layers:
        for at in layer.levels:
            for step in (at.step, at.plain_step):
                assert step.value == pytest.approx(0.03, rel=1e-12)
                assert step.standard_error < 1e-12
            assert at.explained == pytest.approx(1, rel=1e-12)
            assert (at.rescaling.value, at.adaptation.value) == (1, 1)
            assert at.condition[0] == at.condition[1]
            assert at.momentum.share == 0
            assert at.momentum.Pi.c.value == pytest.approx(-0.03)
    s = np.linspace(0, 20, 30)
    for level in read.levels:
        assert level.filter is not None
        np.testing.assert_allclose(level.filter(s), 1 - (1 - 0.03 * s) ** 3, rtol=1e-12, atol=1e-15)
        assert level.filter.explained == 1
    assert read.gd_plus_plus.worse.value == 0
    assert (read.size_xy, read.size_yy, read.diagonal) == (0, 0, None)
    assert sentences(read)[1:] == [f"layer {number}: gradient step 0.03." for number in (1, 2, 3)]


def test_theorem_5_1_is_read_as_preconditioning_and_one_step(seed):
    # Contexts with one spectrum, so that every condition number is known.
    s = np.array([1.0, 3.0, 8.0])
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.standard_normal((SAMPLES, 8, 3)))[0]
    V = np.linalg.qr(rng.standard_normal((SAMPLES, 3, 3)))[0]
    X = np.einsum("kia,a,kba->kib", U, np.sqrt(s), V)
    E = np.concatenate([X, rng.standard_normal((SAMPLES, 8, 1))], axis=2)
    G = np.einsum("kia,kib->kab", E, E)
    network = constructions.least_squares_network(1.0, 8.0, 3)
    layers, overflowed = layers_at(network, network.omegas(), G, 8, 0.0)
    assert overflowed == 0
    spectrum = s
    for at, omega in zip(layers, np.asarray(network.xx), strict=True):
        after = preconditioned(spectrum, omega)
        ends = [each.max() / each.min() for each in (spectrum, after)]
        np.testing.assert_allclose(at.condition, ends, rtol=1e-9)
        assert at.largest == pytest.approx(spectrum.max())
        spectrum = after
    assert [at.step.value for at in layers[:2]] == [0, 0]
    assert layers[2].step.value == pytest.approx(-float(network.yx[2]), rel=1e-12)
    assert layers[2].explained == pytest.approx(1, rel=1e-12)
    assert layers[2].along == pytest.approx(1, rel=1e-12)
    # On the inputs themselves the same move is another, poorer step.
    assert layers[2].plain_step.value < 0.9 * layers[2].step.value
    assert layers[2].plain_explained < 0.999


def test_theorem_5_2_is_read_as_its_rescaling(seed):
    for level, at in zip(
        PROBLEM.noise.levels, reading("rescaling", seed).layers[1].levels, strict=True
    ):
        Sigma, alpha, lam = at_level(seed, level)
        # lambda after the first layer, y - eta X alpha, from the sums before it
        later = lam - 0.1 * (alpha**2).sum(-1)
        later += 0.05**2 * np.einsum("ka,kab,kb->k", alpha, Sigma, alpha)
        assert at.rescaling.value == pytest.approx(1 - 5e-3 * later.mean(), rel=1e-12)
        assert at.labels.value == pytest.approx(later.mean(), rel=1e-12)
        assert at.step.value == 0
    first = reading("rescaling", seed).layers[0].levels
    assert [at.rescaling.value for at in first] == [1, 1, 1]
    assert all(at.step.value == pytest.approx(0.05) for at in first)


def test_theorem_5_2_shrinks_as_its_limit_says_at_every_level(seed):
    n, d, pair, levels = 20_000, 3, (0.5, 1.0), (0.5, 1.0, 2.0)
    network = constructions.two_level_network(*pair, n)
    total = 1 + sum(level**2 for level in pair)
    problem = NoisyRegression(d, n, Fixed(0), variance=1 / n)
    for sigma in levels:
        G = contexts(problem, jax.random.key(seed), SAMPLES, sigma, float).G
        (first, second), _ = layers_at(network, network, G, n, sigma)
        c = first.step.value
        limit = constructions.two_level_shrinkage(*pair, sigma)
        found = c * second.rescaling.value
        # E lambda^1 - n sigma^2 = d ((1 - c)^2 (1 + sigma^2) - sigma^2) to leading order in 1/n.
        bias = c * d * ((1 - c) ** 2 * (1 + sigma**2) + sigma**2) / (n * total)
        error = c * second.rescaling.standard_error
        assert agree(Estimate(found, error, SAMPLES), limit, 3, slack=2 * bias).agrees


def test_section_5_3_is_read_as_a_step_that_shrinks_with_the_noise(seed):
    read = reading("adaptation", seed)
    first, second = read.layers
    for level, before, at in zip(PROBLEM.noise.levels, first.levels, second.levels, strict=True):
        _, alpha, lam = at_level(seed, level)
        weight = (alpha**2).sum(-1)
        expected = 0.02 * ((1 - 2e-3 * lam) * weight).sum() / weight.sum()
        assert at.step.value == pytest.approx(expected, rel=1e-12)
        assert at.plain_step.value == pytest.approx(expected, rel=1e-12)  # M = I here
        assert 0.9 < at.explained < 1  # one step for all sequences
        assert at.along == pytest.approx(1, rel=1e-12)  # and one for each of them
        # Another oracle: E lambda = n (d + sigma^2).
        mean = 1 - 2e-3 * PROBLEM.n * (PROBLEM.d + level**2)
        assert agree(before.adaptation, mean, 3).agrees
        assert before.step.value == 0
    steps = [at.step.value for at in second.levels]
    assert steps[0] > steps[1] > steps[2]
    line = sentences(read)[-1]
    assert line.startswith(
        f"layer 2: gradient step {steps[0]:.3g} (shrinks {steps[0] / steps[2]:.2f}"
    )
    assert "from sigma 0 to 2" in line
    assert "which multiplies later steps by" in sentences(read)[-2]


def test_the_momentum_form_of_section_5_3_is_read(seed):
    first, second = reading("adaptation", seed).layers
    for level, before, at in zip(PROBLEM.noise.levels, first.levels, second.levels, strict=True):
        Sigma, alpha, lam = at_level(seed, level)
        w = np.linalg.solve(Sigma, alpha[..., None])[..., 0]
        rho = lam - (w * alpha).sum(-1)
        assert before.momentum.Gamma.c.value == pytest.approx(-2e-3)
        assert before.momentum.Gamma.rest < 1e-7
        # Lambda = -omega_xy rho I and, a layer later, Phi = omega_yx rho I with M = I.
        assert before.momentum.Lambda.c.value == pytest.approx(2e-3 * rho.mean(), abs=1e-12)
        assert at.momentum.Phi.c.value == pytest.approx(-0.02 * rho.mean(), abs=1e-12)
        u, v = 2e-3 * 0.02 * rho, 0.02 * (1 - 2e-3 * (lam - rho))
        moved = [(factor**2 * (alpha**2).sum(-1)).sum() for factor in (u, v)]
        assert at.momentum.share == pytest.approx(moved[0] / sum(moved), rel=1e-6, abs=1e-20)


def test_the_profile_is_that_of_the_loss_estimator(seed):
    read, key = reading("rescaling", seed), jax.random.key(seed)
    network, bayes = LinearTransformer(read.weights), Bayes(PROBLEM.noise)

    def loss(predictor, sigma=None):
        return Estimate.of(losses(predictor, PROBLEM, key, SAMPLES, sigma=sigma, block=SAMPLES))

    for predictor, name in ((network, "loss"), (bayes, "bayes_loss")):
        for level in read.levels:
            found, expected = getattr(level, name), loss(predictor, level.sigma)
            assert found.value == pytest.approx(expected.value, rel=1e-9, abs=1e-15)
            assert found.standard_error == pytest.approx(
                expected.standard_error, rel=1e-9, abs=1e-15
            )
    assert read.loss.value == pytest.approx(loss(network).value, rel=1e-9)
    # The nearest GD++ is a gradient step of .05 alone.
    parts = [0.0, 0], [0.0, 0], [-0.05, 0], [0.0, 0]
    other = loss(LinearTransformer(Omegas(*map(np.array, parts)))).value
    assert read.gd_plus_plus.worse.value == pytest.approx(other - read.loss.value, rel=1e-9)
    assert (read.size_xy, read.size_yy) == (0, 5e-3)


def test_where_the_noise_is_known_bayes_is_the_oracle(seed):
    problem = NoisyRegression(3, 8, Fixed(1))
    read = read_linear(
        NETWORKS["descent"](), problem, key=jax.random.key(seed), samples=SAMPLES, sigmas=[1.0]
    )
    (level,) = read.levels
    assert level.bayes_loss.value < 1e-20
    assert level.to_bayes.value == pytest.approx(level.loss.value, rel=1e-9)


def test_a_full_network_that_is_diagonal_reads_like_it(seed):
    omegas = constructions.step_adaptation_network(-2e-3, -0.02)
    read = read_linear(omegas.full(3), PROBLEM, key=jax.random.key(seed), samples=SAMPLES)
    assert read.diagonal is not None
    assert read.as_diagonal is not None
    assert read.diagonal.verdict == "diagonal"
    assert abs(read.as_diagonal.worse.value) < 1e-12
    for layer, expected in zip(read.layers, reading("adaptation", seed).layers, strict=True):
        for at, other in zip(layer.levels, expected.levels, strict=True):
            assert at.step.value == pytest.approx(other.step.value, rel=1e-10)
    for level, other in zip(read.levels, reading("adaptation", seed).levels, strict=True):
        assert level.loss.value == pytest.approx(other.loss.value, rel=1e-10)
    assert "Its layers are diagonal, to rounding." in sentences(read)


def test_a_random_full_network_is_said_not_to_be_diagonal(seed):
    scale = 0.05  # tokens of this problem are larger than those of `prompts`
    network = jax.tree.map(lambda part: scale * part, full_weights(seed, 2, 2, d=3))
    read = read_linear(network, PROBLEM, key=jax.random.key(seed), samples=SAMPLES)
    assert read.diagonal is not None
    assert read.diagonal.verdict == "not diagonal"
    assert any("NOT diagonal" in sentence for sentence in sentences(read))
    weights_table = tables(read)[0]
    assert weights_table.columns[-3:] == ("P off", "Q off", "layer off")
    distances = [float(row[-1]) for row in weights_table.rows]
    np.testing.assert_allclose(distances, read.diagonal.layer, rtol=1e-2)


def test_divergence_is_a_result_with_its_count(seed):
    network = constructions.gradient_descent_network(3, 1e150)
    read = read_linear(network, PROBLEM, key=jax.random.key(seed), samples=SAMPLES, sigmas=[1.0])
    (level,) = read.levels
    assert (level.overflowed, level.filter, level.loss.value) == (SAMPLES, None, np.inf)
    found = sentences(read)
    assert f"{SAMPLES} sequences overflowed" in found[1]
    assert found[-1] == "layer 3: overflows on every sequence."
    assert json.loads(json.dumps(read.as_dict(), allow_nan=False))["levels"][0]["filter"] is None
    assert tables(read)


def test_a_reading_is_json(seed):
    document = json.loads(json.dumps(reading("adaptation", seed).as_dict(), allow_nan=False))
    assert document["problem"]["noise"] == "categorical:0,1,2"
    assert document["layers"][0]["xy"] == -2e-3
    assert set(document["levels"][0]["loss"]) == {"value", "standard_error", "samples"}


def test_levels_of_laws():
    assert noise_levels(Uniform(5)) == (0, 1, 2, 3, 4, 5)
    assert noise_levels(Categorical((3, 1))) == (1, 3)
    assert noise_levels(Uniform(0)) == noise_levels(Fixed(0)) == (0,)


MISTAKES = {
    "samples must be an integer of at least 2, got 1.": {"samples": 1},
    "sigmas must be a finite number of at least 0, got -1.": {"sigmas": [-1]},
    "sigmas must hold at least one noise level, got none.": {"sigmas": []},
    "d must be that of the weights, 4, got 3.": {"weights": full_weights},
    "n must be at least d = 3 for a reading at the noise level 0, got 2.": {"n": 2},
    "weights must be one of FullWeights, DiagWeights, Omegas, GDPlusPlus, got int.": {"weights": 3},
}


@pytest.mark.parametrize("sentence", MISTAKES)
def test_a_wrong_argument_is_one_sentence(sentence, unchecked):
    given = dict(MISTAKES[sentence])
    weights = given.pop("weights", NETWORKS["descent"]())
    weights = weights(0, 1, 1) if callable(weights) else weights
    problem = NoisyRegression(3, given.pop("n", 8), PROBLEM.noise)
    with pytest.raises(UserError) as refused:
        read_linear(weights, problem, **given)
    assert str(refused.value) == sentence
