from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.linear.noise import Categorical, Fixed, NoiseLaw, Uniform, parse_noise
from attnlab.linear.problem import NoisyRegression, Prompt, gram, sums
from attnlab.stats import normal_threshold
from tests.conftest import in_double_precision

pytestmark = pytest.mark.usefixtures("double_precision")


SAMPLES = 20_000
# About 200 comparisons per test, and a test for each of 100 seeds: all hold but in 1 of 10^6 cases.
Z = normal_threshold(200, 1e-8)
D, VARIANCES = 3, (0.5, 1.0, 2.0)


def problem_of(n):
    return NoisyRegression(D, n, Categorical((1, 3)), variance=VARIANCES)


def draws(problem, name, seed, samples=SAMPLES):
    keys = jax.random.split(jax.random.key(seed), samples)
    return jax.tree.map(np.asarray, jax.jit(jax.vmap(getattr(problem, name)))(keys))


def agree(values, expected):
    """Means over the first axis against their expectations, in standard errors."""
    values = np.asarray(values)
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return (np.abs(values.mean(axis=0) - expected) <= Z * error + 1e-12).all()


def check_moments(n, G, w, sigma):
    """The moments of a Gram matrix of n tokens, given w and sigma."""
    v = np.array(VARIANCES)
    Sigma, alpha, lam = G[:, :-1, :-1], G[:, :-1, -1], G[:, -1, -1]
    assert agree(Sigma, n * np.diag(v))
    second = n * np.outer(v, v) + np.diag(n**2 * v**2 + n * v**2)
    assert agree(Sigma**2, second)
    assert agree(alpha - n * v * w, np.zeros(D))
    assert agree(alpha[:, :, None] * w[:, None, :], n * np.diag(v))
    # Given w and sigma, lambda / (w^T D w + sigma^2) is chi^2 with n degrees of freedom.
    scaled = lam / ((w**2) @ v + sigma**2)
    assert agree(
        np.stack([scaled, scaled**2, scaled**3], 1), [n, n * (n + 2), n * (n + 2) * (n + 4)]
    )
    assert agree(sigma**2, 5.0)
    assert agree(w[:, :, None] * w[:, None, :], np.eye(D))
    if n > D + 1:
        # rho / sigma^2 is chi^2 with n - d degrees: the deepest entry of Bartlett's factor.
        rho = 1 / np.linalg.inv(G)[:, -1, -1] / sigma**2
        assert agree(np.stack([rho, rho**2], 1), [n - D, (n - D) * (n - D + 2)])


@pytest.mark.parametrize("n", [7, 2, 4])
def test_direct_gram_matrices_have_the_moments_of_the_law(seed, n):
    # n = 2 < d + 1 is the trapezoidal factor, n = 4 has a chi-square of one degree of freedom.
    check_moments(n, *draws(problem_of(n), "direct_gram", seed))


@pytest.fixture(scope="module")
def prompts(seed):
    with in_double_precision():
        return draws(problem_of(7), "sample", seed)


def test_tokens_are_those_of_the_definition(prompts):
    assert prompts.X.shape == (SAMPLES, 7, D)
    residual = prompts.y - np.einsum("bnd,bd->bn", prompts.X, prompts.w)
    xi = residual / prompts.sigma[:, None]
    assert agree(np.stack([xi.mean(1), (xi**2).mean(1)], 1), [0, 1])
    assert agree(prompts.query**2, VARIANCES)
    assert agree(prompts.sigma, 2.0)
    tokens = np.concatenate([prompts.X, prompts.y[..., None]], axis=2)
    check_moments(7, tokens.swapaxes(1, 2) @ tokens, prompts.w, prompts.sigma)


def test_the_gram_matrix_and_its_blocks_are_sums_over_tokens(seed, prompts):
    one = Prompt(*(part[0] for part in prompts))
    tokens = np.column_stack([one.X, one.y])
    # The key of the first prompt; a sum of seven products differs by a few roundings.
    key = jax.random.split(jax.random.key(seed), SAMPLES)[0]
    same = jax.jit(problem_of(7).sample_gram)(key)
    np.testing.assert_allclose(same.G, tokens.T @ tokens, rtol=1e-12, atol=1e-12)
    G = gram(jnp.asarray(one.X), jnp.asarray(one.y))
    np.testing.assert_allclose(G, tokens.T @ tokens, rtol=1e-12, atol=1e-12)
    Sigma, alpha, lam = sums(G)
    np.testing.assert_allclose(Sigma, one.X.T @ one.X, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(alpha, one.X.T @ one.y, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(lam, one.y @ one.y, rtol=1e-12)
    assert float(one.label) == pytest.approx(float(one.w @ one.query))


@pytest.mark.parametrize("name", ["sample_gram", "direct_gram"])
def test_a_given_sigma_replaces_the_law_and_changes_nothing_else(seed, name):
    law, fixed = problem_of(7), NoisyRegression(D, 7, Fixed(1.5), VARIANCES)
    key = jax.random.key(seed)

    @jax.jit
    def both(key):
        given = getattr(law, name)(key, sigma=jnp.asarray(1.5))
        return given, getattr(fixed, name)(key)

    left, right = both(key)
    np.testing.assert_allclose(left.G, right.G, rtol=1e-12, atol=1e-12)
    assert left.sigma == 1.5


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_dtype_asked_for_is_the_dtype_got(dtype):
    problem = NoisyRegression(noise=Categorical((1, 3)))
    for sampler in (problem.sample, problem.sample_gram, problem.direct_gram):
        prompt = jax.eval_shape(partial(sampler, dtype=dtype), jax.random.key(0))
        assert {leaf.dtype.name for leaf in prompt} == {dtype}


@pytest.mark.parametrize(
    ("law", "mean_square"),
    [
        (Fixed(2), 4.0),
        (Uniform(5), 25 / 3),
        (Uniform(0), 0.0),
        (Categorical((1, 3, 5)), 35 / 3),
        (Categorical((0, 2), (0.25, 0.75)), 3.0),
    ],
)
def test_laws_agree_with_their_samples_their_quadrature_and_their_names(seed, law, mean_square):
    assert isinstance(law, NoiseLaw)
    assert parse_noise(law.name) == law
    assert law.second_moment() == pytest.approx(mean_square)
    levels, weights = law.quadrature(8)
    assert weights.sum() == pytest.approx(1)
    assert weights @ levels**2 == pytest.approx(mean_square)
    keys = jax.random.split(jax.random.key(seed), SAMPLES)
    sample = np.asarray(jax.jit(jax.vmap(law.sample))(keys))
    assert agree(np.stack([sample, sample**2], 1), [weights @ levels, mean_square])


def test_names_are_those_of_configs():
    names = ["uniform:5", "uniform:0.5", "categorical:1,3", "categorical:1,3@0.2,0.8", "fixed:2"]
    assert [parse_noise(name).name for name in names] == names


@pytest.mark.parametrize(
    "name", ["gauss:2", "uniform", "uniform:1,2", "fixed:a", "", "fixed:1@1", 7]
)
def test_an_unknown_law_is_refused_with_what_is_accepted(unchecked, name):
    with pytest.raises(UserError, match=r'^noise must be "fixed:SIGMA", "uniform:HIGH" or "categ'):
        parse_noise(name)


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: Uniform(-1), r"^high must be a finite number of at least 0, got -1\.$"),
        (lambda: Fixed(float("nan")), r"^sigma must be a finite number of at least 0, got nan\.$"),
        (lambda: Categorical(()), r"^levels must hold at least one noise level, got none\.$"),
        (lambda: Categorical((1, 3), (0.5, 0.6)), r"^weights must be 2 positive numbers that sum"),
        (
            lambda: parse_noise("uniform:-3"),
            r"^noise must be a valid noise law, got 'uniform:-3': high must be a finite number of",
        ),
        (
            lambda: parse_noise("uniform:nan"),
            r"^noise must be a valid noise law, got 'uniform:nan': high must be a finite number",
        ),
        (lambda: NoisyRegression(0), r"^d must be an integer of at least 1, got 0\.$"),
        (lambda: NoisyRegression(3, 2.5), r"^n must be an integer of at least 1, got 2\.5\.$"),
        (
            lambda: NoisyRegression(noise=3),
            r"^noise must be a noise law such as Uniform\(5\), .* 3",
        ),
        (lambda: NoisyRegression(variance=0), r"^variance must be a finite number above 0, got 0"),
        (lambda: NoisyRegression(3, 5, variance=(1.0,)), r"^variance must be one number or d = 3"),
    ],
)
def test_a_wrong_argument_is_named(unchecked, build, sentence):
    with pytest.raises(UserError, match=sentence):
        build()
