import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sklearn.linear_model
from scipy import integrate

from attnlab.errors import UserError
from attnlab.linear.models import predictors as predictors
from attnlab.linear.models.bayes import Bayes, log_evidence
from attnlab.linear.models.transformer import token_form
from attnlab.linear.models.tuned_ridge import ridge_sample, tune_const_ridge, tune_ridge
from attnlab.linear.noise import Categorical, Fixed, Uniform
from attnlab.linear.problem import NoisyRegression, gram
from tests.linear.prompts import full_weights

pytestmark = pytest.mark.usefixtures("double_precision")


def context(seed, d=4, n=9, noise=1.5):
    rng = np.random.default_rng(seed)
    X, w = rng.standard_normal((n, d)), rng.standard_normal(d)
    y = X @ w + noise * rng.standard_normal(n)
    return X, y, rng.standard_normal((5, d))


def answers(predictor, X, y, queries):
    return np.asarray(predictor(*map(jnp.asarray, (X, y, queries))))


def sklearn_ridge(X, y, queries, penalty):
    model = sklearn.linear_model.Ridge(alpha=penalty, fit_intercept=False)
    return model.fit(X, y).predict(queries)


def test_ols_is_numpy_s_and_ridge_is_scikit_learn_s(seed):
    X, y, queries = context(seed)
    w, rss, *_ = np.linalg.lstsq(X, y)
    np.testing.assert_allclose(answers(predictors.OLS(), X, y, queries), queries @ w, rtol=1e-9)
    for ours in (predictors.Ridge(1.5), predictors.ConstRidge(2.25)):
        expected = sklearn_ridge(X, y, queries, 2.25)
        np.testing.assert_allclose(answers(ours, X, y, queries), expected, rtol=1e-10)
    estimate = rss.item() / (9 - 4)
    expected = sklearn_ridge(X, y, queries, estimate)
    np.testing.assert_allclose(answers(predictors.AdaRidge(), X, y, queries), expected, rtol=1e-9)
    tuned = predictors.TunedRidge(1.2, estimate / 2)
    expected = sklearn_ridge(X, y, queries, 1.2 * estimate / 2)
    np.testing.assert_allclose(answers(tuned, X, y, queries), expected, rtol=1e-9)


def test_descents_converge_to_what_they_descend_to(seed):
    X, y, _ = context(seed, n=30)
    G = gram(jnp.asarray(X), jnp.asarray(y))
    descent = predictors.GradientDescent(5000, 0.01).weights(G, 30)
    np.testing.assert_allclose(descent, predictors.OLS().weights(G, 30), rtol=1e-8)
    iterative = predictors.IterativeAdaRidge(5000).weights(G, 30)
    np.testing.assert_allclose(iterative, predictors.AdaRidge().weights(G, 30), rtol=1e-8)
    one = predictors.GradientDescent(1, 0.01).weights(G, 30)
    np.testing.assert_allclose(one, 0.01 * X.T @ y, rtol=1e-12)


@pytest.mark.parametrize("n", [9, 4, 2])
def test_bayes_is_the_integral_over_the_noise(seed, n):
    # By brute force: the Gaussian density of y under X X^T + sigma^2 I, and adaptive quadrature.
    X, y, _ = context(seed, n=n)

    def parts(sigma):
        C = X @ X.T + sigma**2 * np.eye(n)
        solved = np.linalg.solve(C, y)
        log = -0.5 * (np.linalg.slogdet(C)[1] + y @ solved)
        return np.append(X.T @ solved, 1) * np.exp(log + 10)

    G = gram(jnp.asarray(X), jnp.asarray(y))
    *numerator, mass = integrate.quad_vec(parts, 1e-6, 3, epsabs=1e-14, epsrel=1e-10)[0]
    w = Bayes(Uniform(3), 200).weights(G, n)
    np.testing.assert_allclose(w, np.array(numerator) / mass, rtol=1e-5, atol=1e-7)
    total = 0.25 * parts(1.0) + 0.75 * parts(3.0)
    w = Bayes(Categorical((1, 3), (0.25, 0.75))).weights(G, n)
    np.testing.assert_allclose(w, total[:-1] / total[-1], rtol=1e-9)
    sigmas = np.array([0.5, 1.0, 2.0])
    expected = np.log([parts(sigma)[-1] for sigma in sigmas])
    found = np.asarray(log_evidence(G, n, jnp.asarray(sigmas)))
    np.testing.assert_allclose(np.diff(found), np.diff(expected), rtol=1e-9)


def test_bayes_with_one_level_is_ridge_and_without_noise_ols(seed):
    X, y, _ = context(seed)
    G = gram(jnp.asarray(X), jnp.asarray(y))
    ridge = predictors.Ridge(1.5).weights(G, 9)
    np.testing.assert_allclose(Bayes(Fixed(1.5)).weights(G, 9), ridge, rtol=1e-10)
    ols = predictors.OLS().weights(G, 9)
    np.testing.assert_allclose(Bayes(Uniform(0)).weights(G, 9), ols, rtol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bayes_sees_whether_a_context_has_no_noise(seed, dtype):
    bayes = Bayes(Categorical((0, 1)))
    for noise in (0, 1):
        X, y, _ = context(seed, noise=noise)
        G = gram(jnp.asarray(X, dtype), jnp.asarray(y, dtype))
        w = bayes.weights(G, 9)
        assert w.dtype == dtype
        expected = predictors.Ridge(float(noise)).weights(G, 9)
        np.testing.assert_allclose(w, expected, rtol=1e-3 if dtype == "float32" else 1e-8)


def test_bayes_is_finite_at_every_noise_and_both_precisions(seed):
    for noise in (0, 1e-6, 1e-2, 100):
        X, y, _ = context(seed, noise=noise)
        for dtype in ("float32", "float64"):
            G = gram(jnp.asarray(X, dtype), jnp.asarray(y, dtype))
            assert jnp.isfinite(Bayes(Uniform(5)).weights(G, 9)).all()


def test_a_linear_transformer_answers_the_same_call(seed):
    X, y, queries = (0.3 * part for part in context(seed))
    network = full_weights(seed, 3, 2)
    tokens = token_form(network, *map(jnp.asarray, (X, y, queries))).predictions
    found = answers(predictors.LinearTransformer(network), X, y, queries)
    np.testing.assert_allclose(found, tokens[-1], rtol=1e-10, atol=1e-12)
    found = answers(predictors.EveryLayer(network), X, y, queries)
    np.testing.assert_allclose(found, tokens, rtol=1e-10, atol=1e-12)


def test_float32_stays_float32_and_agrees(seed):
    X, y, queries = context(seed, n=12)
    every = [
        predictors.OLS(),
        predictors.Ridge(1.0),
        predictors.ConstRidge(2.0),
        predictors.AdaRidge(),
        predictors.TunedRidge(1.2, 9.0),
        predictors.IterativeAdaRidge(50),
        predictors.GradientDescent(20, 0.01),
        Bayes(Uniform(3)),
    ]
    for predictor in every:
        single = predictor(*(jnp.asarray(part, "float32") for part in (X, y, queries)))
        assert single.dtype == "float32"
        np.testing.assert_allclose(single, answers(predictor, X, y, queries), rtol=5e-3, atol=5e-3)


def test_the_tuned_constant_is_the_mean_square_noise(seed):
    problem = NoisyRegression(4, 12, Uniform(3))
    key = jax.random.key(seed)
    tuned = tune_const_ridge(problem, key, 20_000)
    # The loss is flat at its minimum: the constant is known to a few percent, the loss far better.
    assert tuned.penalty == pytest.approx(3.0, rel=0.15)
    sample = ridge_sample(problem, key, 20_000)
    assert sample.loss(np.array([tuned.penalty])) <= sample.loss(np.array([3.0])) + 1e-12
    assert tune_const_ridge(NoisyRegression(noise=Uniform(0)), key).penalty == 0


def test_tuning_beats_every_constant_of_a_grid(seed):
    problem = NoisyRegression(4, 12, Uniform(3))
    key = jax.random.key(seed)
    tuned = tune_ridge(problem, key, 20_000)
    sample = ridge_sample(problem, key, 20_000)

    def loss(m, t):
        return sample.loss(np.minimum(sample.estimate, t) * m)

    grid = [loss(m, t) for m in np.linspace(0.5, 2, 16) for t in np.geomspace(0.5, 50, 25)]
    assert loss(tuned.m, tuned.t) <= min(grid) + 1e-9
    assert tune_ridge(NoisyRegression(noise=Uniform(0)), key).m == 1


def test_too_short_a_context_is_refused_in_a_sentence(seed):
    X, y, queries = context(seed, n=4)
    for predictor in (
        predictors.AdaRidge(),
        predictors.TunedRidge(1.0, 1.0),
        predictors.IterativeAdaRidge(),
    ):
        with pytest.raises(
            UserError, match=r"^n must be at least d \+ 1 = 5 for the noise est.*got 4\.$"
        ):
            answers(predictor, X, y, queries)
    X, y, queries = context(seed, n=3)
    for predictor in (predictors.OLS(), predictors.Ridge(0.0), predictors.ConstRidge(0.0)):
        with pytest.raises(UserError, match=r"^n must be at least d = 4 for OLS, got 3\.$"):
            answers(predictor, X, y, queries)
    assert np.isfinite(answers(predictors.Ridge(1.0), X, y, queries)).all()


def test_broken_data_is_refused_in_a_sentence(seed, unchecked):
    X, y, queries = context(seed)
    for value in (np.nan, np.inf):
        broken = y.copy()
        broken[2] = value
        with pytest.raises(
            UserError, match=r"^y must hold finite numbers only, got NaN or infinity"
        ):
            answers(predictors.OLS(), X, broken, queries)
    with pytest.raises(UserError, match=r"^X, y and queries must have shapes \(n, d\), \(n,\) and"):
        answers(predictors.OLS(), X, y[:-1], queries)
    with pytest.raises(UserError, match=r"got \(9, 4\), \(9,\) and \(5, 3\)\.$"):
        answers(predictors.OLS(), X, y, queries[:, :3])
    with pytest.raises(UserError, match=r"^steps must be an integer of at least 0, got -1\.$"):
        answers(predictors.GradientDescent(-1, 0.1), X, y, queries)
