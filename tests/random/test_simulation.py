import logging
import math
import re
import warnings
from collections import Counter

import jax
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
from attnlab.random.ridge.accelerator import Accelerator
from attnlab.random.ridge.arrays import Host
from attnlab.random.ridge.fit_plan import SCALE, memory_needed
from attnlab.random.ridge.normal_equations import IllConditioned
from attnlab.random.simulation import seed_of_run, simulate
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
    together = simulate(SMALL, MODELS, n=sizes, ridge=ridges, runs=2, seed=seed, test=100)
    separate = [
        point
        for model in MODELS
        for n in sizes
        for ridge in ridges
        for point in simulate(SMALL, model, n=n, ridge=ridge, runs=2, seed=seed, test=100)
    ]
    assert [(p.model, p.n, p.ridge) for p in together] == [
        (p.model, p.n, p.ridge) for p in separate
    ]
    np.testing.assert_allclose(values(together), values(separate), rtol=1e-4)


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


def test_the_accelerator_simulates_the_same_linear_attention(seed):
    # With the host's prompts linear attention is the same fit; all else agrees in law only.
    options = {"n": 60, "ridge": 0.1, "seed": seed, "test": 200}
    linear = [
        simulate(SMALL, LinearAttention(True), runs=2, arrays=arrays, **options)[0]
        for arrays in (Host(), Accelerator(host_prompts=True))
    ]
    np.testing.assert_allclose(values(linear[1:]), values(linear[:1]), rtol=1e-4)
    wide = EquivalentModel(40, "relu", 2)
    a, b = (
        simulate(SMALL, wide, runs=16, arrays=arrays, **options)[0]
        for arrays in (Host(), Accelerator())
    )
    error = math.hypot(a.icl.standard_error, b.icl.standard_error)
    assert abs(a.icl.value - b.icl.value) < 6 * error


def test_an_accelerator_has_one_program_a_step_and_compiles_nothing_for_further_runs(caplog, seed):
    problem = SingleIndexRegression(7, 7, 3, "relu", 0.1)
    models = [LinearAttention(True), RandomTransformer(44), EquivalentModel(44, "relu", 1)]
    options = {"n": (20, 62), "ridge": (0.1, 1.0), "seed": seed, "test": 40}

    def compiled(runs, flights):
        caplog.clear()
        done = []
        arrays = Accelerator(flights=flights)
        jax.config.update("jax_log_compiles", True)  # in every thread
        try:
            with caplog.at_level(logging.WARNING):
                points = simulate(
                    problem, models, runs=runs, arrays=arrays, finished=done.append, **options
                )
        finally:
            jax.config.update("jax_log_compiles", False)
        assert done == list(range(1, runs + 1))
        said = [re.match(r"Finished XLA compilation of jit\((\w+)\)", m) for m in caplog.messages]
        return points, Counter(match[1] for match in said if match)

    _, first = compiled(1, 1)
    # Two widths, one of them with an intercept; models of one width share their programs.
    once = ("_draws", "_scaled", "_weights", "_noise", "_train_block", "_test_block")
    twice = ("no_rows", "add_rows", "primal_fits", "dual_fits", "widened")
    assert first == {**dict.fromkeys(once, 1), **dict.fromkeys(twice, 2)}
    one, further = compiled(3, 1)
    two, more = compiled(3, 2)
    assert (len(further), len(more)) == (0, 0)
    assert one == two


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


def test_memory_grows_with_the_square_of_the_width_and_not_with_the_prompts():
    problem = SingleIndexRegression(80, 80, 40)
    model = RandomTransformer(6400)
    few, many = (memory_needed(problem, [model], [n]) for n in (9600, 96_000))
    assert few == many
    assert few == pytest.approx(28 * 6400**2, rel=0.5)
    with pytest.raises(UserError, match=r"^the fits must fit into 1\.00 GiB of memory, got a need"):
        simulate(problem, model, n=9600, ridge=0.1, memory=2**30)


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
