"""The regressor: scikit-learn's contract, the symmetries of its answer, and what it is worth."""

import subprocess
import sys
import warnings
from pathlib import Path

import jax
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import attnlab.linear.weights
from attnlab.errors import UserError
from attnlab.linear.models import transformer
from attnlab.linear.models.bayes import ScaleFreeBayes
from attnlab.linear.models.files import load_linear
from attnlab.linear.models.weights import Omegas
from attnlab.linear.regressor import ImplausibleAnswer, InContextRegressor, fit_many, predict_many
from attnlab.linear.regressor.implied_ridge import implied_ridge
from attnlab.linear.regressor.many import last_plausible
from attnlab.linear.regressor.recursion import answers
from attnlab.linear.regressor.scaling import centred, scaled
from attnlab.linear.regressor.shipped import Share, networks_for, shipped
from attnlab.stats import Estimate, agree
from tests.linear.regressor.problems import (
    excess_share,
    extreme_contexts,
    orthogonal,
    study_problems,
)

FILES = sorted(Path(attnlab.linear.weights.__file__).parent.glob("regressor_*.safetensors"))
SHAPES = [(20, 10), (9, 3), (6, 14), (300, 4)]  # n and d


@parametrize_with_checks([InContextRegressor(), InContextRegressor(fit_intercept=False)])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_only_checks_that_need_other_packages_are_skipped():
    """Two skip by themselves: pandas and SciPy's array API are no dependencies of ours."""
    needs = {"check_regressor_data_not_an_array", "check_array_api_input"}
    results = check_estimator(InContextRegressor(), on_skip=None, on_fail=None)
    assert len(results) > 40
    assert {r["check_name"] for r in results if r["status"] != "passed"} <= needs


def problem(seed: int, n: int, d: int, queries: int = 5):
    rng = np.random.default_rng((seed, n, d))
    X, w, at = (rng.standard_normal(shape) for shape in ((n, d), d, (queries, d)))
    return X, X @ w + rng.standard_normal(n) + 3, at, rng


def answer(X, y, at, **options):
    return InContextRegressor(**options).fit(X, y).predict(at)


@pytest.mark.parametrize(("n", "d"), SHAPES)
class TestSymmetries:
    def test_units_of_inputs_do_not_matter(self, seed, n, d):
        X, y, at, _ = problem(seed, n, d)
        plain = answer(X, y, at)
        for factor in (1e-5, -3.0, 7e8):
            np.testing.assert_allclose(answer(factor * X, y, factor * at), plain, rtol=1e-9)
        np.testing.assert_array_equal(answer(2.0**40 * X, y, 2.0**40 * at), plain)

    def test_units_of_labels_carry_over_to_predictions(self, seed, n, d):
        X, y, at, _ = problem(seed, n, d)
        plain = answer(X, y, at)
        for factor in (1e-5, -3.0, 7e8):
            np.testing.assert_allclose(answer(X, factor * y, at), factor * plain, rtol=1e-9)
        np.testing.assert_array_equal(answer(X, 2.0**-40 * y, at), 2.0**-40 * plain)
        model, larger = (InContextRegressor().fit(X, k * y) for k in (1, 8))
        assert larger.noise_ == 8 * model.noise_
        assert larger.penalty_ == model.penalty_

    def test_translations_of_both_carry_over(self, seed, n, d):
        X, y, at, rng = problem(seed, n, d)
        shift = 10 * rng.standard_normal(d)
        moved = answer(X + shift, y + 50, at + shift)
        np.testing.assert_allclose(moved, answer(X, y, at) + 50, rtol=1e-9)

    def test_rotations_of_the_inputs_do_not_matter(self, seed, n, d):
        X, y, at, rng = problem(seed, n, d)
        Q = orthogonal(rng, d)
        np.testing.assert_allclose(answer(X @ Q, y, at @ Q), answer(X, y, at), rtol=1e-8)

    def test_the_order_of_samples_and_features_does_not_matter(self, seed, n, d):
        X, y, at, rng = problem(seed, n, d)
        rows, columns = rng.permutation(n), rng.permutation(d)
        model, other = (
            InContextRegressor().fit(*data) for data in ((X, y), (X[rows][:, columns], y[rows]))
        )
        np.testing.assert_allclose(other.coef_, model.coef_[columns], rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(other.predict(at[:, columns]), model.predict(at), rtol=1e-8)

    def test_many_at_once_are_one_by_one(self, seed, n, d):
        problems = study_problems(seed, 7, d, n, 2.0)
        queries = np.random.default_rng(seed).standard_normal((7, 3, d))
        together = predict_many(problems.X, problems.y, queries)
        for X, y, at, found in zip(problems.X, problems.y, queries, together, strict=True):
            np.testing.assert_allclose(found, answer(X, y, at), rtol=1e-9, atol=1e-10)


def test_the_recursion_is_the_linear_transformer(seed):
    n, d = 20, 10
    problems, ((weight, network),) = study_problems(seed, 1, d, n), networks_for(n, d)
    assert (weight, network.d, network.n) == (1, d, n)
    context = scaled(problems.X, problems.y)
    assert np.linalg.eigvalsh(context.G[0, :d, :d])[-1] == pytest.approx(1)
    assert context.G[0, d, d] == pytest.approx(1)
    with jax.enable_x64(True):
        weights = Omegas(*map(jax.numpy.asarray, network.omegas.T))
        G = jax.numpy.asarray(context.G[0])
        stages = np.asarray(transformer.implicit_weights(weights, G))
    found = answers(network.omegas, context.G)[:, 0]
    size = np.abs(stages).max()
    np.testing.assert_allclose(found, stages, rtol=1e-8, atol=1e-10 * size)


def test_more_features_than_samples_are_the_same_network_in_their_span(seed):
    """The reduction to n coordinates against the plain d x d Gram matrix."""
    n, d = 7, 14
    problems, ((_, network),) = study_problems(seed, 3, d, n, 2.0), networks_for(n, d)
    E = np.concatenate([problems.X, problems.y[..., None]], axis=2)
    G = E.swapaxes(1, 2) @ E
    x_scale = np.linalg.eigvalsh(G[:, :d, :d])[:, -1] ** -0.5
    y_scale = G[:, d, d] ** -0.5
    scale = np.concatenate([np.repeat(x_scale[:, None], d, 1), y_scale[:, None]], axis=1)
    w = answers(network.omegas, G * scale[:, :, None] * scale[:, None])[-1]
    found = fit_many(problems.X, problems.y, fit_intercept=False).coef
    np.testing.assert_allclose(found, w * (x_scale / y_scale)[:, None], rtol=1e-8, atol=1e-10)


COUNT = 2000


@pytest.fixture(scope="module")
def study(seed):
    """d = 10, n = 20, sigma ~ U(0, 5), and the regressor knows no scale."""
    return study_problems(seed, COUNT)


def ridge(problems, penalties):
    Xt = problems.X.swapaxes(1, 2)
    system = Xt @ problems.X + penalties[:, None, None] * np.eye(10)
    return np.linalg.solve(system, Xt @ problems.y[..., None])[..., 0]


class TestWorth:
    def test_it_beats_least_squares_and_the_best_single_penalty(self, study):
        """The mean difference is significant at the level of every claim, in both comparisons."""
        ours = np.square(fit_many(study.X, study.y, fit_intercept=False).coef - study.w).sum(1)
        for penalty in (0.0, 25 / 3):  # E sigma^2 is the best constant
            theirs = np.square(ridge(study, np.full(COUNT, penalty)) - study.w).sum(1)
            gain = agree(Estimate.of(theirs - ours), 0.0)
            assert gain.difference > gain.allowed

    def test_it_is_as_good_as_bayes_without_the_scale_of_w(self, study):
        """Within 5% of the posterior mean under its own law of sigma, up to sampling noise.

        Both are worse than predictors that know w ~ N(0, I): the study's ADARR, and Bayes.
        """
        fits = fit_many(study.X, study.y, fit_intercept=False)
        assert (fits.layers == 7).all()
        E = np.concatenate([study.X, study.y[..., None]], axis=2)
        with jax.enable_x64(True):
            each = jax.jit(jax.vmap(lambda G: ScaleFreeBayes().weights(G, 20)))
            floor = np.asarray(each(E.swapaxes(1, 2) @ E))
        oracle = ridge(study, study.sigma**2)
        ours, bayes = (np.square(w - oracle).sum(1) / 2 for w in (fits.coef, floor))
        excess = agree(Estimate.of(ours - 1.05 * bayes), 0.0)
        assert excess.difference < excess.allowed

    def test_the_noise_it_implies_follows_the_noise(self, study):
        noise = fit_many(study.X, study.y, fit_intercept=False).noise
        assert np.corrcoef(noise, study.sigma)[0, 1] > 0.8
        squares = noise**2 - study.sigma**2
        assert abs(squares.mean()) < 0.25 * np.square(study.sigma).mean()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_shipped_file_can_be_read_and_says_where_it_comes_from(file):
    with jax.enable_x64(True):
        weights, about = load_linear(file)
    (network,) = (network for network in shipped() if network.name == file.name)
    in_study_units = network.omegas / (network.units * 2)
    np.testing.assert_allclose(weights.matrix().reshape(-1, 4), in_study_units, rtol=1e-14)
    assert (network.d, network.n) == (about["d"], about["n"])
    assert networks_for(about["n"], about["d"]) == ((1, network),)
    assert about["command"].startswith("python benchmarks/regressor_weights.py")


@pytest.mark.parametrize(("d", "n"), [(4, 8), (10, 10), (10, 20), (10, 40)])
def test_a_shipped_network_has_the_loss_that_its_file_records(seed, d, n):
    """On fresh tokens; the level is small, because the losses have heavy tails."""
    ((_, network),) = networks_for(n, d)
    with jax.enable_x64(True):
        _, about = load_linear(FILES[0].with_name(network.name))
    found = Estimate.of(excess_share(seed, network, about, 2000))
    recorded = Estimate(about["loss"], about["loss_standard_error"], 16_384)
    assert agree(found, recorded, level=1e-9).agrees


def test_neighbours_in_d_and_in_ratio_share_the_answer():
    assert {network.name for network in shipped()} == {file.name for file in FILES}
    assert len(FILES) > 10

    def shares(n, d):
        return {(net.d, net.n): pytest.approx(weight) for weight, net in networks_for(n, d)}

    middle, root = np.log(6 / 4) / np.log(10 / 4), 0.5
    assert shares(20, 10) == {(10, 20): 1}
    assert shares(10**6, 10) == {(10, 2560): 1}
    assert shares(1, 1000) == {(10, round(10 * 0.25)): 1}
    assert shares(20 * 2**0.5, 10) == {(10, 20): root, (10, 40): root}
    assert shares(12, 6) == {(4, 8): 1 - middle, (10, 20): middle}
    assert len(networks_for(17, 6)) == 4
    assert sum(weight for weight, _ in networks_for(17, 6)) == pytest.approx(1)


class TestNoise:
    def test_a_ridge_answer_implies_its_own_penalty(self, seed):
        """A known answer: w = w(p) is on the path."""
        X, y, _, rng = problem(seed, 20, 10)
        G = np.block([[X.T @ X, (X.T @ y)[:, None]], [X.T @ y, y @ y]])
        for penalty in 10 ** rng.uniform(-2, 3, 5):
            w = Ridge(penalty, fit_intercept=False).fit(X, y).coef_
            found = implied_ridge(G[None], w[None])
            assert found.penalty[0] == pytest.approx(penalty, rel=1e-3)
            left = y @ np.linalg.solve(np.eye(20) + X @ X.T / penalty, y)
            assert found.noise_square_sum[0] == pytest.approx(left, rel=1e-3)

    def test_an_answer_of_zero_calls_everything_noise(self):
        G = np.diag([1.0, 2.0, 5.0])[None]
        found = implied_ridge(G, np.zeros((1, 2)))
        assert np.isinf(found.penalty[0])
        assert found.noise_square_sum[0] == 5.0

    def test_without_noise_it_is_near_zero_and_the_fit_exact(self, seed):
        rng = np.random.default_rng(seed)
        X, w = rng.standard_normal((80, 10)), rng.standard_normal(10)
        model = InContextRegressor().fit(X, X @ w + 2)
        assert model.noise_ < 0.2 * np.linalg.norm(w)
        assert model.score(X, X @ w + 2) > 0.99


class TestExtremes:
    @pytest.mark.parametrize(("n", "d"), SHAPES)
    def test_predictions_are_finite_whatever_the_data(self, seed, n, d):
        X, y = extreme_contexts(seed, n, d)
        for fit_intercept in (True, False):
            for inputs, labels in zip(X, y, strict=True):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ImplausibleAnswer)
                    model = InContextRegressor(fit_intercept=fit_intercept).fit(inputs, labels)
                fitted = model.predict(inputs)
                assert np.isfinite(fitted).all()
                offset = labels.mean() if fit_intercept else 0.0
                size = np.abs(labels).max()
                left, whole = (np.linalg.norm(v / size) for v in (labels - fitted, labels - offset))
                # Offsets of 1e9 leave 1e-7 of the inputs' digits.
                assert left <= whole * (1 + 1e-5) + 1e-6

    def test_the_last_answer_that_fits_better_than_the_mean_is_read(self):
        G = np.array([[[4.0, 2.0], [2.0, 3.0]]])  # least squares is w = 1/2
        stages = np.array([0.0, 0.4, 0.7, 1.1])[:, None, None]
        w, layers = last_plausible(stages, G)
        assert (w[0, 0], layers[0]) == (0.7, 2)
        w, layers = last_plausible(np.array([0.0, -1.0, np.nan, np.inf])[:, None, None], G)
        assert (w[0, 0], layers[0]) == (0.0, 0)

    def test_an_early_layer_comes_with_a_warning(self, monkeypatch):
        """A network that diverges: ten times the weights of a shipped one."""
        (_, chosen), *_ = networks_for(19, 10)
        broken = Share(1.0, chosen._replace(omegas=10 * chosen.omegas))
        monkeypatch.setattr("attnlab.linear.regressor.many.networks_for", lambda n, d: (broken,))
        problems = study_problems(0, 1)
        with pytest.warns(ImplausibleAnswer, match="fits the data worse than their mean"):
            model = InContextRegressor().fit(problems.X[0], problems.y[0])
        assert model.layers_ < 7
        assert np.isfinite(model.coef_).all()

    def test_constant_labels_are_predicted(self):
        X = np.random.default_rng(0).standard_normal((8, 3))
        model = InContextRegressor().fit(X, np.full(8, 0.1))
        np.testing.assert_allclose(model.predict(X), 0.1)
        assert model.noise_ == 0
        assert np.isinf(model.penalty_)

    def test_constant_inputs_leave_the_mean(self):
        y = np.arange(6.0)
        model = InContextRegressor().fit(np.full((6, 2), 0.1), y)
        assert not model.coef_.any()
        np.testing.assert_allclose(model.predict([[5.0, 5.0]]), 2.5)
        assert model.noise_ == pytest.approx(y.std(ddof=1))

    def test_a_constant_column_changes_nothing_but_d(self, seed):
        """The network is chosen by d, so the column is compared with one of zeros."""
        X, y, at, _ = problem(seed, 20, 9)
        padded = [
            np.column_stack([part, np.full(len(part), c)]) for c in (0, 0.1) for part in (X, at)
        ]
        zeros, tenths = (answer(padded[i], y, padded[i + 1]) for i in (0, 2))
        np.testing.assert_allclose(tenths, zeros, rtol=1e-12)


class TestMistakes:
    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_numbers_must_be_finite(self, bad):
        X, y = np.ones((4, 2)), np.arange(4.0)
        X[1, 1] = bad
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            InContextRegressor().fit(X, y)
        with pytest.raises(UserError, match="X must hold finite numbers only"):
            fit_many(X[None], y[None])

    def test_one_sample_has_nothing_left_after_centring(self):
        with pytest.raises(ValueError, match="minimum of 2 is required"):
            InContextRegressor().fit([[1.0, 2.0]], [3.0])
        with pytest.raises(UserError, match="at least 2 samples"):
            fit_many(np.ones((3, 1, 2)), np.ones((3, 1)))
        alone = InContextRegressor(fit_intercept=False).fit([[1.0, 2.0]], [3.0])
        assert np.isfinite(alone.coef_).all()

    def test_fit_intercept_is_true_or_false(self):
        with pytest.raises(UserError, match="fit_intercept must be True or False, got 'no'"):
            InContextRegressor(fit_intercept="no").fit(np.eye(3), np.arange(3.0))

    def test_shapes_must_fit(self):
        X, y = np.ones((2, 4, 3)), np.ones((2, 4))
        for inputs, labels in ((X, y[:, :3]), (X[:0], y[:0]), (X, y[0]), (X[0], y)):
            with pytest.raises(UserError, match=r"X|y"):
                fit_many(inputs, labels)
        with pytest.raises(UserError, match=r"queries must have shape .* \(2, q, 3\)"):
            predict_many(X, y, np.ones((2, 1, 4)))
        with pytest.raises(UserError, match="X must be an array of real numbers"):
            fit_many("words", y)


def test_it_imports_without_jax():
    code = "import sys, attnlab.linear.regressor; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_centring_takes_a_constant_up_to_rounding_for_constant():
    values = np.full((1, 7, 1), 0.1)
    assert not centred(values, True).values.any()
    assert centred(values, False).values.any()


def test_least_squares_is_what_remains_with_many_samples(seed):
    """n / d = 300: penalties are small beside Sigma, so both are within 1% of the labels' size."""
    X, y, at, _ = problem(seed, 900, 3)
    np.testing.assert_allclose(
        answer(X, y, at), LinearRegression().fit(X, y).predict(at), atol=0.02 * np.abs(y).max()
    )
