import math
import warnings

import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.random.models.linear_attention import LinearAttention
from attnlab.random.models.transformer import (
    EquivalentModel,
    RandomTransformer,
    feature_noise,
    random_weights,
)
from attnlab.random.problem import SingleIndexRegression
from attnlab.random.ridge.arrays import Host
from attnlab.random.ridge.fit_plan import SCALE, memory_needed, plan_fits
from attnlab.random.ridge.fits import IllConditioned
from attnlab.random.simulation import fit, seed_of_run, simulate
from attnlab.random.theory.error_point import ErrorPoint
from attnlab.stats.estimate import Estimate

SMALL = SingleIndexRegression(6, 6, 3, "relu", 0.1)
MODELS = (
    LinearAttention(),
    LinearAttention(intercept=True),
    RandomTransformer(30),
    RandomTransformer(70),
    EquivalentModel(50, "tanh", 2),
)


def values(points):
    return np.array([[p.icl.value, p.idg.value, p.train.value] for p in points])


def brute_force(model, n, ridge, seed):
    """One run with everything written out: float64, all rows at once, fresh z at test."""
    train, icl, idg = (
        SMALL.all_prompts(count, seed=seed, tasks=tasks, split=split)
        for count, tasks, split in (
            (n, "pool", "train"),
            (200, "fresh", "test"),
            (200, "pool", "test"),
        )
    )
    first = SMALL.all_prompts(SCALE, seed=seed, tasks="pool", split="train")
    t = first.square_norms().mean()

    def rows(prompts, z):
        if isinstance(model, LinearAttention):
            return prompts.features()
        u = prompts.features() @ random_weights(seed, SMALL.directions, model.width, np.float64)
        return model.activate(u / math.sqrt(t), z)

    noisy = isinstance(model, EquivalentModel)
    phi = rows(train, feature_noise(seed, 0, n, model.width) if noisy else None)
    m = phi.shape[1]
    free = isinstance(model, LinearAttention) and model.intercept
    phi = np.concatenate([phi, np.ones((n, 1))], axis=1) if free else phi
    penalty = ridge * n / SMALL.d * np.diag([1.0] * m + [0.0] * free)
    w = np.linalg.solve(phi.T @ phi + penalty, phi.T @ train.label)
    rng = np.random.Generator(np.random.Philox(seed))
    found = []
    for prompts in (icl, idg):
        errors = []
        for _ in range(100 if noisy else 1):
            z = rng.standard_normal((200, m)) if noisy else None
            errors.append(((prompts.label - rows(prompts, z) @ w[:m] - w[m:].sum()) ** 2).mean())
        spread = np.std(errors) / math.sqrt(len(errors))
        found.append((np.mean(errors), spread))
    return (*found, (((train.label - phi @ w) ** 2).mean(), 0.0))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("n", [25, 60])
def test_a_run_is_what_the_definitions_say(model, n, seed):
    # The noise of an equivalent model is averaged by hand there: 6 standard errors of that.
    (point,) = simulate(SMALL, model, n=n, ridge=0.3, runs=1, seed=seed, test=200)
    expected = brute_force(model, n, 0.3, seed_of_run(seed, 0))
    for found, (value, spread) in zip(point.runs[0], expected, strict=True):
        assert abs(found - value) < 6 * spread + 2e-5 * value


def test_nested_sizes_widths_and_ridges_equal_separate_runs(seed):
    sizes, ridges = (20, 45, 90), (0.05, 1.0)
    together = simulate(SMALL, MODELS, n=sizes, ridge=ridges, runs=1, seed=seed, test=100)
    separate = [
        point
        for model in MODELS
        for n in sizes
        for ridge in ridges
        for point in simulate(SMALL, model, n=n, ridge=ridge, runs=1, seed=seed, test=100)
    ]
    assert [(p.model, p.n, p.ridge) for p in together] == [
        (p.model, p.n, p.ridge) for p in separate
    ]
    np.testing.assert_allclose(values(together), values(separate), rtol=1e-4)


def test_equivalent_models_that_differ_in_terms_that_are_0_are_fitted_once(seed):
    """tanh is odd: the degrees 1 and 2 are one model, and the kernel of one family serves both."""
    first, second = (EquivalentModel(80, "tanh", degree) for degree in (1, 2))
    counts = []

    def part(total):
        counts.append(total)
        return lambda: None

    options = {"n": 50, "ridge": 0.3, "runs": 2, "seed": seed, "test": 50, "part": part}
    alone = simulate(SMALL, first, **options)
    both = simulate(SMALL, [first, second], **options)
    assert len(set(counts)) == 1
    assert [point.model for point in both] == [first, second]
    assert both[0].runs == both[1].runs == alone[0].runs


@pytest.mark.parametrize("block", [7, 64, 128])
def test_the_block_size_changes_no_error(block, seed):
    options = {"n": (40, 90), "ridge": 0.2, "runs": 1, "seed": seed, "test": 150}
    np.testing.assert_allclose(
        values(simulate(SMALL, MODELS, block=block, **options)),
        values(simulate(SMALL, MODELS, **options)),
        rtol=1e-4,
    )


def test_float32_features_give_the_errors_of_float64(seed):
    problem = SingleIndexRegression(12, 12, 6, "relu", 0.01)
    options = {"n": (120, 300), "ridge": (1e-8, 0.1), "runs": 2, "seed": seed, "test": 300}
    models = (RandomTransformer(200), EquivalentModel(200, "relu", 2), LinearAttention(True))
    single = simulate(problem, models, **options)
    double = simulate(problem, models, arrays=Host(np.float64), **options)
    np.testing.assert_allclose(values(single)[:, :2], values(double)[:, :2], rtol=2e-3)
    assert not any(point.diagnosis for point in single)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("n", [25, 60])
def test_a_fitted_model_answers_with_the_errors_of_the_simulation(model, n, seed):
    problem = SMALL
    (point,) = simulate(problem, model, n=n, ridge=0.3, runs=2, seed=seed, test=100)
    fitted = fit(problem, model, n=n, ridge=0.3, seed=seed, run=1)
    own = seed_of_run(seed, 1)
    found = []
    for tasks in ("fresh", "pool"):
        prompts = problem.all_prompts(100, seed=own, tasks=tasks, split="test")
        squares = (prompts.label - fitted(prompts)) ** 2
        found.append(squares.mean() + fitted.noise_error)
    # float32 features in the simulation, float64 here: some thousand roundings of 6e-8.
    np.testing.assert_allclose([*found, fitted.train_error], point.runs[1], rtol=2e-4)
    assert len(repr(fitted)) < 200


def test_as_many_features_as_prompts_without_ridge_warns_with_the_condition_number(seed):
    problem = SingleIndexRegression(12, 12, 6, "relu", 0.01)
    with pytest.warns(IllConditioned, match=r"200 features to 200 prompts .*condition number"):
        (point,) = simulate(problem, RandomTransformer(200), n=200, ridge=0.0, runs=6, seed=seed)
    assert "condition number" in point.diagnosis or "singular" in point.diagnosis
    assert point.condition > 1e7
    assert point.typical() == point.median()
    low, middle, high = point.quantiles()
    assert low <= middle == point.median().value <= high
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (ridged,) = simulate(problem, RandomTransformer(200), n=200, ridge=1.0, runs=2, seed=seed)
    assert ridged.typical() == ridged.icl


def test_the_standard_error_is_that_of_the_runs(seed):
    (point,) = simulate(SMALL, LinearAttention(), n=60, ridge=0.1, runs=5, seed=seed, test=50)
    runs = np.array(point.runs)[:, 0]
    assert point.icl.value == pytest.approx(runs.mean(), rel=1e-12)
    assert point.icl.standard_error == pytest.approx(runs.std(ddof=1) / math.sqrt(5), rel=1e-12)
    assert (point.icl.samples, len(set(point.runs))) == (5, 5)
    (again,) = simulate(SMALL, LinearAttention(), n=60, ridge=0.1, runs=5, seed=seed, test=50)
    assert again == point


def test_a_median_has_the_error_of_its_order_statistics():
    runs = tuple((float(i), 0.0, 0.0) for i in range(16))
    estimate = Estimate(7.5, 1.0, 16)
    point = ErrorPoint(LinearAttention(), 1, 0.0, estimate, estimate, estimate, runs)
    assert point.median() == Estimate(7.5, 1.875, 16)
    assert point.quantiles(at=(0.0, 0.5, 1.0)) == (0.0, 7.5, 15.0)


def test_memory_grows_with_the_square_of_the_width_and_with_the_prompts_themselves():
    problem = SingleIndexRegression(80, 80, 40)
    model = RandomTransformer(6400)
    few, many = (
        memory_needed(problem, plan_fits(problem, [model], [n], 2048), 1000) for n in (9600, 96_000)
    )
    assert many - few == 8 * (96_000 - 9600) * (2 * 80 + 3)
    assert few == pytest.approx(28 * 6400**2, rel=0.5)
    with pytest.raises(UserError) as refused:
        simulate(problem, model, n=9600, ridge=0.1, memory=1e9)
    assert str(refused.value) == (
        f"The fits need {few / 1e9 + 8 * 2000 * 163 / 1e9:.3g} GB of memory, and 1 GB are "
        "available: d, length, tasks, n, the width or test must be smaller."
    )


def test_what_no_machine_can_hold_is_refused_before_anything_is_drawn(monkeypatch):
    monkeypatch.setattr(SingleIndexRegression, "prompts", None)
    for problem, model, n in (
        (SingleIndexRegression(100_000, 24, 12), LinearAttention(), 10),
        (SingleIndexRegression(4, 4, 10**12), LinearAttention(), 10),
        (SingleIndexRegression(4, 10**11, 2), LinearAttention(), 10),
        (SingleIndexRegression(4, 4, 2), EquivalentModel(10**6, "relu", 4), 10**7),
    ):
        for call in (simulate, fit):
            with pytest.raises(
                UserError, match=r"^The fits need [\d,.]+ GB of memory, and .*small"
            ):
                call(problem, model, n=n, ridge=0.1)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"n": 0}, "n must be an integer of at least 1, got 0."),
        ({"n": [10, -1]}, "n must be an integer of at least 1, got -1."),
        ({"ridge": -1.0}, "ridge must be a finite number of at least 0, got -1.0."),
        ({"runs": 0}, "runs must be an integer of at least 1, got 0."),
        ({"test": 1}, "test must be an integer of at least 2, got 1."),
        ({"block": 0}, "block must be an integer of at least 1, got 0."),
        ({"seed": -1}, "seed must be an integer of at least 0, got -1."),
        ({"n": []}, "models, n and ridge must each have at least one entry, got an empty one."),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_a_bad_simulation_argument_is_named(change, sentence):
    with pytest.raises(UserError) as refused:
        simulate(SMALL, LinearAttention(), **{"n": 10, "ridge": 0.1, "runs": 1, **change})
    assert str(refused.value) == sentence


def test_a_degree_too_high_for_the_sample_is_refused(seed):
    with pytest.raises(UserError, match=r"^degree must be low enough for the sample: .* got 12\.$"):
        simulate(SMALL, EquivalentModel(20, "relu", 12), n=200, ridge=0.1, runs=1, seed=seed)
