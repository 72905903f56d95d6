from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.linear.noise import Categorical, Fixed, NoiseLaw, Uniform, parse_noise
from attnlab.linear.problem import NoisyRegression, gram, sums

pytestmark = pytest.mark.usefixtures("double_precision")


Z = 5.5  # about 200 comparisons a test and 100 seeds: familywise below 1e-3
SAMPLES = 20_000


def draws(problem, name, seed, samples=SAMPLES):
    keys = jax.random.split(jax.random.key(seed), samples)
    return jax.tree.map(np.asarray, jax.jit(jax.vmap(getattr(problem, name)))(keys))


def agree(values, expected):
    """Means over the first axis against their expectations, in standard errors."""
    values = np.asarray(values)
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return (np.abs(values.mean(axis=0) - expected) <= Z * error + 1e-12).all()


@pytest.mark.parametrize("sampler", ["sample_gram", "direct_gram"])
@pytest.mark.parametrize(("d", "n"), [(3, 7), (3, 2), (3, 4)])
def test_the_samplers_have_the_moments_of_the_law(seed, sampler, d, n):
    # n = 2 < d + 1 is the trapezoidal factor, n = 4 has a chi-square of one degree of freedom.
    v = np.array([0.5, 1.0, 2.0])
    problem = NoisyRegression(d, n, Categorical((1, 3)), variance=tuple(v))
    G, w, sigma = draws(problem, sampler, seed)
    noise = 5.0  # E sigma^2
    Sigma, alpha, lam = G[:, :-1, :-1], G[:, :-1, -1], G[:, -1, -1]
    assert agree(Sigma, n * np.diag(v))
    second = n * np.outer(v, v) + np.diag(n**2 * v**2 + n * v**2)
    assert agree(Sigma**2, second)
    assert agree(alpha - n * v * w, np.zeros(d))
    assert agree(alpha[:, :, None] * w[:, None, :], n * np.diag(v))
    # Given w and sigma, lambda / (w^T D w + sigma^2) is chi^2 with n degrees of freedom.
    scaled = lam / ((w**2) @ v + sigma**2)
    assert agree(
        np.stack([scaled, scaled**2, scaled**3], 1), [n, n * (n + 2), n * (n + 2) * (n + 4)]
    )
    assert agree(sigma**2, noise)
    assert agree(w[:, :, None] * w[:, None, :], np.eye(d))


def test_the_residual_sum_of_squares_follows_its_law_in_both_samplers(seed):
    # rho / sigma^2 is chi^2 with n - d degrees of freedom: the deepest entry of Bartlett's factor.
    d, n = 4, 7
    problem = NoisyRegression(d, n, Fixed(2))
    for sampler in ("sample_gram", "direct_gram"):
        G = draws(problem, sampler, seed).G
        rho = 1 / np.linalg.inv(G)[:, -1, -1] / 4
        assert agree(np.stack([rho, rho**2], 1), [n - d, (n - d) * (n - d + 2)])


def test_tokens_are_those_of_the_definition(seed):
    problem = NoisyRegression(3, 6, Uniform(2), variance=0.25)
    prompt = draws(problem, "sample", seed)
    assert prompt.X.shape == (SAMPLES, 6, 3)
    residual = prompt.y - np.einsum("bnd,bd->bn", prompt.X, prompt.w)
    xi = residual / prompt.sigma[:, None]
    assert agree(np.stack([xi.mean(1), (xi**2).mean(1)], 1), [0, 1])
    assert agree(prompt.query**2, 0.25)
    assert agree(prompt.sigma, 1.0)
    one = problem.sample(jax.random.key(seed))
    assert float(one.label) == pytest.approx(float(one.w @ one.query))
    one = jax.tree.map(np.asarray, one)
    tokens = np.column_stack([one.X, one.y])
    G = gram(jnp.asarray(one.X), jnp.asarray(one.y))
    np.testing.assert_allclose(G, tokens.T @ tokens, atol=1e-12)
    Sigma, alpha, lam = sums(G)
    np.testing.assert_allclose(Sigma, one.X.T @ one.X, atol=1e-12)
    np.testing.assert_allclose(alpha, one.X.T @ one.y, atol=1e-12)
    np.testing.assert_allclose(lam, one.y @ one.y)
    np.testing.assert_allclose(problem.sample_gram(jax.random.key(seed)).G, G, atol=1e-12)


def test_a_given_sigma_replaces_the_law_and_changes_nothing_else(seed):
    key = jax.random.key(seed)
    law, fixed = NoisyRegression(), NoisyRegression(noise=Fixed(1.5))
    for name in ("sample_gram", "direct_gram"):
        left = jax.jit(getattr(law, name))(key, sigma=jnp.asarray(1.5))
        right = jax.jit(getattr(fixed, name))(key)
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
        (lambda: parse_noise("uniform:-3"), r"^high must be a finite number of at least 0, got -3"),
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
