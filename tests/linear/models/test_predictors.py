import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sklearn.linear_model
from scipy import integrate

from attnlab.errors import UserError
from attnlab.linear.models import predictors as predictors
from attnlab.linear.models.bayes import Bayes, DiscreteBayes, ScaleFreeBayes, log_evidence
from attnlab.linear.models.transformer import token_form
from attnlab.linear.models.tuned_ridge import ridge_sample, tune_const_ridge, tune_ridge
from attnlab.linear.noise import Categorical, Fixed, Uniform
from attnlab.linear.problem import NoisyRegression
from attnlab.stats import Estimate, agree
from tests.conftest import in_double_precision
from tests.linear.prompts import full_weights

pytestmark = pytest.mark.usefixtures("double_precision")


def context(seed, d=4, n=9, noise=1.5):
    rng = np.random.default_rng(seed)
    X, w = rng.standard_normal((n, d)), rng.standard_normal(d)
    y = X @ w + noise * rng.standard_normal(n)
    return X, y, rng.standard_normal((5, d))


def answers(predictor, X, y, queries):
    return np.asarray(predictor.predict(*map(jnp.asarray, (X, y, queries))))


def gram_of(X, y, dtype=float):
    E = np.column_stack([X, y])
    return jnp.asarray(E.T @ E, dtype)


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
    G = gram_of(X, y)
    descent = predictors.GradientDescent(5000, 0.01).weights(G, 30)
    np.testing.assert_allclose(descent, predictors.OLS().weights(G, 30), rtol=1e-8)
    iterative = predictors.IterativeAdaRidge(5000).weights(G, 30)
    np.testing.assert_allclose(iterative, predictors.AdaRidge().weights(G, 30), rtol=1e-8)
    one = predictors.GradientDescent(1, 0.01).weights(G, 30)
    np.testing.assert_allclose(one, 0.01 * X.T @ y, rtol=1e-12)


@pytest.mark.parametrize("n", [9, 2])
def test_bayes_is_the_integral_over_the_noise(seed, n):
    # By brute force: the Gaussian density of y under X X^T + sigma^2 I, and adaptive quadrature.
    X, y, _ = context(seed, n=n)

    def parts(sigma):
        C = X @ X.T + sigma**2 * np.eye(n)
        solved = np.linalg.solve(C, y)
        log = -0.5 * (np.linalg.slogdet(C)[1] + y @ solved)
        return np.append(X.T @ solved, 1) * np.exp(log + 10)

    G = gram_of(X, y)
    *numerator, mass = integrate.quad_vec(parts, 1e-6, 3, epsabs=1e-14, epsrel=1e-10)[0]
    w = Bayes(Uniform(3), 200).weights(G, n)
    np.testing.assert_allclose(w, np.array(numerator) / mass, rtol=1e-5, atol=1e-7)
    total = 0.25 * parts(1.0) + 0.75 * parts(3.0)
    w = Bayes(Categorical((1, 3), (0.25, 0.75))).weights(G, n)
    np.testing.assert_allclose(w, total[:-1] / total[-1], rtol=1e-9)
    same = DiscreteBayes(jnp.array([1.0, 3.0]), jnp.array([0.25, 0.75])).weights(G, n)
    np.testing.assert_allclose(same, w, rtol=1e-12)
    sigmas = np.array([0.5, 1.0, 2.0])
    expected = np.log([parts(sigma)[-1] for sigma in sigmas])
    found = np.asarray(log_evidence(G, n, jnp.asarray(sigmas)))
    np.testing.assert_allclose(np.diff(found), np.diff(expected), rtol=1e-9)


def test_bayes_with_one_level_is_ridge_and_without_noise_ols(seed):
    X, y, _ = context(seed)
    G = gram_of(X, y)
    ridge = predictors.Ridge(1.5).weights(G, 9)
    np.testing.assert_allclose(Bayes(Fixed(1.5)).weights(G, 9), ridge, rtol=1e-10)
    ols = predictors.OLS().weights(G, 9)
    np.testing.assert_allclose(Bayes(Uniform(0)).weights(G, 9), ols, rtol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bayes_sees_whether_a_context_has_no_noise(seed, dtype):
    bayes = jax.jit(lambda G: Bayes(Categorical((0, 1))).weights(G, 9))
    for noise in (0, 1):
        X, y, _ = context(seed, noise=noise)
        G = gram_of(X, y, dtype)
        w = bayes(G)
        assert w.dtype == dtype
        expected = predictors.ridge_weights(G, float(noise))
        np.testing.assert_allclose(w, expected, rtol=1e-3 if dtype == "float32" else 1e-8)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bayes_is_finite_at_every_noise_and_both_precisions(seed, dtype):
    bayes = jax.jit(lambda G: Bayes(Uniform(5)).weights(G, 9))
    for noise in (0, 1e-6, 1e-2, 100):
        X, y, _ = context(seed, noise=noise)
        assert np.isfinite(bayes(gram_of(X, y, dtype))).all()


def test_scale_free_bayes_is_exact_for_one_point_and_follows_the_units_of_the_labels(seed):
    """n = d = 1 by hand: w(p) = y / x times 1 / (1 + p / x^2), with an evidence that is constant.

    |1 + x^2 / p|^-1/2 (p / (p + x^2))^-1/2 = 1, so r is uniform and E 1 / (1 + r^2) = pi / 4.
    """
    G = jnp.array([[4.0, 6.0], [6.0, 9.0]])
    found = ScaleFreeBayes(1.0).weights(G, 1)
    assert float(found[0]) == pytest.approx(1.5 * np.pi / 4, rel=1e-12)
    X, y, _ = context(seed)
    answer = jax.jit(lambda G: ScaleFreeBayes().weights(G, 9))
    plain = answer(gram_of(X, y))
    np.testing.assert_allclose(answer(gram_of(X, 1e5 * y)), 1e5 * plain, rtol=1e-9)
    np.testing.assert_allclose(answer(gram_of(1e-3 * X, y)), 1e3 * plain, rtol=1e-9)


def test_a_linear_transformer_is_a_predictor(seed):
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
        single = predictor.predict(*(jnp.asarray(part, "float32") for part in (X, y, queries)))
        assert single.dtype == "float32"
        np.testing.assert_allclose(single, answers(predictor, X, y, queries), rtol=5e-3, atol=5e-3)


TUNED = NoisyRegression(4, 12, Uniform(3))
SAMPLES = 5000


@pytest.fixture(scope="module")
def ridge_draws(seed):
    with in_double_precision():
        return ridge_sample(TUNED, jax.random.key(seed), SAMPLES)


def ridge_losses(sample, penalty):
    return np.square(sample.b / (sample.s + penalty) - sample.oracle).sum(1) / 2


def test_the_tuned_constant_is_the_mean_square_noise(seed, ridge_draws):
    tuned = tune_const_ridge(TUNED, SAMPLES, seed=seed)
    best = ridge_losses(ridge_draws, tuned.penalty)

    def excess(penalty):
        return Estimate.of(ridge_losses(ridge_draws, penalty) - best)

    # E sigma^2 = 3 minimises the mean over the problem, the tuned constant that over the sample.
    assert excess(3.0).value > -1e-12
    assert agree(excess(3.0), 0.0).agrees
    assert not any(agree(excess(penalty), 0.0).agrees for penalty in (1.5, 6.0))
    assert tune_const_ridge(NoisyRegression(noise=Uniform(0))).penalty == 0


def test_tuning_beats_every_constant_of_a_grid(seed, ridge_draws):
    tuned = tune_ridge(TUNED, SAMPLES, seed=seed)

    def loss(m, t):
        return ridge_draws.loss(np.minimum(ridge_draws.estimate, t) * m)

    grid = [loss(m, t) for m in np.linspace(0.5, 2, 16) for t in np.geomspace(0.5, 50, 25)]
    assert loss(tuned.m, tuned.t) <= min(grid) + 1e-9
    assert tune_ridge(NoisyRegression(noise=Uniform(0))).m == 1


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
